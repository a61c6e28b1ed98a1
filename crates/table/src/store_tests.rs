//! The store against a map, with keys that often share a first slot.
use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

#[derive(Clone, Debug)]
enum Step {
    Insert(u64, u16),
    Remove(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = 0u64..200;
    let step = prop_oneof![
        3 => (key.clone(), any::<u16>()).prop_map(|(key, value)| Step::Insert(key, value)),
        2 => key.prop_map(Step::Remove),
    ];
    prop::collection::vec(step, 0..600)
}

fn key_of(number: u64) -> [u64; 2] {
    [number % 7, number / 7]
}

fn check_all(store: &Store<2, u16>, model: &HashMap<u64, u16>) -> Result<(), TestCaseError> {
    let numbers: Vec<u64> = (0..210).collect();
    for numbers in numbers.chunks(BATCH_LEN_MAX) {
        let keys: Vec<_> = numbers.iter().map(|number| key_of(*number)).collect();
        let mut found = [None; BATCH_LEN_MAX];
        store.lookup(&keys, &mut found);
        for (number, found) in numbers.iter().zip(found) {
            prop_assert_eq!(found, model.get(number).copied());
            prop_assert_eq!(store.get(&key_of(*number)), found);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn holds_what_a_map_holds(steps in steps(), seed: u64) {
        let mut store = Store::<2, u16>::new(seed);
        let mut model = HashMap::new();
        for step in steps {
            match step {
                Step::Insert(key, value) => {
                    prop_assert_eq!(store.insert(key_of(key), value), model.insert(key, value));
                }
                Step::Remove(key) => prop_assert_eq!(store.remove(&key_of(key)), model.remove(&key)),
            }
            prop_assert_eq!(store.len(), model.len());
        }
        check_all(&store, &model)?;
        store.clear();
        check_all(&store, &HashMap::new())?;
    }
}
