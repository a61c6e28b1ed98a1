//! As many stacks at once as the paper has virtual ports.

use crate::world::{Echo, World, udp};

const COUNT: u16 = 254;

#[test]
fn two_hundred_and_fifty_four_stacks_at_once() {
    let world = World::new();
    let mut stacks: Vec<_> = (0..COUNT).map(|_| world.attach()).collect();
    for (stack, port) in stacks.iter().zip(8000..) {
        stack.bind(udp(port)).unwrap_or_else(|error| panic!("{port}: {error}"));
    }
    let (last, others) = stacks.split_last_mut().expect("some");
    let _echoes = [Echo::start(&mut others[0], "first"), Echo::start(last, "last")];
    world.await_answer(8000, "first");
    world.await_answer(8000 + COUNT - 1, "last");
}
