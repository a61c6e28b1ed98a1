//! How many system calls a server makes, counted by perf while a client runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use tidegate_testbed::{Process, ScratchDir};

/// A count that a client is run under.
#[derive(Debug)]
pub(crate) struct SyscallCounter {
    pids: String,
    counted: PathBuf,
}

impl SyscallCounter {
    /// A counter of what `process` and its descendants call.
    pub(crate) fn of(process: &Process, scratch: &ScratchDir) -> Self {
        let pids: Vec<String> = process.family().iter().map(u32::to_string).collect();
        Self { pids: pids.join(","), counted: scratch.join("syscalls") }
    }

    /// `client`, and a count for as long as it runs.
    fn around(&self, client: &Command) -> Command {
        let mut perf = Command::new("perf");
        perf.args(["stat", "--event", "raw_syscalls:sys_enter", "--field-separator", ","]);
        perf.args(["--pid", &self.pids, "--output"]).arg(&self.counted).arg("--");
        perf.arg(client.get_program()).args(client.get_args());
        perf
    }

    /// What it counted; absent where the kernel has no such event.
    pub(crate) fn count(&self) -> anyhow::Result<Option<u64>> {
        Ok(parse_count(&read(&self.counted)?))
    }
}

/// `client`, counted for if there is a counter.
pub(crate) fn under(counter: Option<&SyscallCounter>, client: Command) -> Command {
    match counter {
        Some(counter) => counter.around(&client),
        None => client,
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).context("read what perf counted")
}

/// perf-stat(1), CSV: `COUNT,unit,EVENT,...`.
fn parse_count(csv: &str) -> Option<u64> {
    csv.lines().find(|line| line.contains("sys_enter"))?.split(',').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parse_count;

    #[test]
    fn what_perf_counts() {
        assert_eq!(
            parse_count("# started\n\n774340,,raw_syscalls:sys_enter,1010660952,100.00,,\n"),
            Some(774_340)
        );
        assert_eq!(parse_count("<not supported>,,raw_syscalls:sys_enter,0,100.00,,\n"), None);
    }
}
