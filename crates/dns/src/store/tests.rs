//! The store against a map, with room to spare and without.
use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

const AMPLE: StoreSize = StoreSize { byte_count_max: 16 << 20, entry_count: 4096 };

/// A key for name number `n`, as a message would have it.
fn key(store: &Store, n: u32, qtype: u16, wants_dnssec: bool) -> (Key, NameWords) {
    let mut message = vec![0; 12];
    let label = format!("host-{n}").repeat(1 + n as usize % 3);
    message.push(label.len() as u8);
    message.extend(label.bytes());
    message.extend(b"\x07example\x00");
    let mut words = [0; NAME_WORD_COUNT_MAX];
    let key = Key::new(store.seed(), &message, message.len() - 12, qtype, wants_dnssec, &mut words);
    (key.unwrap(), words)
}

fn sections(octets: &[u8]) -> Sections<'_> {
    Sections { flags: 0x0400, counts: [1, 2, 3], octets }
}

fn insert(store: &mut Store, n: u32, octets: &[u8]) -> bool {
    let (key, words) = key(store, n, 1, false);
    store.insert(&key, &words, &sections(octets)).is_some()
}

fn find(store: &mut Store, n: u32) -> Option<Vec<u8>> {
    let (key, words) = key(store, n, 1, false);
    store.find(&key, &words).map(|ready| ready.sections.octets.to_vec())
}

#[test]
fn what_is_put_in_comes_out() {
    let mut store = Store::new(AMPLE, 1);
    let (key, words) = key(&store, 7, 28, true);
    assert!(store.insert(&key, &words, &sections(b"odd")).is_some());
    let ready = store.find(&key, &words).unwrap();
    assert_eq!(ready.sections, sections(b"odd"));
    assert_eq!(ready.sum.fold(), tidegate_base::Sum::of(b"odd").fold());
}

#[test]
fn type_and_dnssec_tell_entries_apart() {
    let mut store = Store::new(AMPLE, 1);
    let kinds = [(1, false), (1, true), (28, false)];
    for (at, (qtype, wants_dnssec)) in kinds.into_iter().enumerate() {
        let (key, words) = key(&store, 0, qtype, wants_dnssec);
        assert!(store.insert(&key, &words, &sections(&[at as u8])).is_some());
    }
    for (at, (qtype, wants_dnssec)) in kinds.into_iter().enumerate() {
        let (key, words) = key(&store, 0, qtype, wants_dnssec);
        assert_eq!(store.find(&key, &words).unwrap().sections.octets, [at as u8]);
    }
}

#[test]
fn an_index_of_the_expected_size_takes_all_that_is_expected() {
    let mut store = Store::new(AMPLE, 3);
    for n in 0..4096 {
        assert!(insert(&mut store, n, &n.to_be_bytes()), "entry {n}");
    }
    for n in 0..4096 {
        assert_eq!(find(&mut store, n).as_deref(), Some(&n.to_be_bytes()[..]));
    }
    assert_eq!(store.counters().entry_count, 4096);
    assert_eq!(store.counters().declined_count, 0);
}

#[test]
fn the_budget_is_kept_and_what_is_asked_for_stays() {
    let mut store = Store::new(StoreSize { byte_count_max: 1 << 20, entry_count: 1 << 14 }, 9);
    insert(&mut store, 0, &[1; 40]);
    for n in 1..60_000 {
        insert(&mut store, n, &[2; 100]);
        assert!(find(&mut store, 0).is_some(), "asked for before each of {n}");
    }
    let counters = store.counters();
    assert!(counters.evicted_count > 45_000, "{counters:?}");
    assert!(counters.byte_count <= 1 << 20, "{counters:?}");
    let found = (1..60_000).filter(|n| find(&mut store, *n).is_some()).count() as u64;
    assert_eq!(found + 1, counters.entry_count);
}

#[test]
fn a_store_and_its_index_keep_within_the_budget_however_small_it_is() {
    for byte_count_max in [1 << 14, 100_000, 1 << 18, (1 << 20) - 1, 5 << 20] {
        for rrset_count in [0, 1000, 1 << 20] {
            let mut store = Store::new(StoreSize::of_rrsets(byte_count_max, rrset_count), 3);
            for n in 0..20_000 {
                insert(&mut store, n, &[7; 90]);
            }
            let counters = store.counters();
            assert!(counters.byte_count <= byte_count_max as u64, "{byte_count_max}: {counters:?}");
            assert!(counters.entry_count > 0, "{byte_count_max}: {counters:?}");
        }
    }
}

#[test]
fn a_cleared_store_is_empty_and_gives_its_memory_back() {
    let mut store = Store::new(AMPLE, 5);
    (0..1000).for_each(|n| assert!(insert(&mut store, n, &[0; 2000])));
    store.clear();
    assert_eq!(find(&mut store, 1), None);
    while !store.retired.is_empty() {
        store.shrink_retired();
    }
    assert!(insert(&mut store, 1, b"again"));
    assert_eq!(find(&mut store, 1).unwrap(), b"again");
}

#[test]
fn what_is_too_long_is_declined() {
    let mut store = Store::new(AMPLE, 5);
    assert!(!insert(&mut store, 1, &[0; SECTIONS_LEN_MAX + 1]));
    assert!(insert(&mut store, 1, &[0; SECTIONS_LEN_MAX]));
    assert!(!insert(&mut store, 1, b"there is one"));
}

proptest! {
    /// Under any pressure, what is found is what was put in.
    #[test]
    fn it_never_gives_another_answer(steps in proptest::collection::vec((0u32..3000, 1usize..1500, any::<bool>()), 1..3000)) {
        let mut store = Store::new(StoreSize { byte_count_max: 1 << 20, entry_count: 512 }, 11);
        let mut model: HashMap<u32, Vec<u8>> = HashMap::new();
        for (n, len, is_question) in steps {
            if is_question {
                if let Some(octets) = find(&mut store, n) {
                    prop_assert_eq!(Some(&octets), model.get(&n));
                }
            } else {
                let octets: Vec<u8> = (0..len).map(|at| (at as u32 ^ n) as u8).collect();
                if insert(&mut store, n, &octets) {
                    model.insert(n, octets);
                }
            }
        }
    }
}
