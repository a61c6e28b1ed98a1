//! A program that runs on a host of the testbed for as long as its handle lives.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tidegate_sys::cpu;

use crate::family::family;
use crate::{ScratchDir, TestbedError};

/// A running program, killed when dropped. What it writes is kept, for the message of a test that fails.
///
/// Its descendants are counted but not killed with it: run servers in the foreground, and one that forks below
/// `unshare --pid --fork --kill-child`.
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

    /// Its number and those of its descendants.
    pub fn family(&self) -> Vec<u32> {
        family(self.pid())
    }

    /// The numbers of its threads, and of its descendants'.
    pub fn threads(&self) -> Vec<u32> {
        self.family().into_iter().flat_map(threads_of).collect()
    }

    /// How long its threads and its descendants' have run, those that have ended left out.
    pub fn cpu_time(&self) -> Result<Duration, TestbedError> {
        let times = self.threads().into_iter().map(|thread| cpu::time_of(thread).map_err(TestbedError::from));
        times.sum()
    }

    /// Memory that it holds resident, in bytes; 0 once it has ended.
    pub fn resident_bytes(&self) -> u64 {
        kib_of(self.pid(), "status", "VmRSS:").unwrap_or(0) << 10
    }

    /// Memory that it and its descendants hold, what several share being divided among them: the sum of their
    /// proportional set sizes, in bytes.
    pub fn proportional_bytes(&self) -> u64 {
        self.family().into_iter().filter_map(|pid| kib_of(pid, "smaps_rollup", "Pss:")).sum::<u64>() << 10
    }

    /// How long it and its descendants have run in user space. Good to some 10 ms.
    pub fn user_time(&self) -> Result<Duration, TestbedError> {
        let times = self.family().into_iter().map(|pid| cpu::user_time_of(pid).map_err(TestbedError::from));
        times.sum()
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

pub(crate) fn threads_of(pid: u32) -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// A line of a file below `/proc/PID` that gives a size.
fn kib_of(pid: u32, file: &str, label: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(label))?;
    line.split_whitespace().next()?.parse().ok()
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}
