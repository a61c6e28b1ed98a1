//! A daemon that is started again: frames flow on meanwhile, and owners keep what they have.

use std::time::Duration;

use tidegate_mux::Keeper;

use crate::world::{Echo, World, udp};

#[test]
fn frames_flow_through_a_restart_and_the_owner_keeps_its_lease() {
    let mut world = World::new();
    let (mut stack, lost) = (world.attach(), world.attach());
    let _echo = Echo::start(&mut stack, "stack");
    stack.bind(udp(7001)).expect("free");
    lost.bind(udp(7002)).expect("free");
    world.await_answer(7001, "stack");
    assert!(!stack.is_orphaned());
    world.stop();
    assert!(stack.is_orphaned());
    assert_eq!(world.ask(7001).as_deref(), Some("stack"), "nobody is needed for frames to flow");
    world.start();
    assert_eq!(world.ask(7001).as_deref(), Some("stack"));
    let slot = stack.place().slot;
    stack.reattach(&world.socket()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(stack.place().slot, slot);
    stack.bind(udp(7003)).expect("the lease is its own");
    assert_eq!(world.ask(7003).as_deref(), Some("stack"));
    let said = stack.bind(udp(7002)).unwrap_err().to_string();
    assert!(said.contains("stack 1 has it"), "kept for ten seconds: {said}");
    drop(stack);
}

#[test]
fn a_kept_stack_is_claimed_back_without_being_asked() {
    let mut world = World::new();
    let mut stack = world.attach();
    let _echo = Echo::start(&mut stack, "stack");
    stack.bind(udp(7001)).expect("free");
    world.await_answer(7001, "stack");
    let keeper = Keeper::new(stack, &world.socket()).expect("a thread");
    world.stop();
    world.start();
    // What nobody claims is taken away after ten seconds.
    std::thread::sleep(Duration::from_secs(12));
    assert_eq!(world.ask(7001).as_deref(), Some("stack"));
    drop(keeper);
    let other = world.attach();
    let mut said = None;
    for _ in 0..100 {
        said = other.bind(udp(7001)).err();
        if said.is_none() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("what a keeper that is dropped had is free again: {said:?}");
}
