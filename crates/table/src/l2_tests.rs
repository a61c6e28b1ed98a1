//! MAC addresses against a map, and the table filled to the size that it was made for.
use super::*;
use proptest::prelude::*;
use std::collections::HashMap;
use tidegate_base::Rng;

proptest! {
    #[test]
    fn holds_what_a_map_holds(
        steps in prop::collection::vec((any::<bool>(), 0u64..80, 0u16..100), 0..300),
        seed: u64,
    ) {
        let mut table = MacTable::new(80, seed).unwrap();
        let mut model = HashMap::new();
        for (is_add, address, gate) in steps {
            if is_add {
                table.add(address, gate).unwrap();
                model.insert(address, gate);
            } else {
                let expected = model.remove(&address).map(|_| ()).ok_or(MacError::NoSuchAddress { address });
                prop_assert_eq!(table.delete(address), expected);
            }
            prop_assert_eq!(table.len(), model.len());
        }
        let addresses: Vec<u64> = (0..90).collect();
        let mut gates = vec![0; addresses.len()];
        table.lookup_batch(&addresses, &mut gates);
        for (address, gate) in addresses.iter().zip(gates) {
            prop_assert_eq!(gate, model.get(address).copied().unwrap_or(NO_GATE));
            prop_assert_eq!(gate, table.lookup(*address));
        }
    }
}

#[test]
fn a_table_takes_as_many_as_it_was_made_for() {
    for count in [1, 4, 100, 1_000, 7_372, 58_982] {
        let mut table = MacTable::new(count, 9).unwrap();
        let mut rng = Rng::new(count as u64);
        let addresses: Vec<u64> = (0..count).map(|_| rng.next_u64() >> 16).collect();
        for (index, address) in addresses.iter().enumerate() {
            table.add(*address, index as Gate % 1_000).unwrap();
        }
        assert!(addresses.iter().enumerate().all(|(index, a)| table.lookup(*a) == index as Gate % 1_000));
    }
}

#[test]
fn a_full_table_says_so_and_loses_nothing() {
    let mut table = MacTable::new(4, 1).unwrap();
    let room = table.buckets.len() * WAY_COUNT;
    let refused: Vec<u64> =
        (0..100).filter(|address| table.add(*address, *address as Gate).is_err()).collect();
    assert_eq!(table.len() + refused.len(), 100);
    assert!(table.len() <= room);
    for address in 0..100 {
        let expected = if refused.contains(&address) { NO_GATE } else { address as Gate };
        assert_eq!(table.lookup(address), expected);
    }
    table.clear();
    assert_eq!((table.lookup(0), table.is_empty()), (NO_GATE, true));
}

#[test]
fn what_was_learnt_is_forgotten_after_silence() {
    let mut table = MacTable::new(100, 1).unwrap();
    let at = |s| Instant::ZERO + Duration::from_secs(s);
    table.add(1, 1).unwrap();
    table.learn(2, 2, at(100)).unwrap();
    table.learn(3, 3, at(100)).unwrap();
    table.learn(1, 9, at(100)).unwrap();
    table.learn(3, 4, at(350)).unwrap();
    let silence = Duration::from_secs(300);
    assert_eq!(table.age(at(400), silence, usize::MAX), 0, "300 s are not over 300 s");
    assert_eq!(table.age(at(401), silence, usize::MAX), 1);
    assert_eq!([1, 2, 3].map(|address| table.lookup(address)), [1, NO_GATE, 4]);
    assert_eq!(table.age(at(10_000), silence, usize::MAX), 1);
    assert_eq!((table.lookup(1), table.len()), (1, 1), "a static entry stays, where it was put");
}

#[test]
fn what_is_no_address_is_refused() {
    let mut table = MacTable::new(4, 1).unwrap();
    assert_eq!(table.add(1 << 48, 1), Err(MacError::Address { address: 1 << 48 }));
    assert_eq!(table.add(1, NO_GATE), Err(MacError::GateTooHigh));
    assert_eq!(MacTable::new(0, 1).err(), Some(MacError::Size { count: 0 }));
}
