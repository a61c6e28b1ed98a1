//! The tree against its contract, and the load that the tests put on it.

mod changes;
mod cost;
mod errors;
mod figure_5_8;
mod limits;
mod policies;
mod random_changes;

use super::{ClassId, ClassTree, LeafId, Policy, Position, Resource, Ticks, Usage};
use tidegate_base::Rng;

/// The clock of the tests: nanoseconds.
const TICKS_PER_S: u64 = 1_000_000_000;

fn tree() -> ClassTree {
    ClassTree::new(0, TICKS_PER_S)
}

fn leaf(number: u32) -> Policy {
    Policy::Leaf(LeafId(number))
}

fn bit_limit(limit: u64, max_burst: u64) -> Policy {
    Policy::RateLimit { resource: Resource::Bit, limit, max_burst }
}

fn add(
    tree: &mut ClassTree,
    name: &str,
    parent: Option<ClassId>,
    policy: Policy,
    position: Position,
) -> ClassId {
    tree.add(name, parent, policy, position).unwrap()
}

/// A run of `packets` packets of `bits` together.
fn run_of(packets: u64, bits: u64) -> Usage {
    Usage { count: 1, cycles: bits / 8 + 100, packets, bits }
}

/// A batch of up to 32 packets of mixed sizes.
fn mixed_batch(rng: &mut Rng) -> Usage {
    let packets = 1 + rng.below(32);
    let bits = (0..packets).map(|_| 8 * [60, 60, 576, 1514][rng.below(4) as usize]).sum();
    run_of(packets, bits)
}

/// The most bits that [`mixed_batch`] makes.
const BATCH_BITS_MAX: u64 = 32 * 1514 * 8;

/// Runs what the tree says until `until`, on a machine that moves `bits_per_s`.
fn run_backlogged(tree: &mut ClassTree, rng: &mut Rng, bits_per_s: u64, now: &mut Ticks, until: Ticks) {
    while *now < until {
        let Some(leaf) = tree.next(*now) else {
            now.0 = tree.next_wake().map_or(until.0, |wake| wake.0.max(now.0 + 1));
            continue;
        };
        let used = mixed_batch(rng);
        now.0 += (used.bits * TICKS_PER_S).div_ceil(bits_per_s);
        tree.account(leaf, used, *now, true);
    }
}

fn bits_of(tree: &ClassTree, name: &str) -> u64 {
    tree.usage(tree.find(name).unwrap()).unwrap().bits
}

fn next_of(tree: &mut ClassTree) -> Option<u32> {
    tree.next(Ticks(0)).map(|leaf| leaf.0)
}

/// Runs a packet of 1,000 bits `count` times and tells which tasks ran.
fn run_times(tree: &mut ClassTree, count: usize) -> Vec<u32> {
    let mut order = Vec::new();
    while order.len() < count
        && let Some(leaf) = tree.next(Ticks(0))
    {
        tree.account(leaf, run_of(1, 1000), Ticks(0), true);
        order.push(leaf.0);
    }
    order
}
