//! Deficit round robin: bytes are shared alike whatever the frames' lengths.

use super::*;
use crate::rig::{Rig, packet};

fn udp(flow: u16, payload_len: usize) -> Vec<u8> {
    packet(17, (1, flow), (2, 53), 0, &vec![0; payload_len])
}

fn flow_of(frame: &[u8]) -> u16 {
    u16::from_be_bytes([frame[34], frame[35]])
}

#[test]
fn flows_of_large_and_small_frames_share_bytes() {
    let mut rig = Rig::with_gates(Drr::new(DrrParams::default()).unwrap(), 1, 1);
    for _ in 0..1000 {
        rig.feed(0, &[&udp(1, 58)]);
    }
    for _ in 0..500 {
        rig.feed(0, &[&udp(2, 958)]);
    }
    let mut bytes = [0_usize; 3];
    for turn in 0..20 {
        for (_, frame) in rig.round(Instant::from_millis(turn)) {
            bytes[usize::from(flow_of(&frame))] += frame.len();
        }
    }
    assert!(bytes[1] > 20_000);
    assert!(bytes[1].abs_diff(bytes[2]) <= 3000, "{bytes:?}");
    rig.retire();
}

#[test]
fn each_flow_keeps_its_order_and_all_leave() {
    let mut rig = Rig::with_gates(Drr::new(DrrParams { quantum: 10, ..DrrParams::default() }).unwrap(), 1, 1);
    for n in 0..100_u16 {
        rig.feed(0, &[&udp(n % 3, usize::from(n))]);
    }
    let mut seen: Vec<Vec<usize>> = vec![Vec::new(); 3];
    for turn in 0..10 {
        for (_, frame) in rig.round(Instant::from_millis(turn)) {
            seen[usize::from(flow_of(&frame))].push(frame.len());
        }
    }
    assert_eq!(seen.iter().map(Vec::len).sum::<usize>(), 100);
    assert!(seen.iter().all(|lens| lens.is_sorted()));
    assert_eq!(rig.module::<Drr>().counters()[..2], [("flows", 0), ("waiting", 0)]);
    rig.retire();
}

#[test]
fn a_full_flow_and_a_flow_too_many_are_dropped() {
    let params = DrrParams { num_flows: 2, max_flow_queue_size: 3, ..DrrParams::default() };
    let mut rig = Rig::with_gates(Drr::new(params).unwrap(), 1, 1);
    let frames: Vec<_> = [1, 1, 1, 1, 2, 3].map(|flow| udp(flow, 5)).to_vec();
    let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
    assert_eq!(rig.pass_into(0, &frames).len(), 4);
    assert_eq!(rig.drops(DropReason::RingFull), 2);
    rig.retire();
}

#[test]
fn wrong_parameters_say_what_is_wrong() {
    let error = |params| Drr::new(params).err().unwrap().to_string();
    assert!(error(DrrParams { quantum: 0, ..DrrParams::default() }).contains("quantum"));
    assert!(error(DrrParams { num_flows: 0, ..DrrParams::default() }).contains("flows"));
    assert!(error(DrrParams { max_flow_queue_size: 0, ..DrrParams::default() }).contains("frames of a flow"));
}

#[test]
fn garbage_is_survived() {
    Rig::with_gates(Drr::new(DrrParams::default()).unwrap(), 1, 1).survives_garbage(1, &udp(1, 50), 20);
}
