//! Exact match against a list of rules, in all key sizes.
use super::*;
use crate::fields::Field;
use proptest::prelude::*;

/// Fields whose keys have 1, 2, 4 and 8 words; the second of each has a mask.
const SIZES: [&[u8]; 4] = [&[2, 4], &[4, 4, 2, 2, 1], &[6, 6, 2, 8], &[8, 8, 8, 8, 8, 8, 8, 8]];

fn fields(sizes: &[u8]) -> Fields {
    let mut fields: Vec<_> = sizes.iter().map(|size| Field::new(*size)).collect();
    fields[1].mask = 0x3;
    Fields::new(&fields).unwrap()
}

/// The values of all fields, made from one small number so that rules and packets meet.
fn values(sizes: &[u8], number: u64) -> Vec<u64> {
    (0..sizes.len() as u64).map(|field| (number >> field) & 0x7).collect()
}

fn same(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).enumerate().all(|(field, (a, b))| match field {
        1 => a & 0x3 == b & 0x3,
        _ => a == b,
    })
}

proptest! {
    #[test]
    fn finds_what_a_list_finds(
        class in 0usize..4,
        steps in prop::collection::vec((any::<bool>(), 0u64..64, any::<u16>()), 0..120),
        packets in prop::collection::vec(0u64..64, 0..=BATCH_LEN_MAX),
        default: u16,
        seed: u64,
    ) {
        let sizes = SIZES[class];
        let mut table = Exact::new(fields(sizes), default, seed);
        prop_assert_eq!(table.fields().word_count(), 1 << class);
        let mut list: Vec<(Vec<u64>, u16)> = Vec::new();
        for (is_add, number, gate) in steps {
            let rule = values(sizes, number);
            let known = list.iter().position(|(known, _)| same(known, &rule));
            match (is_add, known) {
                (true, Some(at)) => list[at].1 = gate,
                (true, None) => list.push((rule.clone(), gate)),
                (false, Some(at)) => drop(list.remove(at)),
                (false, None) => {}
            }
            match is_add {
                true => prop_assert_eq!(table.add(&rule, gate), Ok(())),
                false => prop_assert_eq!(table.delete(&rule), known.map(|_| ()).ok_or(MatchError::NoSuchRule)),
            }
        }
        prop_assert_eq!(table.len(), list.len());
        let mut keys = Keys::new(table.fields());
        keys.reset(packets.len());
        for field in 0..sizes.len() {
            table.fields().fill(&mut keys, field, |packet| values(sizes, packets[packet])[field]);
        }
        let mut gates = [0; BATCH_LEN_MAX];
        table.lookup(&keys, &mut gates);
        for (packet, gate) in packets.iter().zip(gates) {
            let rule = list.iter().find(|(rule, _)| same(rule, &values(sizes, *packet)));
            prop_assert_eq!(gate, rule.map_or(default, |(_, gate)| *gate));
            prop_assert_eq!(table.rule(&values(sizes, *packet)), Ok(rule.map(|(_, gate)| *gate)));
        }
    }
}

#[test]
fn clear_keeps_the_default() {
    let mut table = Exact::new(fields(&[4, 4]), 3, 0);
    table.add(&[1, 2], 5).unwrap();
    table.set_default_gate(9);
    table.clear();
    assert!(table.is_empty());
    let mut keys = Keys::new(table.fields());
    keys.reset(1);
    let mut gates = [0; BATCH_LEN_MAX];
    table.lookup(&keys, &mut gates);
    assert_eq!((gates[0], table.default_gate()), (9, 9));
}

#[test]
fn two_hundred_thousand_rules() {
    let mut table = Exact::new(fields(&[8, 8]), u16::MAX, 11);
    for number in 0..200_000u64 {
        table.add(&[number * 4096, 1], number as u16).unwrap();
    }
    for number in (0..200_000u64).step_by(3) {
        table.delete(&[number * 4096, 1]).unwrap();
    }
    for number in 0..200_000u64 {
        let expected = (number % 3 != 0).then_some(number as u16);
        assert_eq!(table.rule(&[number * 4096, 1]), Ok(expected));
    }
}
