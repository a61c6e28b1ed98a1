//! The same work by DPDK's testpmd, in the same run: packets a second of its forwarding thread's processor time.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tidegate_testbed::{Pages, ScratchDir, Testpmd};

/// From its start to its work: it makes its pool, and a link's ends find each other.
const SET_UP: Duration = Duration::from_millis(1500);
/// How long it forwards at least: all that it sends counts, the first packets too.
const SPAN_MIN: Duration = Duration::from_millis(500);
/// A thread whose time has not grown for so long has stopped.
const LOOK: Duration = Duration::from_millis(100);

/// What it does beside a line of ours.
pub(super) struct Peer {
    line: &'static str,
    /// Its forwarding mode.
    mode: &'static str,
    devices: Devices,
}

enum Devices {
    /// Two that always have frames of 60 bytes, and take all.
    Null,
    /// The two ends of a memif link, between which frames go round.
    Memif,
}

const PEERS: [Peer; 3] = [
    Peer { line: "null port in, out", mode: "io", devices: Devices::Null },
    Peer { line: "null port in, mac_swap, out", mode: "macswap", devices: Devices::Null },
    Peer { line: "memif in, out", mode: "io", devices: Devices::Memif },
];

/// What testpmd does beside this line, if it can do such a thing.
pub(super) fn beside(line: &str) -> Option<&'static Peer> {
    PEERS.iter().find(|peer| peer.line == line)
}

/// Where `scripts/testpmd` unpacks it: beside the folder that this program is in.
fn root() -> Result<PathBuf> {
    let program = std::env::current_exe().context("where this program is")?;
    let root = program.ancestors().nth(2).context("this program is in no folder")?.join("testpmd");
    ensure!(root.exists(), "{} is missing: run scripts/testpmd, or give --no-testpmd", root.display());
    Ok(root)
}

impl Peer {
    /// Millions of packets that all its ports have sent a second of the forwarding thread's time.
    pub(super) fn measure(&self, span: Duration) -> Result<f64> {
        let scratch = ScratchDir::new()?;
        let link = |number: u8, role: &str| {
            let socket = scratch.join("memif").display().to_string();
            format!("net_memif{number},id=0,role={role},socket={socket},socket-abstract=no")
        };
        let (devices, topology, start) = match self.devices {
            Devices::Null => {
                (["net_null0,size=60".into(), "net_null1,size=60".into()], "--port-topology=paired", "start")
            }
            // Each end returns what it gets; eight bursts of 32 go round from either.
            Devices::Memif => {
                ([link(0, "server"), link(1, "client")], "--port-topology=loop", "start tx_first 8")
            }
        };
        let mode = format!("--forward-mode={}", self.mode);
        let options = [mode.as_str(), topology, "--burst=32", "--txpkts=60", "--total-num-mbufs=8192"];
        let mut testpmd = Testpmd::start(&root()?, Pages::Huge, &devices, &options)?;
        std::thread::sleep(SET_UP);
        let before = testpmd.forwarding_time()?;
        testpmd.tell(start);
        std::thread::sleep(span.max(SPAN_MIN));
        testpmd.tell("stop");
        let spent = settled_time(&testpmd)?.saturating_sub(before);
        let said = testpmd.finish()?;
        let sent = sent(&said).with_context(|| format!("testpmd sent nothing; it said:\n{said}"))?;
        Ok(sent as f64 / spent.as_secs_f64() / 1e6)
    }
}

/// What forwarding took once it has stopped.
fn settled_time(testpmd: &Testpmd) -> Result<Duration> {
    let mut spent = testpmd.forwarding_time()?;
    loop {
        std::thread::sleep(LOOK);
        let now = testpmd.forwarding_time()?;
        if now == spent {
            return Ok(spent);
        }
        spent = now;
    }
}

/// Packets that all ports have sent, by the last of its tables; none if that is nothing.
fn sent(said: &str) -> Option<u64> {
    let (_, count) = said.rsplit_once("TX-packets:")?;
    count.split_whitespace().next()?.parse().ok().filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::sent;

    #[test]
    fn the_last_table_is_that_of_all_ports() {
        let said = "port 0\n  TX-packets: 5770272  TX-dropped: 0\nall ports\n  TX-packets: 11540544       TX-dropped: 0\n";
        assert_eq!(sent(said), Some(11_540_544));
        assert_eq!(sent("  TX-packets: 0  TX-dropped: 0"), None);
        assert_eq!(sent("Bye..."), None);
    }
}
