//! Longest prefix match against a search through all routes, while routes come and go.
use super::*;
use proptest::prelude::*;
use tidegate_base::Rng;

type Model<A> = Vec<(Prefix<A>, Gate)>;

fn naive<A: Address>(routes: &Model<A>, address: A) -> Gate {
    let containing = routes.iter().filter(|(prefix, _)| prefix.contains(address));
    containing.max_by_key(|(prefix, _)| prefix.len()).map_or(NO_GATE, |(_, gate)| *gate)
}

/// What is added and deleted, and addresses to look up: near each other, so that prefixes nest.
trait Sample: Address {
    fn draw(rng: &mut Rng) -> Self;
    const LENS: &'static [u8];
}

impl Sample for u32 {
    fn draw(rng: &mut Rng) -> Self {
        let near = [0x0a00_0000, 0x0a01_0000, 0x0a01_0200, 0xffff_ff00][rng.below(4) as usize];
        near ^ (rng.next_u32() >> rng.below(33).min(31))
    }
    const LENS: &'static [u8] = &[0, 1, 8, 15, 16, 20, 23, 24, 25, 26, 30, 31, 32];
}

impl Sample for u128 {
    fn draw(rng: &mut Rng) -> Self {
        let bits = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
        let near = [0x2001_0db8 << 96, 0x2001_0db8_0000_0001 << 64, u128::MAX << 8][rng.below(3) as usize];
        near ^ (bits >> rng.below(128))
    }
    const LENS: &'static [u8] = &[0, 3, 16, 24, 25, 32, 33, 40, 48, 56, 63, 64, 65, 96, 120, 127, 128];
}

/// Adds and deletes routes, the latter with a chance of `delete_share`, and looks addresses up between.
fn churn<A: Sample>(seed: u64, step_count: usize, delete_share: f64) {
    let mut rng = Rng::new(seed);
    let mut table = Lpm::<A>::new(usize::MAX, usize::MAX);
    let mut model = Model::new();
    for step in 0..step_count {
        if rng.chance(delete_share) && !model.is_empty() {
            let (prefix, _) = model.swap_remove(rng.below(model.len() as u64) as usize);
            table.delete(prefix).unwrap();
        } else {
            let len = A::LENS[rng.below(A::LENS.len() as u64) as usize];
            let (prefix, gate) = (Prefix::containing(A::draw(&mut rng), len), rng.below(1000) as Gate);
            model.retain(|(known, _)| *known != prefix);
            model.push((prefix, gate));
            table.add(prefix, gate).unwrap();
        }
        if step % 16 == 0 {
            compare(&table, &model, &mut rng);
        }
    }
    compare(&table, &model, &mut rng);
    for (prefix, _) in &model {
        table.delete(*prefix).unwrap();
    }
    assert_eq!((table.len(), table.group_count()), (0, 0), "nothing is left behind");
    compare(&table, &Model::new(), &mut rng);
}

fn compare<A: Sample>(table: &Lpm<A>, model: &Model<A>, rng: &mut Rng) {
    let mut addresses: Vec<A> = (0..40).map(|_| A::draw(rng)).collect();
    addresses.extend(model.iter().map(|(prefix, _)| prefix.address()));
    let mut gates = vec![0; addresses.len()];
    table.lookup_batch(&addresses, &mut gates);
    for (address, gate) in addresses.iter().zip(gates) {
        assert_eq!(gate, naive(model, *address), "{address:x?}");
        assert_eq!(gate, table.lookup(*address));
    }
    assert_eq!(table.len(), model.len());
}

#[test]
fn ipv4_routes_come_and_go() {
    (1..4).for_each(|seed| churn::<u32>(seed, 400, 0.3));
    churn::<u32>(4, 300, 0.5);
}

#[test]
fn ipv6_routes_come_and_go() {
    (1..4).for_each(|seed| churn::<u128>(seed, 400, 0.3));
    churn::<u128>(4, 300, 0.5);
}

fn v4(address: [u8; 4], len: u8) -> Prefix<u32> {
    Prefix::new(u32::from_be_bytes(address), len).unwrap()
}

#[test]
fn a_deleted_route_gives_way_to_what_covers_it() {
    let mut table = Lpm::new(10, 10);
    table.add(v4([0, 0, 0, 0], 0), 1).unwrap();
    table.add(v4([10, 0, 0, 0], 8), 2).unwrap();
    table.add(v4([10, 1, 1, 128], 25), 3).unwrap();
    let inside = u32::from_be_bytes([10, 1, 1, 200]);
    assert_eq!(table.lookup(inside), 3);
    table.delete(v4([10, 0, 0, 0], 8)).unwrap();
    assert_eq!((table.lookup(inside), table.lookup(0x0a01_0101)), (3, 1));
    table.add(v4([10, 1, 0, 0], 16), 4).unwrap();
    table.delete(v4([10, 1, 1, 128], 25)).unwrap();
    assert_eq!((table.lookup(inside), table.group_count()), (4, 0));
    table.clear();
    assert_eq!((table.lookup(inside), table.is_empty()), (NO_GATE, true));
}

#[test]
fn limits_are_kept_and_say_what_to_raise() {
    let mut table = Lpm::new(2, 1);
    table.add(v4([10, 0, 0, 0], 32), 1).unwrap();
    let full = table.add(v4([10, 0, 1, 0], 25), 1).unwrap_err();
    let expected = LpmError::GroupsFull { prefix: "10.0.1.0/25".into(), needed: 1, free: 0, max: 1 };
    assert_eq!(full, expected);
    assert!(full.to_string().contains("max_tbl8s = 1"), "{full}");
    table.add(v4([10, 0, 0, 1], 32), 2).unwrap();
    let full = table.add(v4([11, 0, 0, 0], 8), 1).unwrap_err();
    assert_eq!(full, LpmError::RulesFull { prefix: "11.0.0.0/8".into(), max: 2 });
    table.add(v4([10, 0, 0, 1], 32), 5).expect("a route that is there may change");
    assert_eq!((table.lookup(0x0a00_0001), table.route(v4([10, 0, 0, 1], 32))), (5, Some(5)));
    let none = table.delete(v4([10, 0, 0, 2], 32)).unwrap_err();
    assert_eq!(none, LpmError::NoSuchRoute { prefix: "10.0.0.2/32".into() });
    assert_eq!(table.add(v4([10, 0, 0, 0], 32), NO_GATE), Err(LpmError::GateTooHigh));
}

#[test]
fn an_ipv6_host_route_needs_thirteen_groups() {
    let mut table = Lpm::new(10, 12);
    let host = Prefix::new(1u128, 128).unwrap();
    let full = table.add(host, 1).unwrap_err();
    assert_eq!(full, LpmError::GroupsFull { prefix: "::1/128".into(), needed: 13, free: 12, max: 12 });
    assert_eq!((table.len(), table.group_count()), (0, 0), "a refused route leaves nothing");
}

proptest! {
    #[test]
    fn a_prefix_contains_what_shares_its_bits(address: u32, other: u32, len in 0u8..=32) {
        let prefix = Prefix::containing(address, len);
        let same = (address ^ other).leading_zeros() >= u32::from(len);
        prop_assert_eq!(prefix.contains(other), same);
        prop_assert_eq!(Prefix::new(prefix.address(), len), Ok(prefix));
    }
}

#[test]
fn host_bits_and_long_prefixes_are_refused() {
    let wrong = Prefix::new(u32::from_be_bytes([10, 0, 0, 1]), 24).unwrap_err();
    assert_eq!(wrong.to_string(), "10.0.0.1/24 names a host in that network: the network is 10.0.0.0/24");
    let wrong = Prefix::new(0u32, 33).unwrap_err();
    assert_eq!(wrong.to_string(), "a prefix of 33 bits: the address has 32");
}
