//! A table's limits, its accounts, and the order in which readers see changes.

use super::*;
use crate::lookup::{Image, Verdict};
use crate::memory::HeapMemory;
use crate::rule::{Action, Condition, Processor, Target};

const NOW: Instant = Instant::from_millis(1);

fn table(capacity: Capacity) -> Table<HeapMemory> {
    Table::create(HeapMemory::new(capacity.page_count()), capacity, 7).expect("a table")
}

fn small() -> Table<HeapMemory> {
    table(Capacity { rule_count: 100, record_bytes: 10_000 })
}

fn answer(key: &str, reply: &str) -> Rule {
    Rule {
        conditions: vec![Condition::exact(0, key)],
        request_len: Some(key.len()),
        action: Action::Answer(vec![Processor::Put { at: 0, bytes: reply.into() }]),
        group: GroupId(0),
        expires: None,
    }
}

fn invalidation(key: &str, targets: &[Target]) -> Rule {
    Rule { action: Action::Invalidate(targets.to_vec()), request_len: None, ..answer(key, "") }
}

fn serve(table: &Table<HeapMemory>, request: &str) -> Verdict {
    Image::new(table.memory()).serve(request.as_bytes(), NOW)
}

fn replied(table: &Table<HeapMemory>, request: &str) -> Option<String> {
    match serve(table, request) {
        Verdict::Answer { reply, .. } => Some(String::from_utf8(reply).expect("text")),
        _ => None,
    }
}

#[test]
fn a_rule_is_met_until_it_is_removed() {
    let mut table = small();
    assert_eq!(serve(&table, "key"), Verdict::Pass);
    let id = table.insert(&answer("key", "one")).expect("room");
    assert_eq!(replied(&table, "key").as_deref(), Some("one"));
    table.put(id, &answer("key", "another")).expect("room");
    assert_eq!(replied(&table, "key").as_deref(), Some("another"));
    table.put(id, &answer("keys", "moved")).expect("room");
    assert_eq!((replied(&table, "key"), replied(&table, "keys").as_deref()), (None, Some("moved")));
    assert!(table.remove(id) && !table.remove(id));
    assert_eq!(serve(&table, "keys"), Verdict::Pass);
    assert_eq!((table.rule_count(), table.shape_count(), table.record_bytes()), (0, 0, 0));
}

#[test]
fn hits_are_counted_and_survive_replacement() {
    let mut table = small();
    let id = table.insert(&answer("key", "one")).expect("room");
    for _ in 0..3 {
        replied(&table, "key");
    }
    table.put(id, &answer("key", "two")).expect("room");
    replied(&table, "key");
    assert_eq!(table.status(id).expect("a rule").hits, 4);
    assert_eq!(table.statuses().map(|(id, status)| (id, status.hits)).collect::<Vec<_>>(), [(id, 4)]);
}

#[test]
fn time_ends_a_rule_and_sweeping_makes_room() {
    let mut table = small();
    let rule = Rule { expires: Some(Instant::from_millis(2)), ..answer("key", "one") };
    let id = table.insert(&rule).expect("room");
    let image = Image::new(table.memory());
    assert!(matches!(image.serve(b"key", Instant::from_nanos(1_999_999)), Verdict::Answer { .. }));
    assert_eq!(image.serve(b"key", Instant::from_millis(2)), Verdict::Pass);
    assert_eq!((table.sweep(NOW), table.sweep(Instant::from_millis(2))), (0, 1));
    assert_eq!(table.status(id), None);
}

#[test]
fn a_write_drops_what_it_makes_stale() {
    let mut table = small();
    let id = table.insert(&answer("get key", "value")).expect("room");
    let set = table.insert(&invalidation("set key ", &[Target::Rule(id)])).expect("room");
    assert_eq!(serve(&table, "set key 0 0 1\r\n2\r\n"), Verdict::Invalidate { id: set });
    assert_eq!(serve(&table, "get key"), Verdict::Pass);
    assert!(!table.status(id).expect("a dead rule").is_alive);
    assert_eq!(table.sweep(NOW), 1);
    table.put(id, &answer("get key", "new")).expect("the place is reserved");
    assert_eq!(replied(&table, "get key").as_deref(), Some("new"));
}

#[test]
fn what_was_asked_for_before_a_write_is_refused() {
    let mut table = small();
    let id = table.reserve().expect("room");
    table.insert(&invalidation("set key ", &[Target::Rule(id)])).expect("room");
    let ticket = table.ticket(id).expect("a place");
    serve(&table, "set key 1");
    let stale = table.put_with(id, ticket, &answer("get key", "old"));
    assert_eq!(stale, Err(PutError::Invalidated { id }));
    assert_eq!((serve(&table, "get key"), table.rule_count()), (Verdict::Pass, 1));
    let ticket = table.ticket(id).expect("a place");
    table.put_with(id, ticket, &answer("get key", "new")).expect("asked again");
    assert_eq!(replied(&table, "get key").as_deref(), Some("new"));
}

#[test]
fn a_dropped_group_is_renewed() {
    let mut table = small();
    let group = GroupId(3);
    let rule = Rule { group, ..answer("get key", "value") };
    table.insert(&rule).expect("room");
    table.insert(&answer("get other", "kept")).expect("room");
    table.insert(&invalidation("flush_all", &[Target::Group(group)])).expect("room");
    serve(&table, "flush_all\r\n");
    assert_eq!((replied(&table, "get key"), replied(&table, "get other").as_deref()), (None, Some("kept")));
    assert_eq!(table.insert(&rule), Err(PutError::GroupDropped { group }));
    assert!(!table.is_group_alive(group));
    table.renew(group).expect("a group");
    assert_eq!(replied(&table, "get key"), None);
    table.insert(&rule).expect("room");
    assert_eq!(replied(&table, "get key").as_deref(), Some("value"));
}

#[test]
fn a_group_is_swapped_whole() {
    let mut table = small();
    for key in ["a", "b"] {
        table.insert(&answer(key, "old")).expect("room");
    }
    let staged = table.stage(GroupId(0)).expect("a group");
    for key in ["b", "c"] {
        table.insert_staged(&staged, &answer(key, "new")).expect("room");
    }
    let all = |table: &Table<HeapMemory>| ["a", "b", "c"].map(|key| replied(table, key));
    assert_eq!(all(&table), [Some("old".into()), Some("old".into()), None]);
    table.swap(staged).expect("nobody invalidated it");
    assert_eq!(all(&table), [None, Some("new".into()), Some("new".into())]);
    assert_eq!(table.rule_count(), 2);
}

#[test]
fn a_swap_behind_an_invalidation_is_refused() {
    let mut table = small();
    table.insert(&answer("a", "old")).expect("room");
    table
        .insert(&Rule { group: GroupId(1), ..invalidation("flush", &[Target::Group(GroupId(0))]) })
        .expect("room");
    let staged = table.stage(GroupId(0)).expect("a group");
    table.insert_staged(&staged, &answer("a", "stale")).expect("room");
    serve(&table, "flush");
    assert_eq!(table.swap(staged), Err(GroupError::Invalidated { group: GroupId(0) }));
    assert_eq!(serve(&table, "a"), Verdict::Pass);
    assert_eq!(table.rule_count(), 2);
}

#[test]
fn one_condition_has_one_rule() {
    let mut table = small();
    let id = table.insert(&answer("key", "one")).expect("room");
    assert_eq!(table.insert(&answer("key", "two")), Err(PutError::Duplicate { id }));
    let elsewhere = Rule { group: GroupId(9), ..answer("key", "two") };
    assert_eq!(table.insert(&elsewhere), Err(PutError::Duplicate { id }));
    table.insert(&Rule { request_len: None, ..answer("key", "any length") }).expect("other conditions");
    assert_eq!(replied(&table, "key").as_deref(), Some("one"));
    assert_eq!(replied(&table, "keys").as_deref(), Some("any length"));
}

#[test]
fn a_full_table_says_so_and_stays_as_it_was() {
    let mut table = table(Capacity { rule_count: 3, record_bytes: 60_000 });
    for key in ["a", "b", "c"] {
        table.insert(&answer(key, "reply")).expect("room");
    }
    assert_eq!(table.insert(&answer("d", "reply")), Err(PutError::Full(3)));
    let long = "x".repeat(1472);
    let mut table =
        super::Table::create(HeapMemory::new(7), Capacity { rule_count: 100, record_bytes: 1 }, 7)
            .expect("a table");
    let mut count = 0;
    let refused = loop {
        match table.insert(&answer(&format!("{count:03}"), &long)) {
            Ok(_) => count += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, PutError::NoRoom { .. }) && count >= 80, "{refused} after {count}");
    assert_eq!(table.rule_count(), count);
    assert_eq!(replied(&table, "000"), Some(long));
}

#[test]
fn places_that_were_never_reserved_are_refused() {
    let mut table = small();
    let id = RuleId(5);
    assert_eq!(table.put(id, &answer("key", "one")), Err(PutError::NoPlace { id }));
    assert_eq!((table.release(id), table.remove(id), table.status(id)), (false, false, None));
    let id = table.insert(&answer("key", "one")).expect("room");
    assert!(table.release(id));
    assert_eq!(table.put(id, &answer("key", "one")), Err(PutError::NoPlace { id }));
    assert_eq!(table.reserve(), Ok(id));
}

#[test]
fn too_many_ways_to_look_at_requests_are_refused() {
    let mut table = table(Capacity { rule_count: 5000, record_bytes: 1 << 20 });
    let at = |offset: usize, len| Rule {
        conditions: vec![Condition::exact(offset, "k")],
        request_len: len,
        ..answer("key", "reply")
    };
    for offset in 0..16 {
        table.insert(&at(offset, Some(40))).expect("room");
    }
    assert_eq!(table.insert(&at(16, Some(40))), Err(PutError::Shape(ShapeError::Crowded { len: 40 })));
    for offset in 0..32 {
        table.insert(&at(offset, None)).expect("room");
    }
    assert_eq!(table.insert(&at(32, None)), Err(PutError::Shape(ShapeError::CrowdedAnyLen)));
    let mut count = 48;
    let refused = loop {
        let (len, offset) = (41 + count / 16, count % 16);
        match table.insert(&at(offset, Some(len))) {
            Ok(_) => count += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((refused, count), (PutError::Shape(ShapeError::Full), 1024));
    assert_eq!(table.shape_count(), 1024);
}

#[test]
fn shapes_of_removed_rules_are_used_again() {
    let mut table = table(Capacity { rule_count: 5000, record_bytes: 1 << 20 });
    for round in 0..3000 {
        let rule = Rule {
            conditions: vec![Condition::exact(round % 40, "k")],
            request_len: Some(41 + round % 1000),
            ..answer("key", "reply")
        };
        let id = table.insert(&rule).expect("room");
        assert!(table.release(id));
    }
    assert_eq!(table.shape_count(), 0);
}

#[test]
fn a_table_of_its_rules_size_takes_them_all() {
    for len in [1, 15, 16, 200, 217, 1000, 1472] {
        let rule = |n: u32| answer(&format!("key number {n:08}"), &"x".repeat(len));
        let capacity = Capacity::of_rules(3000, &rule(0)).expect("a rule");
        let mut table = table(capacity);
        for n in 0..3000 {
            table.insert(&rule(n)).unwrap_or_else(|error| panic!("rule {n} of {len} bytes: {error}"));
        }
        assert!((0..3000).all(|n| replied(&table, &format!("key number {n:08}")).is_some()));
    }
}

#[test]
fn sizes_that_make_no_sense_are_refused() {
    let create = |rule_count, record_bytes| {
        Table::create(HeapMemory::new(1), Capacity { rule_count, record_bytes }, 7).map(drop)
    };
    assert!(matches!(create(0, 1), Err(CapacityError::Nothing(_))));
    assert!(matches!(create(1, 0), Err(CapacityError::Nothing(_))));
    assert!(matches!(create(1, 1 << 40), Err(CapacityError::TooLarge(_))));
    assert!(matches!(create(1, 1), Err(CapacityError::Memory { needed: 6, found: 1, .. })));
}

#[test]
fn a_memory_without_a_table_answers_nothing() {
    let image = Image::new(HeapMemory::new(3));
    assert_eq!(image.serve(b"key", NOW), Verdict::Pass);
}
