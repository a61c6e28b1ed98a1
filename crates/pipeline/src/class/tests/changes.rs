//! Changes between two runs: what they do, and what they leave alone.

use super::*;

fn names(tree: &ClassTree) -> Vec<(&str, Option<&str>)> {
    let name_of = |id| tree.class(id).unwrap().name;
    let mut names: Vec<_> = tree.iter().map(|class| (class.name, class.parent.map(name_of))).collect();
    names.sort();
    names
}

#[test]
fn a_lone_class_is_the_root_and_a_second_brings_one_above_both() {
    let mut tree = ClassTree::new(3, TICKS_PER_S);
    let first = add(&mut tree, "first", None, leaf(1), Position::None);
    assert_eq!(tree.root(), Some(first));
    run_times(&mut tree, 5);
    add(&mut tree, "second", None, leaf(2), Position::None);
    let root = tree.class(tree.root().unwrap()).unwrap();
    assert_eq!((root.name, root.policy), ("!default_rr_3", Policy::RoundRobin));
    let expected =
        [("!default_rr_3", None), ("first", Some("!default_rr_3")), ("second", Some("!default_rr_3"))];
    assert_eq!(names(&tree), expected);
    assert_eq!(tree.usage(first).unwrap().packets, 5);
    assert_eq!(run_times(&mut tree, 4), [1, 2, 1, 2]);
    assert_eq!(tree.usage(tree.root().unwrap()).unwrap().packets, 4);
}

#[test]
fn the_root_of_the_trees_own_goes_when_one_class_is_left() {
    let mut tree = tree();
    let first = add(&mut tree, "first", None, leaf(1), Position::None);
    let second = add(&mut tree, "second", None, leaf(2), Position::None);
    run_times(&mut tree, 3);
    tree.remove(first).unwrap();
    assert_eq!((names(&tree), tree.root()), (vec![("second", None)], Some(second)));
    assert_eq!(run_times(&mut tree, 2), [2, 2]);
    tree.remove(second).unwrap();
    assert_eq!((names(&tree), tree.root()), (vec![], None));
    assert_eq!(next_of(&mut tree), None);
    let third = add(&mut tree, "third", None, leaf(1), Position::None);
    assert_eq!((tree.root(), next_of(&mut tree)), (Some(third), Some(1)));
}

#[test]
fn a_class_without_a_parent_can_come_last() {
    let mut tree = tree();
    add(&mut tree, "orphan", None, leaf(9), Position::LAST);
    add(&mut tree, "a", None, leaf(1), Position::None);
    add(&mut tree, "b", None, leaf(2), Position::None);
    assert_eq!(run_times(&mut tree, 4), [1, 2, 1, 2]);
    tree.block(LeafId(1));
    tree.block(LeafId(2));
    assert_eq!(run_times(&mut tree, 2), [9, 9]);
    tree.set_position(tree.find("orphan").unwrap(), Position::None).unwrap();
    tree.unblock(LeafId(1));
    let mut order = run_times(&mut tree, 4);
    order.sort_unstable();
    assert_eq!(order, [1, 1, 9, 9]);
}

#[test]
fn a_class_moves_with_all_below_it_and_keeps_what_it_used() {
    let mut tree = tree();
    let root = add(&mut tree, "root", None, Policy::Priority, Position::None);
    let left = add(&mut tree, "left", Some(root), Policy::RoundRobin, Position::Priority(0));
    let right = add(&mut tree, "right", Some(root), Policy::RoundRobin, Position::Priority(1));
    let limit = add(&mut tree, "limit", Some(left), bit_limit(1_000_000_000, 0), Position::None);
    add(&mut tree, "task", Some(limit), leaf(1), Position::None);
    add(&mut tree, "bulk", Some(right), leaf(2), Position::None);
    assert_eq!(run_times(&mut tree, 1), [1]);
    assert!(tree.class(limit).unwrap().is_throttled);
    tree.reparent(limit, Some(right), Position::None).unwrap();
    assert_eq!(run_times(&mut tree, 1), [2], "still throttled");
    assert_eq!(tree.next(Ticks(1000)), Some(LeafId(2)));
    tree.block(LeafId(2));
    assert_eq!(tree.next(Ticks(1000)), Some(LeafId(1)), "its timer moved with it");
    tree.account(LeafId(1), run_of(1, 1000), Ticks(2000), true);
    let bits: Vec<u64> = ["left", "right", "limit", "root"].iter().map(|name| bits_of(&tree, name)).collect();
    assert_eq!(bits, [1000, 2000, 2000, 3000]);
}

#[test]
fn a_class_moves_below_its_sibling_and_back() {
    let mut tree = tree();
    let a = add(&mut tree, "a", None, Policy::RoundRobin, Position::None);
    let b = add(&mut tree, "b", None, leaf(2), Position::None);
    for _ in 0..2 {
        tree.reparent(b, Some(a), Position::None).unwrap();
        assert_eq!((names(&tree), tree.root()), (vec![("a", None), ("b", Some("a"))], Some(a)));
        assert_eq!(run_times(&mut tree, 2), [2, 2]);
        tree.reparent(b, None, Position::None).unwrap();
        assert_eq!((names(&tree).len(), run_times(&mut tree, 2)), (3, vec![2, 2]));
        let root = tree.root();
        tree.reparent(a, root, Position::Priority(4)).unwrap();
    }
    assert_eq!(tree.usage(b).unwrap().count, 8);
}

#[test]
fn a_priority_changed_counts_at_once() {
    let mut tree = tree();
    let root = add(&mut tree, "root", None, Policy::Priority, Position::None);
    let a = add(&mut tree, "a", Some(root), leaf(1), Position::Priority(1));
    add(&mut tree, "b", Some(root), leaf(2), Position::Priority(2));
    assert_eq!(run_times(&mut tree, 2), [1, 1]);
    tree.set_position(a, Position::Priority(3)).unwrap();
    assert_eq!(run_times(&mut tree, 2), [2, 2]);
}

#[test]
fn a_share_changed_counts_from_now_on() {
    let mut tree = tree();
    let root = add(&mut tree, "root", None, Policy::WeightedFair(Resource::Packet), Position::None);
    let a = add(&mut tree, "a", Some(root), leaf(1), Position::Share(1));
    add(&mut tree, "b", Some(root), leaf(2), Position::Share(1));
    run_times(&mut tree, 1000);
    tree.set_position(a, Position::Share(3)).unwrap();
    let ones = run_times(&mut tree, 400).into_iter().filter(|task| *task == 1).count();
    assert!((299..=301).contains(&ones), "{ones}");
}

#[test]
fn a_class_is_removed_while_it_waits_for_its_timer() {
    let mut tree = tree();
    let a = add(&mut tree, "a", None, leaf(1), Position::None);
    let b = add(&mut tree, "b", None, leaf(2), Position::None);
    tree.block_until(LeafId(1), Ticks(10));
    tree.account(LeafId(2), run_of(0, 0), Ticks(0), false);
    tree.remove(a).unwrap();
    tree.remove(b).unwrap();
    assert_eq!((tree.next_wake(), tree.next(Ticks(10))), (None, None));
    tree.unblock(LeafId(1));
    assert_eq!(tree.next(Ticks(10)), None);
}

#[test]
fn what_a_listing_says_of_a_class() {
    let mut tree = tree();
    let limit = add(&mut tree, "limit", None, bit_limit(5, 6), Position::None);
    let task = add(&mut tree, "task", Some(limit), leaf(4), Position::None);
    assert_eq!((tree.find("task"), tree.find_leaf(LeafId(4))), (Ok(task), Some(task)));
    tree.account(LeafId(4), run_of(2, 128), Ticks(0), true);
    let listed = tree.class(limit).unwrap();
    assert_eq!((listed.policy, listed.parent, listed.usage), (bit_limit(5, 6), None, run_of(2, 128)));
    assert!(listed.is_blocked && listed.is_throttled);
    assert!(!tree.class(task).unwrap().is_blocked);
    tree.block(LeafId(4));
    assert!(tree.class(task).unwrap().is_blocked);
    assert_eq!(Resource::from_name("cycle"), Some(Resource::Cycle));
    assert_eq!(Resource::from_name("cycles"), None);
    assert_eq!(bit_limit(1, 1).name(), "rate_limit");
}
