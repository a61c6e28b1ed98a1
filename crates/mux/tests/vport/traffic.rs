//! Frames between the wire and stacks.

use tidegate_bpf::{Rate, WayOut};
use tidegate_wire::egress::EgressVerdict;

use crate::world::{QUIET, WAIT, World, golden, segment_from, segment_to};

fn own_frames_go_both_ways(way_out: WayOut) {
    let world = World::new(way_out);
    let wire = world.wire();
    let (vport, mut stack) = world.attach(3);
    let (to, from) = (segment_to(3), segment_from(3));
    wire.send(&to);
    assert_eq!(stack.receive(WAIT), Some(to.clone()));
    stack.send(&from);
    assert_eq!(wire.receive(WAIT), Some(from.clone()));

    let counters = vport.counters().expect("counters can be read");
    assert_eq!((counters.to_frames, counters.to_bytes), (1, to.len() as u64));
    assert_eq!((counters.from_frames(EgressVerdict::Sent), counters.from_bytes), (1, from.len() as u64));
    assert_eq!(counters.dropped_frames(), 0);
}

#[test]
fn own_frames_go_both_ways_as_packets() {
    own_frames_go_both_ways(WayOut::Packet);
}

#[test]
fn own_frames_go_both_ways_by_xdp() {
    own_frames_go_both_ways(WayOut::Xdp);
}

fn nothing_else_gets_out(way_out: WayOut) {
    let world = World::new(way_out);
    let wire = world.wire();
    let (vport, mut stack) = world.attach(3);
    let (_other, _stack) = world.attach(4);
    let hostile =
        ["ipv4-ssh", "arp-spoof", "broadcast", "vlan", "ipv4-loose-source-route", "ipv4-fragment-first"];
    for name in hostile {
        stack.send(&golden("egress", name));
    }
    stack.send(&segment_from(4));
    // What comes out next is what was sent last.
    stack.send(&segment_from(3));
    assert_eq!(wire.receive(WAIT), Some(segment_from(3)));
    assert_eq!(wire.receive(QUIET), None);
    let counters = vport.counters().expect("counters can be read");
    assert_eq!(counters.dropped_frames(), hostile.len() as u64 + 1);
    assert_eq!(counters.from_frames(EgressVerdict::NotOwner), 2, "SSH and the neighbour");
}

#[test]
fn nothing_else_gets_out_as_packets() {
    nothing_else_gets_out(WayOut::Packet);
}

#[test]
fn nothing_else_gets_out_by_xdp() {
    nothing_else_gets_out(WayOut::Xdp);
}

#[test]
fn a_stack_gets_its_own_only() {
    let world = World::new(WayOut::Packet);
    let wire = world.wire();
    let ((_one, mut first), (_other, mut second)) = (world.attach(1), world.attach(2));
    wire.send(&segment_to(2));
    wire.send(&segment_to(7));
    wire.send(&segment_to(1));
    assert_eq!(first.receive(WAIT), Some(segment_to(1)));
    assert_eq!(second.receive(WAIT), Some(segment_to(2)));
    assert_eq!((first.receive(QUIET), second.receive(QUIET)), (None, None));
}

#[test]
fn a_rate_holds_back_one_stack_and_no_other() {
    let world = World::new(WayOut::Packet);
    let wire = world.wire();
    let ((limited, mut first), (_free, mut second)) = (world.attach(1), world.attach(2));
    world.program.set_rate(1, Some(Rate { bytes_per_s: 1000, burst_bytes: 0 })).expect("a slot has a rate");
    for _ in 0..20 {
        first.send(&segment_from(1));
    }
    second.send(&segment_from(2));
    let of_second = |frame: &Vec<u8>| *frame == segment_from(2);
    assert!(std::iter::from_fn(|| wire.receive(WAIT)).any(|frame| of_second(&frame)));
    let counters = limited.counters().expect("counters can be read");
    let over = counters.from_frames(EgressVerdict::OverRate);
    assert!(over > 0 && over + counters.from_frames(EgressVerdict::Sent) == 20, "{counters:?}");
}
