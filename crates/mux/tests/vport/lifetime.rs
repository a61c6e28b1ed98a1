//! What keeps a veth, and what removes it.

use std::time::Instant;

use tidegate_bpf::{Reason, WayOut};
use tidegate_sys::netlink::Netlink;

use crate::world::{QUIET, WAIT, World, segment_from, segment_to};

/// Names of the host's ends that there are.
fn host_ends(world: &World) -> Vec<String> {
    let links =
        Netlink::open_in(&world.host).expect("a namespace has rtnetlink").links().expect("links are listed");
    links.into_iter().map(|link| link.name).filter(|name| name.starts_with("tgv")).collect()
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed().as_secs() < 20, "waited 20 s for {what}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_dropped_veth_is_gone_though_its_owner_lives() {
    let world = World::new(WayOut::Packet);
    let wire = world.wire();
    let (vport, mut stack) = world.attach(5);
    assert_eq!(host_ends(&world).len(), 1);
    drop(vport);
    assert_eq!(host_ends(&world), [""; 0]);
    assert_eq!(world.program.given_devices().expect("the map can be read"), []);
    stack.send(&segment_from(5));
    assert_eq!(wire.receive(QUIET), None);
    wire.send(&segment_to(5));
    let absent = || world.program.counters().expect("counters can be read").of(Reason::SlotAbsent);
    wait_until("the host to get the frame", || absent() == 1);
}

#[test]
fn an_owner_that_dies_takes_its_veth_with_it() {
    let world = World::new(WayOut::Packet);
    let (vport, stack) = world.attach(5);
    drop(stack);
    wait_until("the pair to go", || host_ends(&world).is_empty());
    drop(vport);
}

#[test]
fn a_veth_outlives_who_made_it_and_is_found_again() {
    let world = World::new(WayOut::Packet);
    let wire = world.wire();
    let (vport, mut stack) = world.attach(5);
    // As if the process had been killed: nothing of it is cleaned up.
    std::mem::forget(vport);
    wire.send(&segment_to(5));
    assert_eq!(stack.receive(WAIT), Some(segment_to(5)));
    let adopt =
        |slot| world.host.run(|| world.vports.adopt(slot)).expect("root enters").expect("links are listed");
    assert!(adopt(6).is_none());
    let found = adopt(5).expect("the owner holds it");
    stack.send(&segment_from(5));
    assert_eq!(wire.receive(WAIT), Some(segment_from(5)));
    drop(found);
    assert_eq!(host_ends(&world), [""; 0]);
    assert!(adopt(5).is_none());
}

#[test]
fn a_slot_can_be_had_again() {
    let world = World::new(WayOut::Packet);
    let wire = world.wire();
    drop(world.attach(5));
    let again = world.host.run(|| world.vports.create(5)).expect("root enters namespaces");
    let (vport, socket) = again.unwrap_or_else(|error| panic!("{error}"));
    vport.await_running().expect("a veth has carrier");
    assert_eq!(vport.counters().expect("counters can be read"), Default::default());
    let mut stack = crate::world::Stack::open(5, world.vports.mtu(), socket);
    stack.send(&segment_from(5));
    assert_eq!(wire.receive(WAIT), Some(segment_from(5)));
}

/// TIDEGATE_TEST_VPORTS=1024 makes as many as there are slots, and says how long it took.
#[test]
fn many_stacks_share_a_nic() {
    let count = std::env::var("TIDEGATE_TEST_VPORTS").map_or(64, |text| text.parse().expect("a number"));
    let world = World::new(WayOut::Packet);
    let wire = world.wire();
    let start = Instant::now();
    let made: Vec<_> = (0..count).map(|slot| world.create(slot)).collect();
    eprintln!("{count} veths in {:?}", start.elapsed());
    for (slot, (vport, socket)) in (0..).zip(made) {
        vport.await_running().expect("a veth has carrier");
        let mut stack = crate::world::Stack::open(slot, world.vports.mtu(), socket);
        wire.send(&segment_to(slot));
        assert_eq!(stack.receive(WAIT), Some(segment_to(slot)), "to stack {slot}");
        stack.send(&segment_from(slot));
        assert_eq!(wire.receive(WAIT), Some(segment_from(slot)), "from stack {slot}");
    }
}
