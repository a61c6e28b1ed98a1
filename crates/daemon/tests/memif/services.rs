//! Stacks and services on the same queues: each comes and goes beside the others.

use tidegate_mux::registry::Grade;

use crate::world::World;

#[test]
fn a_service_comes_and_goes_beside_a_stack() {
    let world = World::new();
    let _stack = world.echo(Grade::Memif, 7001, "stack");
    world.await_answer(7001, "stack");
    for _ in 0..3 {
        world.serve("web", 80, None);
        assert_eq!(world.page(80), "web");
        world.await_answer(7001, "stack");
        world.end_service("web");
        world.await_answer(7001, "stack");
    }
}

#[test]
fn a_stack_comes_and_goes_beside_a_service() {
    let world = World::new();
    world.serve("web", 80, None);
    for _ in 0..3 {
        let stack = world.echo(Grade::Memif, 7001, "stack");
        world.await_answer(7001, "stack");
        assert_eq!(world.page(80), "web");
        drop(stack);
        assert_eq!(world.page(80), "web");
    }
    world.end_service("web");
}

#[test]
fn two_services_share_a_queue() {
    let world = World::new();
    world.serve("one", 80, None);
    world.serve("two", 81, None);
    assert_eq!((world.page(80), world.page(81)), ("one".into(), "two".into()));
    world.end_service("one");
    assert_eq!(world.page(81), "two");
    world.serve("one", 80, None);
    assert_eq!((world.page(80), world.page(81)), ("one".into(), "two".into()));
    world.end_service("two");
    assert_eq!(world.page(80), "one");
}

#[test]
fn frames_for_a_stack_cross_from_other_workers() {
    let world = World::made(None, 2);
    world.serve("web", 80, Some(2));
    let _stacks = [world.echo(Grade::Memif, 7001, "first"), world.echo(Grade::Memif, 7002, "second")];
    // The flow, and with it the peer's port, chooses the queue: both are used by some.
    for _ in 0..20 {
        world.await_answer(7001, "first");
        world.await_answer(7002, "second");
        assert_eq!(world.page(80), "web");
    }
}
