//! The program against the reference: golden packets cut and changed at random, and plain noise.

use std::sync::OnceLock;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};
use tidegate_bpf::{Reason, XdpProgram};

use crate::golden::golden_packets;
use crate::reference::{Registered, classify};
use crate::support::{beside_socket, registered, run};

/// The kernel refuses shorter frames.
const FRAME_LEN_MIN: usize = 14;

fn golden_frames() -> &'static [Vec<u8>] {
    static FRAMES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    FRAMES.get_or_init(|| golden_packets().into_iter().map(|packet| packet.frame).collect())
}

fn assert_same(program: &XdpProgram, registered: &Registered, frame: &[u8]) -> Result<Reason, TestCaseError> {
    let expected = classify(frame, registered);
    let (_, reason) = run(program, frame);
    prop_assert_eq!(reason, expected, "frame {:02x?}", frame);
    Ok(reason)
}

fn check(cases: u32, frames: impl Strategy<Value = Vec<u8>> + Send) {
    let registered = registered();
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    beside_socket(move |program, _receiver| {
        TestRunner::new(config)
            .run(&frames, |frame| assert_same(program, &registered, &frame).map(drop))
            .unwrap_or_else(|failure| panic!("{failure}"));
    });
}

/// Values that headers turn on: lengths, versions, protocols, types, ports.
fn telling_byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        any::<u8>(),
        select(&[0_u8, 1, 3, 4, 6, 8, 11, 12, 17, 20, 40, 44, 58, 80, 0x45, 0x46, 0x60, 0x81, 0x88][..]),
    ]
}

/// Frames with some bytes changed, some of them cut.
pub(crate) fn changed(frames: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let changes = proptest::collection::vec((any::<Index>(), telling_byte()), 0..4);
    let len = prop_oneof![3 => Just(None), 1 => any::<Index>().prop_map(Some)];
    (frames, changes, len).prop_map(|(mut frame, changes, len)| {
        for (index, byte) in changes {
            let at = index.index(frame.len());
            frame[at] = byte;
        }
        if let Some(len) = len {
            frame.truncate(FRAME_LEN_MIN + len.index(frame.len() - FRAME_LEN_MIN + 1));
        }
        frame
    })
}

/// Noise behind an Ethernet header, from `source`, that promises something.
pub(crate) fn noise(source: [u8; 6]) -> impl Strategy<Value = Vec<u8>> {
    let ethertype = select(&[[0x08, 0x00], [0x86, 0xdd], [0x81, 0x00], [0x88, 0xa8], [0x08, 0x06]][..]);
    (ethertype, proptest::collection::vec(any::<u8>(), 0..128)).prop_map(move |(ethertype, noise)| {
        let mut frame = vec![2; 6];
        frame.extend(source);
        frame.extend(ethertype);
        frame.extend(noise);
        frame
    })
}

#[test]
fn golden_packets_are_classified_alike_at_every_length() {
    let registered = registered();
    beside_socket(|program, _receiver| {
        for frame in golden_frames() {
            for len in FRAME_LEN_MIN..=frame.len() {
                assert_same(program, &registered, &frame[..len])
                    .unwrap_or_else(|failure| panic!("{failure}"));
            }
        }
    });
}

#[test]
fn changed_golden_packets_are_classified_alike() {
    check(8192, changed(select(golden_frames())));
}

#[test]
fn noise_is_classified_alike() {
    check(4096, noise([2; 6]));
}
