//! Flows against a map with ends of life.
use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

type Table = Flows<2, u32>;

#[derive(Clone, Debug)]
enum Step {
    Insert { key: u32, life_ms: u64 },
    Remove(u32),
    Touch { key: u32, life_ms: u64 },
    Sweep(usize),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = 0u32..60;
    let step = prop_oneof![
        4 => (key.clone(), 1u64..50).prop_map(|(key, life_ms)| Step::Insert { key, life_ms }),
        1 => key.clone().prop_map(Step::Remove),
        2 => (key, 1u64..50).prop_map(|(key, life_ms)| Step::Touch { key, life_ms }),
        1 => (0usize..80).prop_map(Step::Sweep),
        2 => (0u64..30).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 0..300)
}

fn key_of(number: u32) -> [u64; 2] {
    key_v4(number, 1, 2, 3, 6, 0)
}

/// Live flows by their number, with value and end of life.
#[derive(Default)]
struct Model {
    flows: HashMap<u32, (u32, Instant)>,
    gone: Vec<u32>,
}

impl Model {
    /// What the table must have handed out by now, and nothing that lives.
    fn account(&mut self, gone: Vec<u32>, now: Instant) -> Result<(), TestCaseError> {
        for value in gone {
            let number = self.flows.iter().find(|(_, flow)| flow.0 == value).map(|(number, _)| *number);
            prop_assert!(number.is_some(), "handed out twice");
            let (_, expires_at) = self.flows.remove(&number.unwrap()).unwrap();
            prop_assert!(expires_at <= now, "handed out while it lives");
            self.gone.push(value);
        }
        Ok(())
    }

    fn live(&self, number: u32, now: Instant) -> Option<u32> {
        self.flows.get(&number).filter(|(_, expires_at)| *expires_at > now).map(|(value, _)| *value)
    }
}

fn insert(
    table: &mut Table,
    model: &mut Model,
    key: u32,
    value: u32,
    now: Instant,
    expires_at: Instant,
) -> Result<(), TestCaseError> {
    let mut gone = Vec::new();
    let result = table.insert(key_of(key), value, now, expires_at, &mut |_, value| gone.push(value));
    model.account(gone, now)?;
    match result {
        Ok(id) => {
            prop_assert_eq!(model.live(key, now), None);
            prop_assert_eq!(table.get(id), Some(&value));
            model.flows.insert(key, (value, expires_at));
        }
        Err(InsertError::Exists(id, _)) => prop_assert_eq!(table.get(id).copied(), model.live(key, now)),
        // Every entry was looked at, as there are fewer than a full sweep looks at.
        Err(InsertError::Full(_)) => {
            prop_assert!(model.flows.values().all(|(_, expires_at)| *expires_at > now))
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn holds_what_a_map_holds(steps in steps(), capacity in 1usize..50, seed: u64) {
        let mut table = Table::new(capacity, seed).unwrap();
        let mut model = Model::default();
        let mut now = Instant::from_millis(1);
        for (value, step) in steps.into_iter().enumerate() {
            let after = |life_ms| now + tidegate_base::Duration::from_millis(life_ms);
            match step {
                Step::Insert { key, life_ms } => insert(&mut table, &mut model, key, value as u32, now, after(life_ms))?,
                Step::Remove(key) => {
                    let id = table.lookup(&key_of(key), now);
                    prop_assert_eq!(id.is_some(), model.live(key, now).is_some());
                    if let Some(id) = id {
                        let value = model.flows.remove(&key).unwrap().0;
                        prop_assert_eq!(table.remove(id), Some((key_of(key), value)));
                        prop_assert_eq!(table.remove(id), None);
                    }
                }
                Step::Touch { key, life_ms } => {
                    if let Some(id) = table.lookup(&key_of(key), now) {
                        table.touch(id, after(life_ms));
                        model.flows.get_mut(&key).unwrap().1 = after(life_ms);
                    }
                }
                Step::Sweep(budget) => {
                    let mut gone = Vec::new();
                    table.sweep(now, budget, &mut |_, value| gone.push(value));
                    model.account(gone, now)?;
                }
                Step::Wait(ms) => now = after(ms),
            }
            prop_assert_eq!(table.len(), model.flows.len());
        }
        let numbers: Vec<u32> = (0..70).collect();
        let keys: Vec<_> = numbers.iter().map(|number| key_of(*number)).collect();
        let mut ids = vec![None; keys.len()];
        table.lookup_batch(&keys, now, &mut ids);
        for (number, id) in numbers.iter().zip(ids) {
            prop_assert_eq!(id.and_then(|id| table.get(id)).copied(), model.live(*number, now));
            prop_assert_eq!(id, table.lookup(&key_of(*number), now));
        }
        // A full turn takes out all that is over.
        let mut gone = Vec::new();
        table.sweep(now, capacity, &mut |_, value| gone.push(value));
        model.account(gone, now)?;
        prop_assert!(model.flows.values().all(|(_, expires_at)| *expires_at > now));
    }
}

#[test]
fn a_hundred_thousand_flows_fill_the_table_to_the_last() {
    let mut table = Table::new(100_000, 3).unwrap();
    let (now, later) = (Instant::from_millis(1), Instant::from_millis(10));
    let mut ids = Vec::new();
    for number in 0..100_000 {
        ids.push(table.insert(key_of(number), number, now, later, &mut |_, _| unreachable!()).unwrap());
    }
    let full = table.insert(key_of(100_000), 7, now, later, &mut |_, _| unreachable!());
    assert_eq!(full, Err(InsertError::Full(7)));
    assert!((0..100_000).all(|number| table.lookup(&key_of(number), now) == Some(ids[number as usize])));
    assert_eq!(table.lookup(&key_of(5), later), None, "its time is over, swept or not");
    let mut gone = 0;
    let id =
        table.insert(key_of(100_000), 7, later, Instant::from_millis(20), &mut |_, _| gone += 1).unwrap();
    assert_eq!((table.get(id), gone), (Some(&7), FULL_SWEEP));
}

#[test]
fn tuples_that_differ_have_keys_that_differ() {
    let keys = [
        key_v4(1, 2, 3, 4, 5, 0),
        key_v4(2, 1, 3, 4, 5, 0),
        key_v4(1, 2, 4, 3, 5, 0),
        key_v4(1, 2, 3, 4, 6, 0),
        key_v4(1, 2, 3, 4, 5, 1),
    ];
    for (index, key) in keys.iter().enumerate() {
        assert_eq!(keys.iter().position(|other| other == key), Some(index));
    }
    assert_ne!(key_v6(1 << 64, 0, 1, 2, 3, 0), key_v6(1, 0, 1, 2, 3, 0));
}

#[test]
fn an_empty_table_is_refused() {
    assert_eq!(Table::new(0, 1).err(), Some(FlowsError::Capacity { capacity: 0 }));
}
