//! `make install` as a packager has it: below DESTDIR, found there by pkg-config, linked by its soname, read by its pages.

use crate::installed::{library, root, run};
use std::path::PathBuf;
use std::process::Command;
use tidegate_testbed::ScratchDir;

const PREFIX: &str = "/opt/tidegate";

/// An installation below a DESTDIR of the test's own.
struct Image(ScratchDir);

impl Image {
    fn new() -> Self {
        let scratch = ScratchDir::new().expect("a directory");
        let mut install = Command::new(root().join("scripts/install-library"));
        run(install.arg(library()).env("PREFIX", PREFIX).env("DESTDIR", scratch.path()));
        Self(scratch)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(format!("{}/{name}", &PREFIX[1..]))
    }

    /// What pkg-config says to somebody who builds for the image.
    fn pkg_config(&self, flag: &str) -> Vec<String> {
        let mut command = Command::new("pkg-config");
        command.args([flag, "tidegate"]).env("PKG_CONFIG_PATH", self.path("lib/pkgconfig"));
        let said = run(command.env("PKG_CONFIG_SYSROOT_DIR", self.0.path()));
        said.split_whitespace().map(str::to_owned).collect()
    }
}

#[test]
fn make_hands_prefix_and_destdir_to_what_installs() {
    let mut make = Command::new("make");
    make.args(["--dry-run", "install", "PREFIX=/opt/tidegate", "DESTDIR=/image"]).current_dir(root());
    let said = run(make.env_remove("MAKEFLAGS"));
    let wanted =
        r#"PREFIX="/opt/tidegate" DESTDIR="/image" scripts/install-library target/release/libtidegate.so"#;
    assert!(said.contains(wanted), "{said}");
}

#[test]
fn a_program_is_built_against_the_image_and_finds_the_library_by_its_soname() {
    let image = Image::new();
    assert_eq!(image.pkg_config("--modversion"), [env!("CARGO_PKG_VERSION")]);
    let program = image.0.join("http");
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program);
    gcc.args(image.pkg_config("--cflags")).arg(root().join("examples/utcp/http.c"));
    run(gcc.args(image.pkg_config("--libs")));
    let needed = run(Command::new("readelf").arg("-d").arg(&program));
    assert!(needed.contains("Shared library: [libtidegate.so.0]"), "{needed}");
    let linked = std::fs::canonicalize(image.path("lib/libtidegate.so.0")).expect("it leads somewhere");
    let name = format!("libtidegate.so.{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(linked.file_name().and_then(|it| it.to_str()), Some(name.as_str()));
    let output = Command::new(&program).env("LD_LIBRARY_PATH", image.path("lib")).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "it says how it is used");
}

#[test]
fn every_call_is_found_in_the_manual_of_the_image() {
    let image = Image::new();
    let pages = image.path("share/man");
    for (call, of) in [("tg_listen", "TG_SOCKET"), ("tg_open", "TG_OPEN"), ("tg_setsockopt", "TG_GETSOCKOPT")]
    {
        let mut groff = Command::new("groff");
        groff.args(["-man", "-Tutf8", "-I"]).arg(&pages);
        let said = run(groff.arg(pages.join(format!("man3/{call}.3"))));
        assert!(said.contains(of) && said.contains(call), "{call}: {said}");
    }
}
