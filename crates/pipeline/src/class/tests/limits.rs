//! Rate limits: exact in the long run, and never more than the bucket holds beyond it in any window.

use super::*;
use proptest::prelude::*;
use tidegate_base::Rng;

/// A limited class with one task.
fn limited(ticks_per_s: u64, policy: Policy) -> (ClassTree, ClassId) {
    let mut tree = ClassTree::new(0, ticks_per_s);
    let id = add(&mut tree, "limit", None, policy, Position::None);
    add(&mut tree, "task", Some(id), leaf(0), Position::None);
    (tree, id)
}

/// Runs the task whenever it may, `late` ticks after the moment at most; where each run ended, and its bits.
fn runs(tree: &mut ClassTree, rng: &mut Rng, late: u64, until: u64, idle: f64) -> Vec<(u64, u64)> {
    let (mut now, mut runs) = (Ticks(rng.below(1000)), Vec::new());
    while now.0 < until {
        if rng.chance(idle) {
            now.0 += rng.below(100 * late + 1);
        }
        let Some(task) = tree.next(now) else {
            now.0 = tree.next_wake().unwrap().0 + rng.below(late + 1);
            continue;
        };
        let used = mixed_batch(rng);
        tree.account(task, used, now, true);
        runs.push((now.0, used.bits));
    }
    runs
}

#[test]
fn a_limit_of_zero_is_none() {
    let (mut tree, id) = limited(TICKS_PER_S, bit_limit(0, 0));
    assert_eq!(run_times(&mut tree, 100).len(), 100);
    assert_eq!((tree.next_wake(), tree.class(id).unwrap().is_throttled), (None, false));
}

#[test]
fn an_overdrawn_class_comes_back_when_it_is_level_to_the_tick() {
    let (mut tree, id) = limited(TICKS_PER_S, bit_limit(3, 0));
    tree.account(LeafId(0), run_of(1, 10), Ticks(100), true);
    assert!(tree.class(id).unwrap().is_throttled);
    assert_eq!(tree.next_wake(), Some(Ticks(100 + 3_333_333_334)));
    assert_eq!(tree.next(Ticks(3_333_333_433)), None);
    assert_eq!(tree.next(Ticks(3_333_333_434)), Some(LeafId(0)));
}

#[test]
fn a_raised_limit_frees_at_once_what_it_would_not_have_held() {
    let (mut tree, id) = limited(TICKS_PER_S, bit_limit(1, 0));
    tree.account(LeafId(0), run_of(1, 12_000), Ticks(0), true);
    assert_eq!(tree.next(Ticks(1_000_000)), None);
    tree.set_policy(id, bit_limit(1_000_000_000, 0)).unwrap();
    assert_eq!(tree.next_wake(), Some(Ticks(12_000)));
    assert_eq!(tree.next(Ticks(1_000_000)), Some(LeafId(0)));
    tree.account(LeafId(0), run_of(1, 12_000_000), Ticks(1_000_000), true);
    assert_eq!(tree.next(Ticks(1_000_001)), None);
    tree.set_policy(id, bit_limit(0, 0)).unwrap();
    assert_eq!(tree.next(Ticks(1_000_001)), Some(LeafId(0)));
}

#[test]
fn a_clock_that_steps_back_and_numbers_without_measure_do_no_harm() {
    let (mut tree, _) = limited(u64::MAX, bit_limit(u64::MAX, u64::MAX));
    for now in [u64::MAX, 0, 5, u64::MAX] {
        let used = Usage { count: u64::MAX, cycles: u64::MAX, packets: u64::MAX, bits: u64::MAX };
        tree.account(LeafId(0), used, Ticks(now), true);
        tree.next(Ticks(now));
    }
}

/// The clock of a real machine is no round number: nothing may be lost at any frequency.
#[test]
fn the_rate_is_exact_at_odd_frequencies_and_limits() {
    for (ticks_per_s, limit) in [(2_194_843_217, 999_999_937), (1_000_003, 77_777_777)] {
        let (mut tree, _) = limited(ticks_per_s, bit_limit(limit, 0));
        let late = (ticks_per_s / 1_000_000).max(1);
        let runs = runs(&mut tree, &mut Rng::new(6), late, 10 * ticks_per_s, 0.0);
        let (first, last) = (runs[0].0, runs[runs.len() - 1].0);
        let bits: u64 = runs[..runs.len() - 1].iter().map(|run| run.1).sum();
        let rate = bits as f64 / ((last - first) as f64 / ticks_per_s as f64);
        let error = rate / limit as f64 - 1.0;
        assert!(error.abs() < 0.001, "{ticks_per_s} {limit}: {error}");
    }
}

#[test]
fn every_resource_can_be_limited() {
    for resource in [Resource::Count, Resource::Cycle, Resource::Packet, Resource::Bit] {
        let limit = 1_000 * run_of(1, 1000).of(resource);
        let (mut tree, _) = limited(TICKS_PER_S, Policy::RateLimit { resource, limit, max_burst: 0 });
        let (mut now, mut count) = (Ticks(0), 0);
        while now.0 < 10 * TICKS_PER_S {
            if let Some(task) = tree.next(now) {
                tree.account(task, run_of(1, 1000), now, true);
                count += 1;
            } else {
                now = tree.next_wake().unwrap();
            }
        }
        assert!((9_999..=10_002).contains(&count), "{resource:?}: {count}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_window_sees_more_than_limit_burst_and_run(
        limit in 1_000_000_u64..10_000_000_000,
        max_burst in 0_u64..2_000_000,
        idle in prop::sample::select(vec![0.0, 0.02, 0.3]),
        seed: u64,
    ) {
        let (mut tree, _) = limited(TICKS_PER_S, bit_limit(limit, max_burst));
        let run_ticks = BATCH_BITS_MAX * TICKS_PER_S / limit;
        let runs = runs(&mut tree, &mut Rng::new(seed), run_ticks / 8, 200 * run_ticks, idle);
        let held = max_burst.max(BATCH_BITS_MAX) + BATCH_BITS_MAX;
        for first in 0..runs.len() {
            let mut bits = 0;
            for run in &runs[first..] {
                bits += run.1;
                let allowed = u128::from(run.0 - runs[first].0) * u128::from(limit) / u128::from(TICKS_PER_S);
                prop_assert!(u128::from(bits) <= allowed + u128::from(held) + 1);
            }
        }
    }

    /// However nested, with no work of any other class: the smallest limit on the way up holds, exactly.
    #[test]
    fn nested_limits_give_the_smallest(
        limits in prop::collection::vec(10_000_000_u64..1_000_000_000, 1..5),
        seed: u64,
    ) {
        let (mut tree, mut rng, mut now) = (tree(), Rng::new(seed), Ticks(0));
        let mut parent = None;
        for (depth, limit) in limits.iter().enumerate() {
            parent = Some(add(&mut tree, &format!("l{depth}"), parent, bit_limit(*limit, 0), Position::None));
        }
        add(&mut tree, "task", parent, leaf(0), Position::None);
        run_backlogged(&mut tree, &mut rng, 40_000_000_000, &mut now, Ticks(10 * TICKS_PER_S));
        let expected = *limits.iter().min().unwrap() as f64 * now.0 as f64 / TICKS_PER_S as f64;
        let apart = (bits_of(&tree, "task") as f64 - expected).abs();
        prop_assert!(apart <= expected * 0.001 + 2.0 * BATCH_BITS_MAX as f64, "{apart} of {expected}");
    }
}
