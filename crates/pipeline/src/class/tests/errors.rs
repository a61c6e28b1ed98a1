//! What cannot be is refused with what to do instead and with BESS's errno, and changes nothing.

use super::*;
use crate::class::{ClassError, Errno};

/// A tree with a class of each policy, and in the weighted fair one a leaf.
fn one_of_each() -> (ClassTree, [ClassId; 5]) {
    let mut tree = tree();
    let round = add(&mut tree, "round", None, Policy::RoundRobin, Position::None);
    let strict = add(&mut tree, "strict", Some(round), Policy::Priority, Position::None);
    let fair =
        add(&mut tree, "fair", Some(strict), Policy::WeightedFair(Resource::Bit), Position::Priority(0));
    let limit = add(&mut tree, "limit", Some(round), bit_limit(1, 1), Position::None);
    let task = add(&mut tree, "task", Some(fair), leaf(0), Position::Share(1));
    (tree, [round, strict, fair, limit, task])
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(result: Result<T, ClassError>, errno: Errno, says: &str) {
    let error = result.unwrap_err();
    assert_eq!((error.errno(), error.to_string().as_str()), (errno, says));
}

#[test]
fn names_are_unique_and_not_empty() {
    let (mut tree, _) = one_of_each();
    let mut add = |name| tree.add(name, None, Policy::RoundRobin, Position::None);
    assert_refused(add(""), Errno::Invalid, "a traffic class needs a name: give it one");
    let taken = "there is a traffic class `fair` already: give this one another name";
    assert_refused(add("fair"), Errno::Exists, taken);
    let taken = "there is a traffic class `!default_rr_0` already: give this one another name";
    assert_refused(add("!default_rr_0"), Errno::Exists, taken);
    let unknown = "there is no traffic class `no`: add it first, or list what there is";
    assert_refused(tree.find("no"), Errno::NotFound, unknown);
}

#[test]
fn a_removed_class_is_no_parent() {
    let (mut tree, [.., limit, _]) = one_of_each();
    tree.remove(limit).unwrap();
    let heir = add(&mut tree, "heir", None, Policy::RoundRobin, Position::None);
    let removed = "this traffic class was removed: look it up by its name again";
    let added = tree.add("child", Some(limit), Policy::RoundRobin, Position::None);
    assert_refused(added, Errno::NotFound, removed);
    assert_refused(tree.remove(limit), Errno::NotFound, removed);
    assert_refused(tree.usage(limit), Errno::NotFound, removed);
    assert_refused(tree.reparent(heir, Some(limit), Position::None), Errno::NotFound, removed);
}

#[test]
fn each_policy_is_told_what_it_wants_to_know() {
    let (mut tree, [round, strict, fair, limit, task]) = one_of_each();
    let mut add = |parent, position| tree.add("x", parent, Policy::RoundRobin, position);
    let says = "`strict` chooses by priority: give its child a priority";
    assert_refused(add(Some(strict), Position::None), Errno::Invalid, says);
    assert_refused(add(Some(strict), Position::Share(1)), Errno::Invalid, says);
    let says = "`fair` is weighted_fair: give its child a share";
    assert_refused(add(Some(fair), Position::Priority(1)), Errno::Invalid, says);
    let says = "a share of 0 is none: give one from 1 to 4294967295";
    assert_refused(add(Some(fair), Position::Share(0)), Errno::Invalid, says);
    assert_refused(
        add(Some(fair), Position::Share(i64::MIN)),
        Errno::Invalid,
        "a share of -9223372036854775808 is none: give one from 1 to 4294967295",
    );
    let says =
        "`round` takes no such number of a child: leave priority and share out, or name another parent";
    assert_refused(add(Some(round), Position::Priority(1)), Errno::Invalid, says);
    let says =
        "`limit` takes no such number of a child: leave priority and share out, or name another parent";
    assert_refused(add(Some(limit), Position::Share(1)), Errno::Invalid, says);
    let says = "`task` is a leaf and takes no children: name a class with another policy as the parent";
    assert_refused(add(Some(task), Position::None), Errno::Invalid, says);
    let says = "a class without a parent has no share: leave it out, or name a weighted_fair parent";
    assert_refused(add(None, Position::Share(1)), Errno::Invalid, says);
    assert_refused(
        tree.set_position(task, Position::Share(-1)),
        Errno::Invalid,
        "a share of -1 is none: give one from 1 to 4294967295",
    );
    assert_eq!(tree.iter().count(), 5);
}

#[test]
fn a_rate_limit_takes_one_child() {
    let (mut tree, [round, _, _, limit, _]) = one_of_each();
    let only = add(&mut tree, "only", Some(limit), leaf(1), Position::None);
    let says = "`limit` is a rate_limit, which takes one child, and has `only`: put a group under it, and both into that";
    let second = tree.add("second", Some(limit), leaf(2), Position::None);
    assert_refused(second, Errno::Busy, says);
    let second = add(&mut tree, "second", Some(round), leaf(2), Position::None);
    assert_refused(tree.reparent(second, Some(limit), Position::None), Errno::Busy, says);
    tree.reparent(only, Some(limit), Position::None).unwrap();
}

#[test]
fn a_task_has_one_class_and_a_number_in_bounds() {
    let (mut tree, [round, ..]) = one_of_each();
    let says = "this task is in the class `task` already: move that one instead";
    assert_refused(tree.add("x", Some(round), leaf(0), Position::None), Errno::Exists, says);
    let says = "task number 4294967295 is too large: number tasks from 0, below 1048576";
    assert_refused(tree.add("x", Some(round), leaf(u32::MAX), Position::None), Errno::Invalid, says);
}

#[test]
fn who_has_children_stays() {
    let (mut tree, [round, _, fair, ..]) = one_of_each();
    let says = "`round` has 2 children: remove them or move them first";
    assert_refused(tree.remove(round), Errno::Busy, says);
    assert_refused(tree.remove(fair), Errno::Busy, "`fair` has 1 children: remove them or move them first");
}

#[test]
fn nobody_is_its_own_ancestor() {
    let (mut tree, [round, strict, fair, ..]) = one_of_each();
    let says = "`round` cannot go under `fair`, which is below it: name a parent outside";
    assert_refused(tree.reparent(round, Some(fair), Position::Share(1)), Errno::Invalid, says);
    let says = "`strict` cannot go under `strict`, which is below it: name a parent outside";
    assert_refused(tree.reparent(strict, Some(strict), Position::Priority(1)), Errno::Invalid, says);
}

#[test]
fn a_policy_stays_what_it_is() {
    let (mut tree, [round, _, fair, ..]) = one_of_each();
    let says = "`fair` is weighted_fair and stays so: add another class and move the children";
    assert_refused(tree.set_policy(fair, Policy::RoundRobin), Errno::Invalid, says);
    tree.set_policy(round, Policy::RoundRobin).unwrap();
}

#[test]
fn the_root_of_the_trees_own_stays_on_top() {
    let (mut tree, [round, ..]) = one_of_each();
    let other = add(&mut tree, "other", None, Policy::RoundRobin, Position::None);
    let root = tree.root().unwrap();
    assert!(root != round && root != other);
    let says = "`!default_rr_0` holds the classes without a parent and cannot be moved: move those instead";
    assert_refused(tree.reparent(root, Some(other), Position::None), Errno::Busy, says);
    assert_refused(tree.set_position(root, Position::None), Errno::Busy, says);
    assert_refused(
        tree.remove(root),
        Errno::Busy,
        "`!default_rr_0` has 2 children: remove them or move them first",
    );
}
