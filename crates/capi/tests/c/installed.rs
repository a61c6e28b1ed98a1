//! The library as a user finds it: installed under a directory of the test's own, compiled against by pkg-config.

use std::path::{Path, PathBuf};
use std::process::Command;
use tidegate_testbed::ScratchDir;

/// The library that cargo built beside this test.
pub fn library() -> PathBuf {
    let test = std::env::current_exe().expect("this test's path");
    let library = test.with_file_name("libtidegate.so");
    assert!(library.exists(), "cargo builds {} before this test", library.display());
    library
}

/// The source.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// An installation, gone when this is dropped.
pub struct Installed {
    scratch: ScratchDir,
}

/// Runs a command, which must end well.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}{complaint}", output.status);
    said
}

impl Installed {
    pub fn new() -> Self {
        let scratch = ScratchDir::new().expect("a directory");
        let mut install = Command::new(root().join("scripts/install-library"));
        run(install.arg(library()).env("PREFIX", scratch.join("usr")).env_remove("DESTDIR"));
        Self { scratch }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    /// Where the library is, for the loader.
    pub fn lib(&self) -> PathBuf {
        self.path("usr/lib")
    }

    /// An example, built by its own Makefile as warnings allow no doubt.
    pub fn example(&self, name: &str) -> PathBuf {
        let source = root().join("examples/utcp");
        std::fs::create_dir_all(self.path("host")).expect("writable");
        for file in ["Makefile", "http.c", "frames.c", "host/tidegate.h"] {
            std::fs::copy(source.join(file), self.path(file)).expect("readable");
        }
        let mut make = Command::new("make");
        make.args(["--silent", name]).current_dir(self.scratch.path());
        run(make.env("CFLAGS", "-O1 -g -Werror").env("PKG_CONFIG_PATH", self.path("usr/lib/pkgconfig")));
        self.path(name)
    }

    /// A program of the test's own.
    pub fn compile(&self, source: &str, arguments: &[&str]) -> PathBuf {
        let (file, program) = (self.path("test.c"), self.path("test"));
        std::fs::write(&file, source).expect("writable");
        let mut gcc = Command::new("gcc");
        gcc.args(["-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(&file);
        run(gcc
            .arg("-I")
            .arg(self.path("usr/include"))
            .arg("-L")
            .arg(self.lib())
            .arg("-ltidegate")
            .args(arguments));
        program
    }
}
