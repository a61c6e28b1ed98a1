//! DPDK's testpmd as a peer, as `scripts/testpmd` unpacks it: without a NIC, beside nothing installed.
//!
//! It forwards between the devices that it is given. Its commands are text: [`Testpmd::tell`]. What it answers is not to be
//! had before its end, for it writes whole blocks.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tidegate_sys::cpu;
use tidegate_sys::mem::{HUGE_PAGE_SIZE, RaisedLimit, allow_huge_pages};

use crate::process::threads_of;
use crate::{ScratchDir, TestbedError};

/// How long it may take to end when it is told to.
const PATIENCE: Duration = Duration::from_secs(20);
/// Drivers that nothing links to.
const DRIVERS: [&str; 4] =
    ["librte_net_memif.so", "librte_net_null.so", "librte_net_virtio.so", "librte_mempool_ring.so"];
/// What DPDK calls the threads that forward.
const FORWARDER: &str = "-worker-";

/// Where its memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// On ordinary pages: it runs anywhere.
    Ordinary,
    /// On huge pages, as many as there may be allowed: as DPDK is meant to run.
    Huge,
}

/// Of its memory.
const MIB: usize = 256;

/// A running testpmd, ended when dropped.
#[derive(Debug)]
pub struct Testpmd {
    child: Child,
    written: PathBuf,
    _scratch: ScratchDir,
    _raised: Option<RaisedLimit>,
}

impl Testpmd {
    /// Starts it from `root`, into which it was unpacked, with virtual devices (`net_null0,size=60`) and testpmd's own options.
    /// It forwards on one processor, and waits for commands; an option `-a` has it begin at once.
    ///
    /// Needs root.
    pub fn start(
        root: &Path,
        pages: Pages,
        devices: &[String],
        options: &[&str],
    ) -> Result<Testpmd, TestbedError> {
        let scratch = ScratchDir::new()?;
        let written = scratch.write("output", [])?;
        let raised = match pages {
            Pages::Ordinary => None,
            // One more than its memory, for what it keeps beside.
            Pages::Huge => allow_huge_pages(MIB * (1 << 20) / HUGE_PAGE_SIZE + 1)?,
        };
        let mut command = command(root, pages, devices, options);
        let started = File::options().append(true).open(&written).and_then(|output| {
            command.stdin(Stdio::piped()).stdout(output.try_clone()?).stderr(output).spawn()
        });
        let program = || command.get_program().to_string_lossy().into_owned();
        let child = started.map_err(|source| TestbedError::Start { program: program(), source })?;
        Ok(Testpmd { child, written, _scratch: scratch, _raised: raised })
    }

    /// Gives it a command. One that has ended hears nothing.
    pub fn tell(&mut self, command: &str) {
        if let Some(stdin) = &mut self.child.stdin {
            // That it has ended is seen by what it has not done.
            let _ = writeln!(stdin, "{command}").and_then(|()| stdin.flush());
        }
    }

    /// How long its forwarding threads have run.
    pub fn forwarding_time(&self) -> Result<Duration, TestbedError> {
        let name = |thread: &u32| fs::read_to_string(format!("/proc/{thread}/comm")).unwrap_or_default();
        let forwarders = threads_of(self.child.id()).filter(|thread| name(thread).contains(FORWARDER));
        forwarders.map(|thread| cpu::time_of(thread).map_err(TestbedError::from)).sum()
    }

    /// Has it end; all that it wrote.
    pub fn finish(mut self) -> Result<String, TestbedError> {
        self.tell("quit");
        let deadline = Instant::now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() >= deadline {
                let (program, said) = ("testpmd".to_owned(), self.said());
                return Err(TestbedError::Awaited {
                    program,
                    awaited: "end".into(),
                    patience: PATIENCE,
                    said,
                });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(self.said())
    }

    fn said(&self) -> String {
        fs::read(&self.written).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Ends it at once, as `kill -9` does.
    pub fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        // It may have ended already, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Testpmd {
    fn drop(&mut self) {
        self.tell("quit");
        let deadline = Instant::now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.end();
    }
}

fn command(root: &Path, pages: Pages, devices: &[String], options: &[&str]) -> Command {
    let architecture = format!("{}-linux-gnu", std::env::consts::ARCH);
    let libraries = [root.join("usr/lib").join(&architecture), root.join("lib").join(&architecture)];
    let drivers = DRIVERS.iter().filter_map(|name| find(&libraries[0], name));
    let join = |paths: Vec<PathBuf>| std::env::join_paths(paths).unwrap_or_default();
    let mut command = Command::new(root.join("usr/bin/dpdk-testpmd"));
    command
        // Not by -d: DPDK loads from no directory that others may write to, such as one below /tmp.
        .env("LD_PRELOAD", join(drivers.collect()))
        .env("LD_LIBRARY_PATH", join(libraries.to_vec()))
        .args(["--no-pci", if pages == Pages::Huge { "--in-memory" } else { "--no-huge" }])
        .args(["--no-shconf", "--no-telemetry", "-l", "0,1", "-m", &MIB.to_string()])
        .args(devices.iter().map(|device| format!("--vdev={device}")))
        .args(["--", "-i", "--disable-link-check"])
        .args(options);
    command
}

/// The shortest path below `root` whose file name begins so.
fn find(root: &Path, name: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(root).ok()?.flatten().map(|entry| entry.path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let is_it =
        |path: &PathBuf| path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name));
    files.into_iter().filter(is_it).min().or_else(|| folders.iter().find_map(|folder| find(folder, name)))
}
