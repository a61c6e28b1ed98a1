//! Frames as they pass, counted by whose they are while tcpdump still writes them.
//!
//! A tap sees what the kernel makes a packet of: on the client everything, on the server what the host gets and sends, and
//! what comes in from stacks' veths; not what XDP sends to a stack, which the program's own counters say.

use super::host::{ADDRESS, PATIENCE};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::Ipv4Addr;
use std::process::Command;
use tidegate_testbed::{End, Process, ScratchDir};

/// Bytes of the file's head, and of a record's (pcap-savefile(5)).
const FILE_HEAD_LEN: usize = 24;
const RECORD_HEAD_LEN: usize = 16;
/// Bytes in front of the packet (LINKTYPE_LINUX_SLL2, of all devices; LINKTYPE_ETHERNET, of one).
const SLL2_LEN: usize = 20;
const ETHERNET_LEN: usize = 14;
/// `PACKET_OUTGOING` (packet(7)).
const OUTGOING: u8 = 4;
/// Headers, and no more.
const SNAP_LEN: &str = "96";

/// What a frame is to the address that is shared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum What {
    /// From a protocol and port of it.
    From(u8, u16),
    /// To one.
    To(u8, u16),
    /// Neither: ARP, ICMP, anything.
    Other,
}

/// Where and what.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Kind {
    /// 0 where one device is captured.
    pub(crate) ifindex: u32,
    pub(crate) is_outgoing: bool,
    pub(crate) what: What,
}

/// A capture under way.
pub(crate) struct Capture {
    tcpdump: Process,
    scratch: ScratchDir,
    all_devices: bool,
    read_len: u64,
    pub(crate) counts: BTreeMap<Kind, u64>,
}

impl Capture {
    /// Of all devices of a host, or of its end of the cable.
    pub(crate) fn start(end: &End, all_devices: bool) -> Self {
        let scratch = ScratchDir::new().expect("a temporary directory");
        let mut command = Command::new("tcpdump");
        command.args(["-n", "-U", "--immediate-mode", "-B", "65536", "-Z", "root", "-s", SNAP_LEN, "-i"]);
        match all_devices {
            true => command.args(["any", "-y", "LINUX_SLL2"]),
            false => command.arg(end.device()),
        };
        command.arg("-w").arg(scratch.join("trace.pcap"));
        let mut tcpdump = end.spawn(command).expect("tcpdump (make deps)");
        tcpdump.await_text("listening on", PATIENCE).unwrap_or_else(|error| panic!("{error}"));
        Self { tcpdump, scratch, all_devices, read_len: 0, counts: BTreeMap::new() }
    }

    /// Counts what has come since.
    pub(crate) fn read(&mut self) {
        let mut file = File::open(self.scratch.join("trace.pcap")).expect("tcpdump's file");
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(self.read_len)).expect("a file");
        file.read_to_end(&mut bytes).expect("a file");
        let mut rest = &bytes[..];
        if self.read_len == 0 {
            let Some((_, records)) = rest.split_at_checked(FILE_HEAD_LEN) else { return };
            rest = records;
            self.read_len = FILE_HEAD_LEN as u64;
        }
        while let Some((head, behind)) = rest.split_at_checked(RECORD_HEAD_LEN) {
            let len = u32::from_le_bytes([head[8], head[9], head[10], head[11]]) as usize;
            // A record that is being written is read the next time.
            let Some((frame, records)) = behind.split_at_checked(len) else { return };
            *self.counts.entry(self.kind(frame)).or_default() += 1;
            rest = records;
            self.read_len += (RECORD_HEAD_LEN + len) as u64;
        }
    }

    /// Ends it; tcpdump must have seen all.
    pub(crate) fn finish(mut self) {
        self.tcpdump.signal("INT").expect("kill");
        self.tcpdump.await_end(PATIENCE).unwrap_or_else(|error| panic!("{error}"));
        let said = self.tcpdump.said();
        assert!(said.contains("\n0 packets dropped by kernel"), "{said}");
    }

    /// Frames of these kinds.
    pub(crate) fn count(&self, of: impl Fn(&Kind) -> bool) -> u64 {
        self.counts.iter().filter(|(kind, _)| of(kind)).map(|(_, count)| count).sum()
    }

    fn kind(&self, frame: &[u8]) -> Kind {
        let (link_len, ifindex, is_outgoing) = match frame {
            [_, _, _, _, a, b, c, d, _, _, direction, ..] if self.all_devices => {
                (SLL2_LEN, u32::from_be_bytes([*a, *b, *c, *d]), *direction == OUTGOING)
            }
            _ => (ETHERNET_LEN, 0, false),
        };
        Kind { ifindex, is_outgoing, what: frame.get(link_len..).map_or(What::Other, what) }
    }
}

/// Of an IPv4 packet without options, as all here are.
fn what(packet: &[u8]) -> What {
    let address: Ipv4Addr = ADDRESS.parse().expect("an address");
    let [0x45, _, _, _, _, _, _, _, _, protocol @ (6 | 17), _, _, addresses @ ..] = packet else {
        return What::Other;
    };
    let [s0, s1, s2, s3, d0, d1, d2, d3, from_high, from_low, to_high, to_low, ..] = addresses else {
        return What::Other;
    };
    if [*s0, *s1, *s2, *s3] == address.octets() {
        What::From(*protocol, u16::from_be_bytes([*from_high, *from_low]))
    } else if [*d0, *d1, *d2, *d3] == address.octets() {
        What::To(*protocol, u16::from_be_bytes([*to_high, *to_low]))
    } else {
        What::Other
    }
}
