//! A daemon in a namespace, and programs beside it. All of it ends with the test.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use tidegate_sys::netns::Netns;

/// A process that is killed when the test ends.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn spawn(netns: &Netns, command: &mut Command) -> Process {
        // A child starts in the namespace of the thread that makes it.
        Process(netns.run(|| command.spawn()).unwrap().unwrap())
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Its first line of output.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        line
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.0.wait().unwrap()
    }

    /// As `kill -9` does; all that it held is gone then.
    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// What it said on standard error, when it has ended.
    pub(crate) fn errors(&mut self) -> String {
        let mut text = String::new();
        self.0.stderr.as_mut().unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder of the test's own.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tidegate-controllers-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self) -> String {
        self.0.display().to_string()
    }

    pub(crate) fn join(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Puts a shell script there.
    pub(crate) fn program(&self, name: &str, script: &str) {
        let path = self.0.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A machine with a daemon.
pub(crate) struct Scene {
    pub(crate) daemon: Process,
    pub(crate) netns: Netns,
    pub(crate) folder: Folder,
}

impl Scene {
    pub(crate) fn start(name: &str) -> Scene {
        Scene::start_in(Folder::new(name), &[])
    }

    pub(crate) fn start_in(folder: Folder, args: &[&str]) -> Scene {
        let netns = Netns::create().expect("a network namespace (run as root)");
        let daemon = start(&netns, &folder, args);
        Scene { daemon, netns, folder }
    }

    /// Starts the daemon again.
    pub(crate) fn restart(&mut self, args: &[&str]) {
        self.daemon = start(&self.netns, &self.folder, args);
    }

    /// Runs a controller to its end, which must be a good one.
    pub(crate) fn python(&self, script: &str, args: &[&str]) {
        let output = self.netns.run(|| controller(script, args).output()).unwrap().unwrap();
        let (said, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{script}: {}\n{said}{errors}", output.status);
    }
}

/// `tidegate daemon`, when controllers can reach it.
fn start(netns: &Netns, folder: &Folder, args: &[&str]) -> Process {
    let mut daemon = Process::spawn(netns, &mut daemon(folder, args));
    let line = daemon.line();
    assert!(line.contains("controllers reach it at 127.0.0.1:10514"), "{line}");
    daemon
}

/// The command; programs in the folder come first.
pub(crate) fn daemon(folder: &Folder, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    let path = format!("{}:{}", folder.path(), std::env::var("PATH").unwrap_or_default());
    // Relative paths that controllers give end up in the folder.
    command.arg("daemon").args(args).env("PATH", path).current_dir(&folder.0);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// A controller: a script of this folder.
fn controller(script: &str, args: &[&str]) -> Command {
    let mut command = Command::new(python());
    command.args(["-B", script]).args(args).stdin(Stdio::null());
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/controllers"));
    command
}

/// An interpreter that has grpcio: the first on the PATH, or the system's, for which apt installs it.
fn python() -> &'static str {
    static FOUND: OnceLock<&str> = OnceLock::new();
    FOUND.get_or_init(find_python)
}

fn find_python() -> &'static str {
    let has_grpc = |python: &&str| {
        let imported = Command::new(python).args(["-c", "import grpc, google.protobuf"]).output();
        imported.is_ok_and(|output| output.status.success())
    };
    let found = ["python3", "/usr/bin/python3"].into_iter().find(has_grpc);
    found.expect("no Python with grpcio: run `scripts/deps test`")
}
