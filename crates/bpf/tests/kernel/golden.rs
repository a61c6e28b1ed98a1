//! Golden packets: each file of `tests/golden/` is a frame, what it is, and what must become of it.
//!
//! ```text
//! # A SYN to a registered address and port.       <- why
//! expect: socket tuple                            <- verdict and reason
//! device: own                                     <- optional: the stack owns the device
//! socket: absent                                  <- optional: no socket is on the receive queue
//! slot: absent                                    <- optional: the stacks with slots have died
//! queue: other                                    <- optional: the stack's socket is on another queue
//!
//! # Ethernet, IPv4                                <- header by header
//! 02 00 00 00 00 01 02 00 00 00 00 02 08 00
//! ```
//! What is registered is in `support::registered`.

use std::fs;
use std::path::PathBuf;

use tidegate_bpf::{Reason, Verdict, XdpProgram};

use crate::support::{DEVICE_SLOT, Receiver, SOCKET_SLOT, beside_socket, load, load_registered, run};

/// One file.
pub(crate) struct GoldenPacket {
    pub(crate) name: String,
    pub(crate) frame: Vec<u8>,
    expected: (Verdict, Reason),
    own_device: bool,
    socket_absent: bool,
    slot_absent: bool,
    other_queue: bool,
}

impl GoldenPacket {
    fn parse(name: String, text: &str) -> Self {
        let mut packet = Self {
            name,
            frame: Vec::new(),
            expected: (Verdict::Pass, Reason::NotIp),
            own_device: false,
            socket_absent: false,
            slot_absent: false,
            other_queue: false,
        };
        let mut expectation = None;
        let (facts, frame) = parse_frame(text);
        packet.frame = frame;
        for fact in facts {
            match fact {
                ("expect", outcome) => expectation = Some(parse_outcome(outcome)),
                ("device", "own") => packet.own_device = true,
                ("socket", "absent") => packet.socket_absent = true,
                ("slot", "absent") => packet.slot_absent = true,
                ("queue", "other") => packet.other_queue = true,
                other => panic!("{}: unknown line {other:?}", packet.name),
            }
        }
        packet.expected = expectation.unwrap_or_else(|| panic!("{}: no `expect:`", packet.name));
        packet
    }

    fn run(&self, program: &XdpProgram, receiver: &Receiver) -> (Verdict, Reason) {
        program.own_device(self.own_device).expect("the setting can be written");
        if self.socket_absent {
            program.unset_xsk(0).expect("queue 0 has a place");
        } else {
            program.set_xsk(0, receiver).expect("queue 0 has a place");
        }
        if self.slot_absent {
            program.unset_device(DEVICE_SLOT).expect("a slot has a place");
            program.unset_slot_socket(SOCKET_SLOT).expect("a slot has a place");
        } else {
            program.set_device(DEVICE_SLOT, receiver.ifindex()).expect("a slot has a place");
            let queue = self.other_queue.into();
            program.set_slot_socket(SOCKET_SLOT, queue, receiver).expect("a slot has a place");
        }
        run(program, &self.frame)
    }
}

fn parse_outcome(text: &str) -> (Verdict, Reason) {
    let (verdict, reason) = text.split_once(' ').expect("a verdict and a reason");
    let verdict = match verdict {
        "pass" => Verdict::Pass,
        "socket" => Verdict::Socket,
        "slot_socket" => Verdict::SlotSocket,
        "device" => Verdict::Device,
        "drop" => Verdict::Drop,
        other => panic!("unknown verdict `{other}`"),
    };
    let reason = Reason::ALL.into_iter().find(|known| known.name() == reason);
    (verdict, reason.unwrap_or_else(|| panic!("unknown reason in `{text}`")))
}

/// What a file says about its frame, line by line, and the frame.
pub(crate) fn parse_frame(text: &str) -> (Vec<(&str, &str)>, Vec<u8>) {
    let (mut facts, mut frame) = (Vec::new(), Vec::new());
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.split_once(": ") {
            Some(fact) => facts.push(fact),
            None => frame.extend(line.split(' ').map(parse_byte)),
        }
    }
    (facts, frame)
}

fn parse_byte(text: &str) -> u8 {
    u8::from_str_radix(text, 16).unwrap_or_else(|_| panic!("`{text}` is no byte"))
}

/// Every file, by name.
pub(crate) fn golden_packets() -> Vec<GoldenPacket> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut packets: Vec<_> = fs::read_dir(directory)
        .expect("tests/golden exists")
        .map(|entry| entry.expect("an entry of tests/golden").path())
        .map(|path| {
            let name = path.file_stem().expect("files have names").to_string_lossy().into_owned();
            GoldenPacket::parse(name, &fs::read_to_string(&path).expect("golden packets are text"))
        })
        .collect();
    packets.sort_by(|a, b| a.name.cmp(&b.name));
    packets
}

#[test]
fn golden_packets_get_their_verdicts() {
    let packets = golden_packets();
    assert!(packets.len() >= 131, "only {} golden packets were found", packets.len());
    beside_socket(|program, receiver| {
        let wrong = packets.iter().filter_map(|packet| {
            let outcome = packet.run(program, &receiver);
            let right = outcome == packet.expected;
            (!right).then(|| format!("{}: {outcome:?}, expected {:?}", packet.name, packet.expected))
        });
        assert_eq!(wrong.collect::<Vec<_>>(), [""; 0]);
    });
}

#[test]
fn golden_packets_cover_every_reason() {
    let packets = golden_packets();
    // What the offload answers is tested with its tables, in tidegate-offload.
    for reason in Reason::ALL.into_iter().filter(|reason| reason.verdict() != Verdict::Answer) {
        assert!(packets.iter().any(|packet| packet.expected.1 == reason), "no packet for {}", reason.name());
    }
}

#[test]
fn an_empty_program_passes_every_golden_packet() {
    let Some(program) = load() else { return };
    for packet in golden_packets() {
        assert_eq!(run(&program, &packet.frame).0, Verdict::Pass, "{}", packet.name);
    }
}

#[test]
fn frames_shorter_than_ethernet_never_reach_the_program() {
    let Some(program) = load_registered() else { return };
    let before = program.counters().expect("counters can be read");
    for len in 0..14 {
        program.test_run(&[0; 14][..len], 1).expect_err("the kernel refuses frames below 14 bytes");
    }
    assert_eq!(program.counters().expect("counters can be read"), before);
}
