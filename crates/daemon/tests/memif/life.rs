//! Stacks come, have their frames, and go; the daemon is started again.

use std::time::Instant;

use tidegate_mux::registry::Grade;

use crate::world::{PATIENCE, World, udp};

#[test]
fn stacks_of_all_grades_share_a_nic_and_die_alone() {
    let world = World::new();
    let first = world.echo(Grade::Memif, 7001, "first");
    let second = world.echo(Grade::Memif, 7002, "second");
    let _third = world.echo(Grade::Veth, 7003, "third");
    for (port, name) in [(7001, "first"), (7002, "second"), (7003, "third"), (7001, "first")] {
        world.await_answer(port, name);
    }
    let counted = world.counted(second.slot());
    assert_eq!(counted.grade, "memif");
    assert!(counted.to_packets > 0 && counted.from_packets > 0, "{counted:?}");
    assert_eq!(counted.from_drops, []);
    first.attachment.release(udp(7001)).expect("its own");
    assert_eq!(world.ask(7001), None);
    first.attachment.bind(udp(7001)).expect("free again");
    world.await_answer(7001, "first");
    let path = first.attachment.place().path.clone();
    drop(first);
    // The lease ends when the mux has read the connection's end; then the port and the memif are gone.
    let start = Instant::now();
    while let Err(error) = second.attachment.bind(udp(7001)) {
        assert!(start.elapsed() < PATIENCE, "{error}");
    }
    assert!(!std::path::Path::new(&path).exists());
    world.await_answer(7001, "second");
    world.await_answer(7003, "third");
}

#[test]
fn a_nic_is_the_hosts_alone_again_when_the_last_stack_has_gone() {
    let world = World::new();
    for _ in 0..3 {
        let stack = world.echo(Grade::Memif, 7001, "a stack");
        world.await_answer(7001, "a stack");
        drop(stack);
        let start = Instant::now();
        while !world.controller().list_stacks().expect("a list").stacks.is_empty() {
            assert!(start.elapsed() < PATIENCE, "the lease does not end");
        }
        let workers = world.controller().list_workers(Default::default()).expect("a list").workers_status;
        assert_eq!(workers.len(), 0, "{workers:?}");
    }
}

#[test]
fn a_restarted_daemon_carries_on_for_who_comes_back() {
    let mut world = World::new();
    let mut stack = world.echo(Grade::Memif, 7001, "stack");
    world.await_answer(7001, "stack");
    let slot = stack.slot();
    world.stop();
    assert!(stack.attachment.is_orphaned());
    world.start();
    let socket = world.socket();
    stack.attachment.reattach(&socket).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(stack.slot(), slot);
    world.await_answer(7001, "stack");
    stack.attachment.bind(udp(7002)).expect("the lease is its own");
    world.await_answer(7002, "stack");
}

#[test]
fn dozens_of_stacks_at_once() {
    const COUNT: u16 = 40;
    let world = World::new();
    let stacks: Vec<_> = (0..COUNT).map(|n| world.echo(Grade::Memif, 8000 + n, "one of many")).collect();
    world.await_answer(8000, "one of many");
    world.await_answer(8000 + COUNT - 1, "one of many");
    for stack in &stacks {
        assert_eq!(world.counted(stack.slot()).from_drops, []);
    }
}
