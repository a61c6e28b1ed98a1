//! What stacks may send: golden frames, each a file of `tests/egress/` as in [`crate::golden`], and any frames against the
//! rules as `tidegate_wire::egress` states them.
//!
//! ```text
//! # From a neighbour's address.                   <- why
//! expect: not_owner                               <- what becomes of it
//! rate: spent                                     <- optional: the stack has sent as much as it may
//! ```
//! The sender is the stack with the device of `support::registered`, on the NIC of [`rules`].

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Instant;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use tidegate_bpf::{Action, Nic, Rate, Steering, Tuple, WayOut, XdpProgram};
use tidegate_sys::netns::Netns;
use tidegate_wire::MacAddr;
use tidegate_wire::egress::{Claim, Claims, EgressRules, EgressVerdict, Source, Transport, check};

use crate::differential::{changed, noise};
use crate::golden::parse_frame;
use crate::reference::Registered;
use crate::support::{DEVICE_SLOT, load_registered, registered};

/// Test runs come from here: the first device of any namespace.
const LOOPBACK: u32 = 1;

struct GoldenFrame {
    name: String,
    frame: Vec<u8>,
    expected: EgressVerdict,
    rate_is_spent: bool,
}

fn rules() -> EgressRules {
    EgressRules { mac: MacAddr([2, 0, 0, 0, 0, 1]), mtu: 1500 }
}

fn local() -> [IpAddr; 2] {
    ["192.0.2.1", "2001:db8::1"].map(|text| text.parse().expect("a literal address"))
}

impl GoldenFrame {
    fn parse(name: String, text: &str) -> Self {
        let (facts, frame) = parse_frame(text);
        let (mut expected, mut rate_is_spent) = (None, false);
        for (key, value) in facts {
            match (key, value) {
                ("expect", verdict) => {
                    expected = EgressVerdict::ALL.into_iter().find(|v| v.name() == verdict)
                }
                ("rate", "spent") => rate_is_spent = true,
                other => panic!("{name}: unknown line {other:?}"),
            }
        }
        let expected = expected.unwrap_or_else(|| panic!("{name}: no outcome that is known"));
        Self { name, frame, expected, rate_is_spent }
    }

    fn run(&self, program: &XdpProgram) -> EgressVerdict {
        let spent = Rate { bytes_per_s: 1000, burst_bytes: 0 };
        program.set_rate(DEVICE_SLOT, self.rate_is_spent.then_some(spent)).expect("a slot has a rate");
        if self.rate_is_spent {
            // The first is let through, and any that comes long after one that was.
            let over = (0..100).find(|_| run(program, &self.frame) == EgressVerdict::OverRate);
            return over.map_or(EgressVerdict::Sent, |_| EgressVerdict::OverRate);
        }
        run(program, &self.frame)
    }
}

fn golden_frames() -> Vec<GoldenFrame> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/egress");
    let paths = fs::read_dir(directory).expect("tests/egress exists");
    let paths = paths.map(|entry| entry.expect("an entry of tests/egress").path());
    paths
        .map(|path| {
            let name = path.file_stem().expect("files have names").to_string_lossy().into_owned();
            GoldenFrame::parse(name, &fs::read_to_string(&path).expect("golden frames are text"))
        })
        .collect()
}

/// Runs `check` with a program for which the loopback device is that of the stack.
fn beside_stack(check: impl FnOnce(&XdpProgram) + Send) {
    let Some(program) = load_registered() else { return };
    let netns = Netns::create().expect("root may make a namespace");
    let checked = netns.run(|| {
        let EgressRules { mac, mtu } = rules();
        let nic = Nic { ifindex: LOOPBACK, mac, mtu: mtu as u32, way_out: WayOut::Packet };
        program.set_nic(&nic).expect("a place for the NIC");
        program.give_device(DEVICE_SLOT, LOOPBACK).expect("a slot has a place");
        for address in local() {
            program.add_address(address).expect("a place for an address");
        }
        check(&program);
    });
    checked.expect("root may enter a namespace");
}

/// Runs one frame and returns the one verdict that counted it.
fn run(program: &XdpProgram, frame: &[u8]) -> EgressVerdict {
    let read = || program.stack_counters(DEVICE_SLOT).expect("counters can be read");
    let before = read();
    let action = program.test_run_egress(frame, 1).expect("the kernel runs the frame").action;
    let counted = read().since(&before);
    let verdicts: Vec<_> = counted.iter().filter(|(_, frames)| *frames > 0).collect();
    let [(verdict, 1)] = verdicts[..] else { panic!("one frame was counted as {verdicts:?}") };
    let is_sent = verdict == EgressVerdict::Sent;
    assert_eq!(action, if is_sent { Action::Pass } else { Action::Drop }, "{}", verdict.name());
    assert_eq!(counted.from_bytes, if is_sent { frame.len() as u64 } else { 0 });
    verdict
}

#[test]
fn golden_frames_become_what_they_must() {
    let frames = golden_frames();
    assert!(frames.len() >= 84, "only {} golden frames were found", frames.len());
    beside_stack(|program| {
        let wrong = frames.iter().filter_map(|golden| {
            let verdict = golden.run(program);
            let right = verdict == golden.expected;
            (!right).then(|| format!("{}: {verdict:?}, expected {:?}", golden.name, golden.expected))
        });
        assert_eq!(wrong.collect::<Vec<_>>(), [""; 0]);
    });
}

#[test]
fn golden_frames_cover_every_verdict() {
    let frames = golden_frames();
    for verdict in EgressVerdict::ALL {
        assert!(frames.iter().any(|golden| golden.expected == verdict), "no frame for {}", verdict.name());
    }
}

#[test]
fn golden_frames_are_what_the_rules_in_rust_say() {
    for golden in golden_frames().into_iter().filter(|golden| !golden.rate_is_spent) {
        assert_eq!(reference(&golden.frame), golden.expected, "{}", golden.name);
    }
}

/// What is registered, as the stack with the device sees it.
struct Seen<'a>(&'a Registered);

impl Claims for Seen<'_> {
    fn claim(&self, source: &Source) -> Option<Claim> {
        // A tuple takes IPv4-mapped addresses for IPv4 ones, which they are not on the wire.
        if source.address.to_canonical() != source.address {
            return None;
        }
        let tuple = match source.transport {
            Transport::Tcp => Tuple::tcp(source.address, source.port),
            Transport::Udp => Tuple::udp(source.address, source.port),
        };
        let claim = |steering: &Steering| {
            if *steering == (Steering::Device { slot: DEVICE_SLOT }) { Claim::Own } else { Claim::Foreign }
        };
        self.0.get(&tuple).map(claim)
    }

    fn is_local(&self, address: IpAddr) -> bool {
        local().contains(&address)
    }
}

fn reference(frame: &[u8]) -> EgressVerdict {
    static REGISTERED: OnceLock<Registered> = OnceLock::new();
    check(frame, &rules(), &Seen(REGISTERED.get_or_init(registered)))
}

fn compare(cases: u32, frames: impl Strategy<Value = Vec<u8>> + Send) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    beside_stack(move |program| {
        let same = |frame: Vec<u8>| {
            prop_assert_eq!(run(program, &frame), reference(&frame), "frame {:02x?}", frame);
            Ok(())
        };
        TestRunner::new(config).run(&frames, same).unwrap_or_else(|failure| panic!("{failure}"));
    });
}

fn frames() -> Vec<Vec<u8>> {
    golden_frames().into_iter().map(|golden| golden.frame).collect()
}

#[test]
fn golden_frames_are_judged_alike_at_every_length() {
    beside_stack(|program| {
        for frame in frames().into_iter().filter(|frame| frame.len() < 1000) {
            for len in 14..=frame.len() {
                assert_eq!(run(program, &frame[..len]), reference(&frame[..len]), "{:02x?}", &frame[..len]);
            }
        }
    });
}

#[test]
fn changed_golden_frames_are_judged_alike() {
    compare(16_384, changed(select(frames())));
}

#[test]
fn noise_is_judged_alike() {
    compare(4096, noise(rules().mac.0));
}

#[test]
fn nothing_leaves_a_device_without_a_stack_or_a_nic() {
    let Some(program) = load_registered() else { return };
    let frame =
        golden_frames().into_iter().find(|golden| golden.name == "ipv4-tcp").expect("a golden frame").frame;
    let netns = Netns::create().expect("root may make a namespace");
    let entered = netns.run(|| {
        let action = || program.test_run_egress(&frame, 1).expect("the kernel runs the frame").action;
        assert_eq!(action(), Action::Drop, "a device of nobody");
        program.give_device(DEVICE_SLOT, LOOPBACK).expect("a slot has a place");
        assert_eq!(action(), Action::Drop, "no NIC");
        let nic = Nic { ifindex: LOOPBACK, mac: rules().mac, mtu: 1500, way_out: WayOut::Packet };
        program.set_nic(&nic).expect("a place for the NIC");
        assert_eq!(action(), Action::Pass);
        assert!(program.take_device(DEVICE_SLOT, LOOPBACK).expect("the maps can be written"));
        assert_eq!(action(), Action::Drop, "a device that was taken");
        assert!(!program.take_device(DEVICE_SLOT, LOOPBACK).expect("the maps can be written"));
    });
    entered.expect("root may enter a namespace");
}

#[test]
fn a_cleared_slot_is_as_new() {
    beside_stack(|program| {
        let frame =
            golden_frames().into_iter().find(|golden| golden.name == "ipv4-tcp").expect("there").frame;
        program.set_rate(DEVICE_SLOT, Some(Rate { bytes_per_s: 1000, burst_bytes: 0 })).expect("a rate");
        run(program, &frame);
        program.clear_slot(DEVICE_SLOT).expect("a slot can be cleared");
        assert_eq!(program.stack_counters(DEVICE_SLOT).expect("counters"), Default::default());
        assert_eq!([0; 3].map(|_| run(program, &frame)), [EgressVerdict::Sent; 3], "no rate is left");
    });
}

#[test]
fn a_burst_is_as_long_as_it_may_be() {
    beside_stack(|program| {
        let frame =
            golden_frames().into_iter().find(|golden| golden.name == "ipv4-tcp").expect("there").frame;
        let burst_bytes = 10 * frame.len() as u32;
        program.set_rate(DEVICE_SLOT, Some(Rate { bytes_per_s: 1000, burst_bytes })).expect("a rate");
        let start = Instant::now();
        let sent = (0..40).filter(|_| run(program, &frame) == EgressVerdict::Sent).count() as u128;
        let filled = start.elapsed().as_millis() / frame.len() as u128;
        assert!(
            (11..=12 + filled).contains(&sent),
            "{sent} of 40 frames left at once, {filled} for the time"
        );
    });
}
