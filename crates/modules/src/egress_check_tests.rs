//! The golden frames of the kernel's check, any frames, and the rate.

use super::*;
use crate::rig::{Rig, survives};
use proptest::prelude::*;
use proptest::sample::select;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use tidegate_wire::MacAddr;
use tidegate_wire::egress::Transport;

const RULES: EgressRules = EgressRules { mac: MacAddr([2, 0, 0, 0, 0, 1]), mtu: 1500 };

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn source(transport: Transport, text: &str, port: u16) -> Source {
    Source { transport, address: address(text), port }
}

/// The stack that the golden frames are from.
fn sources() -> [Source; 3] {
    [
        source(Transport::Tcp, "192.0.2.1", 9000),
        source(Transport::Udp, "2001:db8::1", 9053),
        source(Transport::Tcp, "0.0.0.0", 9100),
    ]
}

fn check_of_stack() -> EgressCheck {
    let mut check = EgressCheck::new(RULES, ["192.0.2.1", "2001:db8::1"].map(address), 7);
    sources().into_iter().for_each(|source| check.give(source));
    check
}

/// The frames of the kernel's table, with what becomes of each.
fn golden() -> &'static [(String, EgressVerdict, Vec<u8>)] {
    static FRAMES: OnceLock<Vec<(String, EgressVerdict, Vec<u8>)>> = OnceLock::new();
    FRAMES.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bpf/tests/egress");
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        paths.filter_map(|path| parse(&path)).collect()
    })
}

/// Nothing for those whose verdict is of a moment.
fn parse(path: &Path) -> Option<(String, EgressVerdict, Vec<u8>)> {
    let text = fs::read_to_string(path).unwrap();
    let fact = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    if fact("rate:").is_some() {
        return None;
    }
    let verdict = EgressVerdict::ALL.into_iter().find(|it| Some(it.name()) == fact("expect:")).unwrap();
    let lines = text.lines().filter(|line| !line.contains(['#', ':']));
    let bytes = lines.flat_map(str::split_whitespace).map(|byte| u8::from_str_radix(byte, 16).unwrap());
    Some((path.display().to_string(), verdict, bytes.collect()))
}

#[test]
fn golden_frames_become_what_they_do_in_the_kernel() {
    assert!(golden().len() > 80);
    for (name, verdict, frame) in golden() {
        let mut rig = Rig::with_gates(check_of_stack(), 1, 1);
        let passed = rig.pass_into(0, &[frame]);
        assert_eq!(rig.counter(verdict.name()), 1, "{name}");
        assert_eq!(passed.len(), usize::from(*verdict == EgressVerdict::Sent), "{name}");
        assert_eq!(rig.drops(DropReason::Policy), u64::from(*verdict != EgressVerdict::Sent), "{name}");
        rig.retire();
    }
}

proptest! {
    /// Whatever is sent: what leaves keeps the rules, is as it was sent, and each frame is counted once.
    #[test]
    fn nothing_leaves_that_breaks_a_rule(
        changed in prop::collection::vec(
            (select((0..golden().len()).collect::<Vec<_>>()), prop::collection::vec((any::<usize>(), any::<u8>()), 0..4)),
            1..64,
        ),
    ) {
        let frames: Vec<Vec<u8>> = changed.into_iter().map(|(at, changes)| {
            let mut frame = golden()[at].2.clone();
            for (at, byte) in changes {
                let at = at % frame.len();
                frame[at] = byte;
            }
            frame
        }).collect();
        let mut rig = Rig::with_gates(check_of_stack(), 1, 1);
        let passed = rig.pass_into(0, &frames.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let own = check_of_stack().judge.own;
        let may = |frame: &&Vec<u8>| check(frame, &RULES, &own) == EgressVerdict::Sent;
        let wanted: Vec<(usize, Vec<u8>)> = frames.iter().filter(may).map(|frame| (0, frame.clone())).collect();
        prop_assert_eq!(&passed, &wanted);
        let tally = rig.module::<EgressCheck>().tally();
        prop_assert_eq!(tally.frames.iter().sum::<u64>(), frames.len() as u64);
        prop_assert_eq!(tally.sent_bytes, wanted.iter().map(|(_, frame)| frame.len() as u64).sum::<u64>());
        rig.retire();
    }
}

#[test]
fn a_tuple_that_was_taken_is_not_sent_from() {
    let mut rig = Rig::with_gates(check_of_stack(), 1, 1);
    let (_, _, frame) = golden().iter().find(|(name, ..)| name.ends_with("/ipv4-tcp.hex")).unwrap();
    assert_eq!(rig.pass_into(0, &[frame]).len(), 1);
    let mine = sources()[0];
    rig.module::<EgressCheck>().take(&mine);
    assert_eq!(rig.pass_into(0, &[frame]).len(), 0);
    assert_eq!(rig.counter("not_owner"), 1);
    rig.retire();
}

#[test]
fn what_is_over_the_rate_is_dropped_and_what_was_refused_costs_nothing() {
    let mut rig = Rig::with_gates(check_of_stack(), 1, 1);
    let (_, _, own) = golden().iter().find(|(name, ..)| name.ends_with("/ipv4-tcp.hex")).unwrap();
    let (_, _, foreign) = golden().iter().find(|(name, ..)| name.ends_with("/ipv4-ssh.hex")).unwrap();
    let rate = Rate { bytes_per_s: own.len() as u64 * 1000, burst_bytes: 0 };
    rig.module::<EgressCheck>().set_rate(Some(rate));
    // A frame a millisecond may pass; foreign ones are not paid for.
    for millis in 1..=100 {
        rig.feed(0, &[foreign, own, own, own]);
        rig.round(Instant::from_millis(millis));
    }
    assert_eq!((rig.counter("sent"), rig.counter("over_rate"), rig.counter("not_owner")), (100, 200, 100));
    assert_eq!(rig.drops(DropReason::RateLimited), 200);
    rig.module::<EgressCheck>().set_rate(None);
    rig.feed(0, &[own, own]);
    assert_eq!(rig.round(Instant::from_millis(101)).len(), 2);
    rig.retire();
}

#[test]
fn garbage_is_survived() {
    survives(check_of_stack(), 0);
}
