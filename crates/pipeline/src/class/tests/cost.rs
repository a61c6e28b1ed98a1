//! What a decision costs: `next` and `account` together, in nanoseconds, for trees of depth 0 to 3. It
//! prints and asserts nothing of it; run it by name with `--ignored --nocapture`, optimised.

use super::*;
use std::hint::black_box;
use std::time::Instant;

const RUNS: u64 = 1_000_000;
const ROUNDS: usize = 15;

/// The best of several rounds, in nanoseconds a decision.
fn ns_per_decision(tree: &mut ClassTree, did_work: bool) -> f64 {
    let mut best = f64::MAX;
    let mut now = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..RUNS {
            now += 100;
            if let Some(task) = black_box(&mut *tree).next(Ticks(now)) {
                let used = Usage { count: 1, cycles: now & 1023, packets: 32, bits: 15_352 + (now & 8) };
                tree.account(task, used, Ticks(now), did_work);
            }
        }
        best = best.min(start.elapsed().as_nanos() as f64 / RUNS as f64);
    }
    best
}

fn flat(policy: Policy, count: u32) -> ClassTree {
    let mut tree = tree();
    let root = add(&mut tree, "root", None, policy, Position::None);
    fill(&mut tree, root, policy, 0..count);
    tree
}

fn fill(tree: &mut ClassTree, parent: ClassId, policy: Policy, tasks: std::ops::Range<u32>) {
    for task in tasks {
        add(tree, &format!("task{task}"), Some(parent), leaf(task), position(policy, task));
    }
}

fn position(policy: Policy, number: u32) -> Position {
    match policy {
        Policy::Priority => Position::Priority(i64::from(number)),
        Policy::WeightedFair(_) => Position::Share(1 + i64::from(number)),
        _ => Position::None,
    }
}

/// Weighted fair over limits (far away) over priority over leaves: figure 5.8's shape.
fn figure() -> ClassTree {
    let mut tree = tree();
    let root = add(&mut tree, "root", None, Policy::WeightedFair(Resource::Bit), Position::None);
    for vm in 0..2 {
        let never = bit_limit(1 << 60, 1 << 60);
        let limit = add(&mut tree, &format!("vm{vm}"), Some(root), never, Position::Share(1));
        let group = add(&mut tree, &format!("group{vm}"), Some(limit), Policy::Priority, Position::None);
        fill(&mut tree, group, Policy::Priority, 2 * vm..2 * vm + 2);
    }
    tree
}

/// A rate limit that stops its class after each run: a timer a decision.
fn throttling() -> ClassTree {
    let mut tree = tree();
    let root = add(&mut tree, "root", None, Policy::RoundRobin, Position::None);
    for number in 0..4 {
        // 15,360 bits every 400 ns at most.
        let limit = add(
            &mut tree,
            &format!("limit{number}"),
            Some(root),
            bit_limit(38_400_000_000, 0),
            Position::None,
        );
        fill(&mut tree, limit, Policy::RoundRobin, number..number + 1);
    }
    tree
}

#[test]
#[ignore = "prints times: for a quiet machine"]
#[expect(clippy::print_stdout, reason = "times are for a reader")]
fn ns_a_decision() {
    let fair = Policy::WeightedFair(Resource::Bit);
    let mut lone = tree();
    add(&mut lone, "only", None, leaf(0), Position::None);
    let mut chain = tree();
    let root = add(&mut chain, "root", None, Policy::RoundRobin, Position::None);
    let limit = add(&mut chain, "limit", Some(root), bit_limit(1 << 60, 1 << 60), Position::None);
    fill(&mut chain, limit, Policy::RoundRobin, 0..1);
    let mut trees = [
        ("one leaf", lone),
        ("round_robin of 1", flat(Policy::RoundRobin, 1)),
        ("round_robin of 8", flat(Policy::RoundRobin, 8)),
        ("priority of 8", flat(Policy::Priority, 8)),
        ("weighted_fair of 2", flat(fair, 2)),
        ("weighted_fair of 8", flat(fair, 8)),
        ("weighted_fair of 64", flat(fair, 64)),
        ("round_robin, rate_limit, leaf", chain),
        ("figure 5.8: weighted_fair, rate_limit, priority, leaf", figure()),
        ("four rate limits, each stopped after each run", throttling()),
    ];
    for (name, tree) in &mut trees {
        println!("{:7.1} ns  {name}", ns_per_decision(tree, true));
    }
    println!("{:7.1} ns  one leaf, nothing found", ns_per_decision(&mut trees[0].1, false));
    println!("{:7.1} ns  round_robin of 8, nothing found", ns_per_decision(&mut trees[2].1, false));
    println!("{:7.1} ns  weighted_fair of 8, nothing found", ns_per_decision(&mut trees[5].1, false));
}
