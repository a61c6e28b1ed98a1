//! What crossed the cable, captured by tcpdump and judged by tshark.
//!
//! Not a parser of ours: that a frame of ours is well formed should be the opinion of somebody else.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tidegate_sys::ethtool::Offload;

use crate::{End, Process, ScratchDir, TestbedError};

const PATIENCE: Duration = Duration::from_secs(10);

/// What tshark finds wrong with a frame: malformed, or a checksum that does not add up.
const FAULTY: &str = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0 || \
                      udp.checksum.status == 0 || icmp.checksum.status == 0 || icmpv6.checksum.status == 0";

/// A capture under way on a host's end of the cable.
///
/// Capture at the client: a user-space stack's own end shows nothing of it, since AF_XDP goes past the taps.
/// Receive offload is off meanwhile, for it merges frames before the tap sees them.
#[derive(Debug)]
pub struct Capture<'a> {
    end: &'a End,
    tcpdump: Process,
    scratch: ScratchDir,
}

impl<'a> Capture<'a> {
    /// Starts to capture what `filter` selects: pcap-filter(7), all if empty.
    pub fn start(end: &'a End, filter: &str) -> Result<Capture<'a>, TestbedError> {
        end.set_offload(Offload::GenericReceive, false)?;
        let scratch = ScratchDir::new()?;
        let mut command = Command::new("tcpdump");
        command.args(["-i", end.device(), "-n", "-U", "--immediate-mode", "-B", "65536", "-Z", "root", "-w"]);
        command.arg(scratch.join("trace.pcap")).args(filter.split_whitespace());
        let mut tcpdump = end.spawn(command)?;
        tcpdump.await_text("listening on", PATIENCE)?;
        Ok(Capture { end, tcpdump, scratch })
    }

    /// Ends the capture.
    pub fn finish(self) -> Result<Trace, TestbedError> {
        // Frames that left their sender may still be on the way through the receive thread.
        std::thread::sleep(Duration::from_millis(50));
        self.tcpdump.terminate(PATIENCE)?;
        self.end.set_offload(Offload::GenericReceive, true)?;
        Ok(Trace { scratch: self.scratch })
    }
}

/// A finished capture, removed when dropped.
#[derive(Debug)]
pub struct Trace {
    scratch: ScratchDir,
}

impl Trace {
    /// Where it lies, in pcap format.
    pub fn path(&self) -> std::path::PathBuf {
        self.scratch.join("trace.pcap")
    }

    /// How many frames it holds that `filter` selects: wireshark-filter(4), all if empty.
    pub fn frame_count(&self, filter: &str) -> Result<usize, TestbedError> {
        Ok(dissect(&self.path(), filter)?.len())
    }

    /// One line for each frame that is malformed or has a wrong checksum.
    pub fn faults(&self) -> Result<Vec<String>, TestbedError> {
        dissect(&self.path(), FAULTY)
    }
}

/// tshark's one-line summaries of the frames that `filter` selects, every checksum being verified.
fn dissect(path: &Path, filter: &str) -> Result<Vec<String>, TestbedError> {
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(path);
    for protocol in ["ip", "tcp", "udp"] {
        command.arg("-o").arg(format!("{protocol}.check_checksum:TRUE"));
    }
    // Payloads in tests are noise, in which tshark would find an application that speaks it badly.
    command.args(["-d", "tcp.port==0-65535,data"]);
    if !filter.is_empty() {
        command.args(["-Y", filter]);
    }
    let output = command.output();
    let output = output.map_err(|source| TestbedError::Start { program: "tshark".into(), source })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let awaited = format!("read {}", path.display());
        return Err(TestbedError::Awaited { program: "tshark".into(), awaited, patience: PATIENCE, said });
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}
