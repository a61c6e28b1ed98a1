//! A running `tidegate web`, `dns` or `serve`.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tidegate_sys::netns::Netns;

/// The binary under test.
pub(crate) const TIDEGATE: &str = env!("CARGO_BIN_EXE_tidegate");

/// A service that has said where it serves; killed at the end of the test if it still runs.
pub(crate) struct Service {
    child: Child,
    /// The line that it printed.
    pub(crate) line: String,
    log: PathBuf,
}

impl Service {
    /// Starts `tidegate web ARGS` in `netns` and waits until it serves.
    pub(crate) fn start(netns: &Netns, args: &[&str]) -> Self {
        Self::run(netns, "web", args)
    }

    /// The same with another of the commands that serve.
    pub(crate) fn run(netns: &Netns, command_name: &str, args: &[&str]) -> Self {
        let log = tempfile("log");
        let mut command = Command::new(TIDEGATE);
        command.arg(command_name).args(args).stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(File::create(&log).expect("a temporary file"));
        let mut child = netns.run(|| command.spawn()).expect("entered").expect("the binary under test");
        let mut line = String::new();
        let read = BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line);
        let service = Self { child, line: line.trim().into(), log };
        assert!(read.is_ok() && service.line.starts_with("serving "), "not serving: {}", service.log());
        service
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it wrote to the error output so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until it has written `text` to the error output.
    pub(crate) fn await_log(&self, text: &str) {
        let start = Instant::now();
        while !self.log().contains(text) {
            assert!(start.elapsed() < Duration::from_secs(10), "no {text:?} in: {}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends it a signal by name, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([format!("-{name}"), self.pid().to_string()]).status();
        assert!(sent.expect("kill").success());
    }

    /// Ends it as an administrator would, and waits for that.
    pub(crate) fn terminate(mut self) -> ExitStatus {
        self.signal("TERM");
        self.wait()
    }

    /// Ends it as nothing can prevent, and waits for that.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("our own child");
        self.wait();
    }

    fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(20) {
            if let Some(status) = self.child.try_wait().expect("our own child") {
                return status;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the service does not end: {}", self.log());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the service said: {}\n{}", self.line, self.log());
        }
        let _ = std::fs::remove_file(&self.log);
    }
}

/// A path for a file that nobody else has.
pub(crate) fn tempfile(kind: &str) -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("tidegate-test-{}-{number}.{kind}", std::process::id()))
}
