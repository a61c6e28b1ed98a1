//! Frames come to whom they belong, and the host answers again when an owner has ended.

use crate::world::{Echo, World, udp};
use tidegate_mux::registry::Grade;

#[test]
fn each_stack_gets_its_frames_beside_the_host() {
    let world = World::new();
    world.host_server(7000);
    let (mut first, mut second) = (world.attach(), world.attach());
    let _echoes = [Echo::start(&mut first, "first"), Echo::start(&mut second, "second")];
    first.bind(udp(7001)).expect("free");
    second.bind(udp(7002)).expect("free");
    for (port, wanted) in [(7001, "first"), (7002, "second"), (7000, "the host"), (7001, "first")] {
        world.await_answer(port, wanted);
    }
    first.release(udp(7001)).expect("its own");
    assert_eq!(world.ask(7001), None);
    world.await_answer(7002, "second");
}

#[test]
fn an_ended_lease_leaves_its_port_to_the_host() {
    let world = World::new();
    let (mut first, mut second) = (world.attach(), world.attach());
    let echo = Echo::start(&mut first, "first");
    let _other = Echo::start(&mut second, "second");
    first.bind(udp(7001)).expect("free");
    second.bind(udp(7002)).expect("free");
    world.await_answer(7001, "first");
    drop((echo, first));
    // The lease ends when the mux has read the connection's end.
    let third = world.attach();
    third.bind(udp(7001)).expect("given back");
    drop(third);
    let start = std::time::Instant::now();
    while world.host.run(|| std::net::UdpSocket::bind(("10.9.0.1", 7001)).is_err()).expect("root") {
        assert!(start.elapsed() < crate::world::PATIENCE, "the port does not come back");
    }
    world.host_server(7001);
    world.await_answer(7001, "the host");
    world.await_answer(7002, "second");
}

#[test]
fn a_queue_of_the_nic_can_be_a_stacks_own() {
    let world = World::new();
    let mut stack = world.try_attach(Grade::Queue).unwrap_or_else(|error| panic!("{error}"));
    let said = world.try_attach(Grade::Queue).unwrap_err().to_string();
    assert!(said.contains("queue 1") && said.contains("stack 0's"), "{said}");
    let _echo = Echo::start(&mut stack, "on a queue");
    stack.bind(udp(7001)).expect("free");
    // The peer's kernel chooses the queue by the sender's CPU or flow: some questions come in on the other one.
    world.await_answer(7001, "on a queue");
}
