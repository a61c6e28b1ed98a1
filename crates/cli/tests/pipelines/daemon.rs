//! A daemon of a test's own, and commands to it.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

pub(crate) const TIDEGATE: &str = env!("CARGO_BIN_EXE_tidegate");

/// A process that controllers can reach, ended with the test.
pub(crate) struct Daemon {
    child: Child,
    /// Where it is reached.
    pub(crate) address: String,
}

impl Daemon {
    pub(crate) fn start() -> Self {
        Self::spawn(&["daemon"])
    }

    /// `tidegate ARGS --listen` at any free port.
    pub(crate) fn spawn(args: &[&str]) -> Self {
        let mut command = Command::new(TIDEGATE);
        command.args(args).args(["--listen", "127.0.0.1:0"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let address = line.trim_end().rsplit_once(" at ").map(|(_, address)| address.to_owned());
        Self { child, address: address.unwrap_or_else(|| panic!("no address: {line}")) }
    }

    /// A command to this daemon, as it is typed.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(TIDEGATE);
        command.args(args).args(["--address", &self.address]).stdin(Stdio::null());
        command
    }

    /// What the command prints; it must succeed.
    pub(crate) fn say(&self, args: &[&str]) -> String {
        said(&mut self.command(args))
    }

    /// The one line by which the command is refused.
    pub(crate) fn refusal(&self, args: &[&str]) -> String {
        let output = self.command(args).output().expect("run");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stdout));
        assert!(text.starts_with("tidegate: "), "{args:?}: {text}");
        text
    }

    /// Ends it by SIGINT and waits; its exit status.
    pub(crate) fn interrupt(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        said(Command::new("kill").args(["-INT", &pid]));
        self.child.wait().expect("ended").code()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended with the test.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a command prints; it must succeed.
pub(crate) fn said(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("run");
    let text = String::from_utf8_lossy(&stdout).into_owned();
    assert!(status.success(), "{command:?}: {status}\n{text}\n{}", String::from_utf8_lossy(&stderr));
    text
}

/// A file in the repository.
pub(crate) fn in_tree(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(path).to_str().expect("a path in UTF-8").to_owned()
}

/// The pipelines among the examples.
pub(crate) fn examples() -> Vec<String> {
    let files = std::fs::read_dir(in_tree("examples")).expect("examples");
    let files = files.map(|file| file.expect("an entry").path());
    let files = files.filter(|file| file.extension().is_some_and(|extension| extension == "tg"));
    let mut files: Vec<String> =
        files.map(|file| file.to_str().expect("a path in UTF-8").to_owned()).collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

/// A file that is gone with the test.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tidegate-{}-{name}", std::process::id()));
        std::fs::write(&path, text).expect("written");
        Self(path)
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("a path in UTF-8")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Reads until `wanted` has come.
pub(crate) fn read_until(reader: &mut impl Read, wanted: &str) -> String {
    let mut text = String::new();
    let mut chunk = [0; 4096];
    while !text.contains(wanted) {
        let len = reader.read(&mut chunk).expect("read");
        assert!(len > 0, "{wanted:?} never came: {text}");
        text.push_str(&String::from_utf8_lossy(&chunk[..len]));
    }
    text
}
