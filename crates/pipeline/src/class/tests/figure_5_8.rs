//! The policy of BESS's figure 5.8, in simulated time: two VMs share fairly, each up to 5 Gbit/s; in each,
//! interactive traffic (C1, C3) goes before bulk (C2, C4), up to 1 Gbit/s.

use super::*;

const GBIT: u64 = 1_000_000_000;
const SECONDS: u64 = 4;

/// Tasks 1 to 4 are C1 to C4.
fn figure(max_burst: u64) -> ClassTree {
    let mut tree = tree();
    let root = add(&mut tree, "root", None, Policy::WeightedFair(Resource::Bit), Position::None);
    for (vm, interactive, bulk) in [("vm1", 1, 2), ("vm2", 3, 4)] {
        let limit = add(&mut tree, vm, Some(root), bit_limit(5 * GBIT, max_burst), Position::Share(1));
        let group = add(&mut tree, &format!("{vm}_group"), Some(limit), Policy::Priority, Position::None);
        let first = add(
            &mut tree,
            &format!("{vm}_i"),
            Some(group),
            bit_limit(GBIT, max_burst),
            Position::Priority(0),
        );
        add(&mut tree, &format!("c{interactive}"), Some(first), leaf(interactive), Position::None);
        add(&mut tree, &format!("c{bulk}"), Some(group), leaf(bulk), Position::Priority(1));
    }
    tree
}

/// What C1 to C4 get a second, with those of `idle` blocked, on a machine that moves `capacity`.
fn rates(capacity: u64, idle: &[u32], max_burst: u64) -> [f64; 4] {
    let (mut tree, mut rng, mut now) = (figure(max_burst), Rng::new(58), Ticks(7));
    idle.iter().for_each(|task| tree.block(LeafId(*task)));
    run_backlogged(&mut tree, &mut rng, capacity, &mut now, Ticks(SECONDS * TICKS_PER_S));
    let rate = |name| bits_of(&tree, name) as f64 / (now.0 as f64 / TICKS_PER_S as f64);
    ["c1", "c2", "c3", "c4"].map(rate)
}

/// Each within `tolerance` of what is expected.
#[track_caller]
fn assert_near(rates: &[f64], gbit_per_s: &[f64], tolerance: f64) {
    for (rate, expected) in rates.iter().zip(gbit_per_s) {
        let expected = expected * GBIT as f64;
        assert!((rate - expected).abs() <= expected * tolerance, "{rates:?} instead of {gbit_per_s:?}");
    }
}

/// Limits within 0.1 %, and what is shared beside them within 1 %, with and without a burst.
#[track_caller]
fn assert_policy(capacity: u64, idle: &[u32], expected: [f64; 4]) {
    assert_policy_with(&[0, 1_000_000], capacity, idle, expected);
}

#[track_caller]
fn assert_policy_with(bursts: &[u64], capacity: u64, idle: &[u32], expected: [f64; 4]) {
    for &max_burst in bursts {
        let rates = rates(capacity, idle, max_burst);
        assert_near(&rates, &expected, 0.01);
        assert_near(&[rates[0], rates[2]], &[expected[0], expected[2]], 0.001);
        for (vm, expected) in [(rates[0] + rates[1], expected[0] + expected[1])]
            .into_iter()
            .chain([(rates[2] + rates[3], expected[2] + expected[3])])
            .filter(|(_, expected)| *expected == 5.0)
        {
            assert_near(&[vm], &[expected], 0.001);
        }
    }
}

#[test]
fn both_vms_meet_their_limits_where_there_is_room() {
    assert_policy(20 * GBIT, &[], [1.0, 4.0, 1.0, 4.0]);
}

#[test]
fn both_vms_share_what_there_is_where_there_is_less() {
    assert_policy(8 * GBIT, &[], [1.0, 3.0, 1.0, 3.0]);
}

/// C1 waits here for up to three runs of others, each nearly as long as its own: that is more than its bucket
/// holds without a burst.
#[test]
fn interactive_traffic_goes_first_where_there_is_hardly_anything() {
    assert_policy_with(&[1_000_000], 3 * GBIT, &[], [1.0, 0.5, 1.0, 0.5]);
}

#[test]
fn bulk_takes_what_idle_interactive_traffic_leaves() {
    assert_policy(20 * GBIT, &[1], [0.0, 5.0, 1.0, 4.0]);
    assert_policy(8 * GBIT, &[1], [0.0, 4.0, 1.0, 3.0]);
}

#[test]
fn one_vm_takes_what_the_other_leaves_up_to_its_limit() {
    assert_policy(8 * GBIT, &[3, 4], [1.0, 4.0, 0.0, 0.0]);
    assert_policy(4 * GBIT, &[3, 4], [1.0, 3.0, 0.0, 0.0]);
}

#[test]
fn interactive_traffic_alone_is_held_to_its_limit() {
    assert_policy(20 * GBIT, &[2, 4], [1.0, 0.0, 1.0, 0.0]);
}

/// C1 now and then has a batch to send, half a Gbit/s in all: it gets that, and C2 the rest of VM1's half.
#[test]
fn traffic_that_comes_and_goes_gets_what_it_asks_for() {
    let (mut tree, mut rng, mut now) = (figure(0), Rng::new(59), Ticks(0));
    let (mut waiting, mut arrived) = (Vec::new(), 0);
    while now.0 < SECONDS * TICKS_PER_S {
        while arrived < now.0 / 2 {
            let batch = mixed_batch(&mut rng);
            arrived += batch.bits;
            waiting.push(batch);
        }
        if waiting.is_empty() {
            tree.block(LeafId(1))
        } else {
            tree.unblock(LeafId(1))
        }
        let Some(task) = tree.next(now) else {
            now.0 += 1_000;
            continue;
        };
        let used = if task == LeafId(1) { waiting.pop().unwrap() } else { mixed_batch(&mut rng) };
        now.0 += (used.bits * TICKS_PER_S).div_ceil(8 * GBIT);
        tree.account(task, used, now, true);
    }
    let rates = ["c1", "c2", "c3", "c4"].map(|name| bits_of(&tree, name) as f64 / SECONDS as f64);
    assert_near(&rates, &[0.5, 3.5, 1.0, 3.0], 0.01);
}
