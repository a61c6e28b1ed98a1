//! A program that runs on a host of the testbed for as long as its handle lives.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tidegate_sys::cpu;

use crate::{ScratchDir, TestbedError};

/// A running program, killed when dropped. What it writes is kept, for the message of a test that fails.
///
/// Its own children are not followed: run servers in the foreground and without a master process.
#[derive(Debug)]
pub struct Process {
    child: Child,
    program: String,
    written: PathBuf,
    _scratch: ScratchDir,
}

impl Process {
    /// Starts it from the calling thread, whose namespace and processor it inherits.
    pub(crate) fn start(mut command: Command) -> Result<Process, TestbedError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let scratch = ScratchDir::new()?;
        let written = scratch.write("output", [])?;
        let started = File::options().append(true).open(&written).and_then(|output| {
            command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).spawn()
        });
        let child = started.map_err(|source| TestbedError::Start { program: program.clone(), source })?;
        Ok(Process { child, program, written, _scratch: scratch })
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has not ended.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// What it wrote to its output and its error output so far.
    pub fn said(&self) -> String {
        fs::read(&self.written).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Waits until it has written `text`.
    pub fn await_text(&mut self, text: &str, patience: Duration) -> Result<(), TestbedError> {
        let deadline = Instant::now() + patience;
        while !self.said().contains(text) {
            if Instant::now() >= deadline || !self.is_running() {
                return Err(self.overdue(format!("say {text:?}"), patience));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Waits until it ends.
    pub fn await_end(&mut self, patience: Duration) -> Result<ExitStatus, TestbedError> {
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(self.overdue("end".into(), patience))
    }

    /// Sends it a signal by name, such as `TERM` or `HUP`.
    pub fn signal(&self, name: &str) -> Result<(), TestbedError> {
        let sent = Command::new("kill").args(["-s", name, &self.pid().to_string()]).status();
        sent.map(drop).map_err(|source| TestbedError::Start { program: "kill".into(), source })
    }

    /// Asks it to end, as an administrator would, and waits for it.
    pub fn terminate(mut self, patience: Duration) -> Result<ExitStatus, TestbedError> {
        self.signal("TERM")?;
        self.await_end(patience)
    }

    /// Ends it at once, as `kill -9` does.
    pub fn kill(mut self) {
        self.end();
    }

    /// The numbers of its threads.
    pub fn threads(&self) -> Vec<u32> {
        let entries = fs::read_dir(format!("/proc/{}/task", self.pid())).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    /// How long its threads have run, those that have ended left out.
    pub fn cpu_time(&self) -> Result<Duration, TestbedError> {
        let times = self.threads().into_iter().map(|thread| cpu::time_of(thread).map_err(TestbedError::from));
        times.sum()
    }

    /// Memory that it holds resident, in bytes; 0 once it has ended.
    pub fn resident_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.unwrap_or(0) << 10
    }

    pub(crate) fn overdue(&self, awaited: String, patience: Duration) -> TestbedError {
        TestbedError::Awaited { program: self.program.clone(), awaited, patience, said: self.said() }
    }

    fn end(&mut self) {
        // It may have ended already, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}
