//! Wildcard match against a list of rules that is searched in full.
use super::*;
use crate::fields::Field;
use proptest::prelude::*;

struct Rule {
    value: [u64; 3],
    mask: [u64; 3],
    priority: i64,
    gate: u16,
}

#[derive(Clone, Debug)]
enum Step {
    Add {
        value: [u64; 3],
        mask: [u64; 3],
        priority: i64,
        gate: u16,
    },
    /// Deletes the rule at this place of the list, if it is that long.
    Delete(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let masks = prop::sample::select(vec![0, 0xff, 0xf0, 0x3, 0x80]);
    let add = (prop::array::uniform3(0u64..256), prop::array::uniform3(masks), -3i64..4, any::<u16>())
        .prop_map(|(value, mask, priority, gate)| {
            let value = core::array::from_fn(|field| value[field] & mask[field]);
            Step::Add { value, mask, priority, gate }
        });
    prop::collection::vec(prop_oneof![3 => add, 1 => (0usize..60).prop_map(Step::Delete)], 0..80)
}

fn table(sizes: [u8; 3], default: Gate) -> Wildcard {
    Wildcard::new(Fields::new(&sizes.map(Field::new)).unwrap(), default, 5)
}

fn apply(table: &mut Wildcard, list: &mut Vec<Rule>, step: Step) -> Result<(), TestCaseError> {
    match step {
        Step::Add { value, mask, priority, gate } => {
            prop_assert_eq!(table.add(&value, &mask, priority, gate), Ok(()));
            match list.iter_mut().find(|rule| (rule.value, rule.mask) == (value, mask)) {
                Some(rule) => (rule.priority, rule.gate) = (priority, gate),
                None => list.push(Rule { value, mask, priority, gate }),
            }
        }
        Step::Delete(at) if at < list.len() => {
            let Rule { value, mask, .. } = list.remove(at);
            prop_assert_eq!(table.delete(&value, &mask), Ok(()));
            prop_assert_eq!(table.delete(&value, &mask), Err(MatchError::NoSuchRule));
        }
        Step::Delete(_) => {}
    }
    Ok(())
}

/// The oldest of those with the highest priority.
fn winner(list: &[Rule], packet: [u64; 3]) -> Option<&Rule> {
    let matching = list.iter().filter(|rule| (0..3).all(|f| packet[f] & rule.mask[f] == rule.value[f]));
    matching.rev().max_by_key(|rule| rule.priority)
}

fn gates(table: &Wildcard, packets: &[[u64; 3]]) -> [Gate; BATCH_LEN_MAX] {
    let mut keys = Keys::new(table.fields());
    keys.reset(packets.len());
    (0..3).for_each(|field| table.fields().fill(&mut keys, field, |packet| packets[packet][field]));
    let mut gates = [0; BATCH_LEN_MAX];
    table.lookup(&keys, &mut gates);
    gates
}

proptest! {
    #[test]
    fn finds_what_a_list_finds(
        sizes in prop::sample::select(vec![[1, 1, 2], [4, 8, 1], [8, 8, 8]]),
        steps in steps(),
        packets in prop::collection::vec(prop::array::uniform3(0u64..256), 0..=BATCH_LEN_MAX),
        default: u16,
    ) {
        let mut table = table(sizes, default);
        let mut list = Vec::new();
        for step in steps {
            apply(&mut table, &mut list, step)?;
        }
        prop_assert_eq!(table.len(), list.len());
        for (packet, gate) in packets.iter().zip(gates(&table, &packets)) {
            prop_assert_eq!(gate, winner(&list, *packet).map_or(default, |rule| rule.gate));
        }
    }
}

#[test]
fn a_tuple_goes_with_its_last_rule() {
    let mut table = table([1, 1, 1], 7);
    table.add(&[1, 0, 0], &[0xff, 0, 0], 2, 1).unwrap();
    table.add(&[2, 0, 0], &[0xff, 0, 0], 1, 2).unwrap();
    table.add(&[0, 3, 0], &[0, 0xff, 0], 1, 3).unwrap();
    assert_eq!((table.len(), table.mask_count()), (3, 2));
    table.delete(&[0, 3, 0], &[0, 0xff, 0]).unwrap();
    assert_eq!(table.mask_count(), 1);
    assert_eq!(gates(&table, &[[1, 0, 0], [2, 0, 0], [3, 3, 0]])[..3], [1, 2, 7]);
    table.clear();
    assert_eq!(gates(&table, &[[1, 0, 0]])[0], 7);
}

#[test]
fn a_value_outside_its_mask_is_refused() {
    let hidden = MatchError::Hidden { field: 1, value: 3, mask: 1 };
    assert_eq!(table([1, 1, 1], 0).add(&[0, 3, 0], &[0, 1, 0], 0, 0), Err(hidden));
}
