//! Each policy by itself.

use super::*;
use proptest::prelude::*;
use tidegate_base::Rng;

fn group(policy: Policy, positions: &[Position]) -> (ClassTree, ClassId) {
    let mut tree = tree();
    let root = add(&mut tree, "root", None, policy, Position::None);
    for (number, position) in positions.iter().enumerate() {
        add(&mut tree, &format!("c{number}"), Some(root), leaf(number as u32), *position);
    }
    (tree, root)
}

fn shares(shares: &[i64]) -> Vec<Position> {
    shares.iter().map(|share| Position::Share(*share)).collect()
}

fn priorities(priorities: &[i64]) -> Vec<Position> {
    priorities.iter().map(|priority| Position::Priority(*priority)).collect()
}

#[test]
fn an_empty_tree_has_nothing_to_run() {
    let mut tree = tree();
    assert_eq!(tree.next(Ticks(0)), None);
    tree.account(LeafId(3), run_of(1, 1), Ticks(0), true);
    tree.block(LeafId(3));
    assert_eq!((tree.root(), tree.next_wake(), tree.iter().count()), (None, None, 0));
}

#[test]
fn a_lone_leaf_is_run_again_and_again_even_if_it_finds_nothing() {
    let mut tree = tree();
    let id = add(&mut tree, "only", None, leaf(9), Position::None);
    for _ in 0..3 {
        assert_eq!(next_of(&mut tree), Some(9));
        tree.account(LeafId(9), run_of(0, 0), Ticks(0), false);
    }
    assert_eq!(tree.usage(id).unwrap().count, 3);
    tree.block(LeafId(9));
    assert_eq!(next_of(&mut tree), None);
    tree.unblock(LeafId(9));
    assert_eq!(next_of(&mut tree), Some(9));
}

#[test]
fn round_robin_runs_each_in_turn() {
    let (mut tree, _) = group(Policy::RoundRobin, &[Position::None; 3]);
    assert_eq!(run_times(&mut tree, 7), [0, 1, 2, 0, 1, 2, 0]);
    tree.block(LeafId(1));
    assert_eq!(run_times(&mut tree, 4), [2, 0, 2, 0]);
    tree.unblock(LeafId(1));
    assert_eq!(run_times(&mut tree, 3), [2, 0, 1]);
}

#[test]
fn the_answer_stays_the_same_until_the_run_is_accounted() {
    let (mut tree, _) = group(Policy::RoundRobin, &[Position::None; 3]);
    assert_eq!([next_of(&mut tree), next_of(&mut tree)], [Some(0), Some(0)]);
}

#[test]
fn the_smallest_priority_goes_first_and_equals_take_turns() {
    let (mut tree, _) = group(Policy::Priority, &priorities(&[5, -1, 5, -1, i64::MAX]));
    assert_eq!(run_times(&mut tree, 4), [1, 3, 1, 3]);
    tree.block(LeafId(1));
    tree.block(LeafId(3));
    assert_eq!(run_times(&mut tree, 4), [0, 2, 0, 2]);
    tree.block(LeafId(0));
    tree.block(LeafId(2));
    assert_eq!(run_times(&mut tree, 2), [4, 4]);
}

#[test]
fn who_finds_nothing_to_do_keeps_nobody_from_working() {
    let (mut tree, _) = group(Policy::Priority, &priorities(&[0, 1, 2]));
    let mut order = Vec::new();
    for _ in 0..8 {
        let task = tree.next(Ticks(0)).unwrap();
        order.push(task.0);
        tree.account(task, run_of(1, 1000), Ticks(0), task.0 == 2);
    }
    assert_eq!(order, [0, 1, 2, 0, 1, 2, 0, 1]);
    tree.unblock(LeafId(0));
    assert_eq!(next_of(&mut tree), Some(0), "work has come: at once");
}

#[test]
fn all_find_nothing_and_are_asked_again() {
    let (mut tree, _) = group(Policy::WeightedFair(Resource::Bit), &shares(&[1, 1]));
    let mut counts = [0; 2];
    for _ in 0..10 {
        let task = tree.next(Ticks(0)).unwrap();
        counts[task.0 as usize] += 1;
        tree.account(task, run_of(0, 0), Ticks(0), false);
    }
    assert_eq!(counts, [5, 5]);
}

/// In one of two groups, the task that goes first never finds anything: the other one has all the group's share.
#[test]
fn looking_in_vain_costs_the_group_no_share() {
    let (mut tree, root) = group(Policy::WeightedFair(Resource::Bit), &shares(&[1]));
    let other = add(&mut tree, "other", Some(root), Policy::Priority, Position::Share(1));
    add(&mut tree, "idle", Some(other), leaf(7), Position::Priority(0));
    add(&mut tree, "busy", Some(other), leaf(8), Position::Priority(1));
    let mut rng = Rng::new(4);
    for _ in 0..100_000 {
        let task = tree.next(Ticks(0)).unwrap();
        let found = task != LeafId(7);
        let used = if found { mixed_batch(&mut rng) } else { run_of(0, 0) };
        tree.account(task, used, Ticks(0), found);
    }
    let apart = bits_of(&tree, "c0").abs_diff(bits_of(&tree, "busy"));
    assert!(apart <= 2 * BATCH_BITS_MAX, "{apart}");
}

#[test]
fn who_was_away_saved_nothing_up() {
    let (mut tree, _) = group(Policy::WeightedFair(Resource::Packet), &shares(&[1, 1]));
    tree.block(LeafId(0));
    run_times(&mut tree, 1000);
    tree.unblock(LeafId(0));
    let zeros = run_times(&mut tree, 100).into_iter().filter(|task| *task == 0).count();
    assert!((49..=52).contains(&zeros), "{zeros}");
}

#[test]
fn another_resource_starts_all_level() {
    let (mut tree, root) = group(Policy::WeightedFair(Resource::Bit), &shares(&[1, 1]));
    let task = tree.next(Ticks(0)).unwrap();
    tree.account(task, run_of(1, 1_000_000), Ticks(0), true);
    tree.set_policy(root, Policy::WeightedFair(Resource::Count)).unwrap();
    let zeros = run_times(&mut tree, 100).into_iter().filter(|task| *task == 0).count();
    assert_eq!(zeros, 50);
}

#[test]
fn a_leaf_that_is_blocked_for_a_time_comes_back_by_itself() {
    let (mut tree, _) = group(Policy::RoundRobin, &[Position::None; 2]);
    tree.block_until(LeafId(0), Ticks(500));
    tree.block_until(LeafId(1), Ticks(400));
    assert_eq!((tree.next(Ticks(399)), tree.next_wake()), (None, Some(Ticks(400))));
    assert_eq!(tree.next(Ticks(400)), Some(LeafId(1)));
    tree.block(LeafId(1));
    tree.block_until(LeafId(0), Ticks(450));
    assert_eq!((tree.next(Ticks(449)), tree.next(Ticks(450))), (None, Some(LeafId(0))));
    assert_eq!(tree.next_wake(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Stride scheduling's bound: two children are never further apart than a run of each.
    #[test]
    fn shares_are_proportional_at_every_moment(
        numbers in prop::collection::vec(1_i64..2000, 2..9),
        resource in prop::sample::select(vec![Resource::Count, Resource::Cycle, Resource::Packet, Resource::Bit]),
        seed: u64,
    ) {
        let (mut tree, _) = group(Policy::WeightedFair(resource), &shares(&numbers));
        let (mut rng, mut used) = (Rng::new(seed), vec![0.0; numbers.len()]);
        let run_max = run_of(32, BATCH_BITS_MAX).of(resource) as f64;
        for _ in 0..2000 {
            let task = tree.next(Ticks(0)).unwrap();
            let run = mixed_batch(&mut rng);
            tree.account(task, run, Ticks(0), true);
            used[task.0 as usize] += run.of(resource) as f64;
            let at: Vec<f64> = used.iter().zip(&numbers).map(|(used, share)| used / *share as f64).collect();
            for (i, j) in (0..at.len()).flat_map(|i| (0..i).map(move |j| (i, j))) {
                let bound = run_max / numbers[i] as f64 + run_max / numbers[j] as f64 + 1e-6;
                prop_assert!((at[i] - at[j]).abs() <= bound, "{i} {j}: {at:?}");
            }
        }
    }

    /// Others that come, go, and change hands do not disturb the shares of those that stay.
    #[test]
    fn shares_of_those_that_stay_are_not_disturbed(share in 1_i64..20, seed: u64) {
        let (mut tree, root) = group(Policy::WeightedFair(Resource::Bit), &shares(&[1, share]));
        let mut rng = Rng::new(seed);
        let other = add(&mut tree, "other", Some(root), Policy::RoundRobin, Position::Share(3));
        add(&mut tree, "guest", Some(other), leaf(7), Position::None);
        for step in 0..3000 {
            let guest = tree.find("guest").unwrap();
            match rng.below(12) {
                0 => tree.reparent(guest, Some(root), Position::Share(1 + step % 9)).unwrap(),
                1 => tree.reparent(guest, Some(other), Position::None).unwrap(),
                2 => tree.block(LeafId(7)),
                3 => tree.unblock(LeafId(7)),
                4 => {
                    tree.remove(guest).unwrap();
                    add(&mut tree, "guest", Some(other), leaf(7), Position::None);
                }
                5 => tree.set_position(other, Position::Share(1 + step % 5)).unwrap(),
                _ => {}
            }
            let task = tree.next(Ticks(0)).unwrap();
            tree.account(task, mixed_batch(&mut rng), Ticks(0), true);
        }
        let apart = bits_of(&tree, "c0") as f64 - bits_of(&tree, "c1") as f64 / share as f64;
        prop_assert!(apart.abs() <= 2.0 * BATCH_BITS_MAX as f64, "{apart}");
    }

    #[test]
    fn priorities_are_strict(numbers in prop::collection::vec(-3_i64..4, 1..12), seed: u64) {
        let (mut tree, _) = group(Policy::Priority, &priorities(&numbers));
        let (mut rng, mut is_ready) = (Rng::new(seed), vec![true; numbers.len()]);
        for _ in 0..500 {
            let which = rng.below(numbers.len() as u64) as usize;
            is_ready[which] = rng.chance(0.5);
            if is_ready[which] { tree.unblock(LeafId(which as u32)) } else { tree.block(LeafId(which as u32)) }
            let best = (0..numbers.len()).filter(|i| is_ready[*i]).map(|i| numbers[i]).min();
            let task = tree.next(Ticks(0));
            prop_assert_eq!(task.map(|task| numbers[task.0 as usize]), best);
            if let Some(task) = task {
                prop_assert!(is_ready[task.0 as usize]);
                tree.account(task, mixed_batch(&mut rng), Ticks(0), true);
            }
        }
    }
}
