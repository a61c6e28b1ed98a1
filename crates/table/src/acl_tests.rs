//! The compiled list against the rules one by one.
use super::*;
use proptest::prelude::*;
use tidegate_base::Rng;

fn any_rule() -> Rule {
    let any = Prefix::containing(0, 0);
    Rule {
        src: any,
        dst: any,
        src_ports: PortRange::ANY,
        dst_ports: PortRange::ANY,
        protocol: None,
        established: false,
    }
}

fn linear(rules: &[Rule], header: &Header) -> u32 {
    rules.iter().position(|rule| rule.admits(header)).map_or(NO_RULE, |rule| rule as u32)
}

/// Addresses, ports and protocols from small sets, so that rules overlap and headers meet them.
fn address(rng: &mut Rng) -> u32 {
    let near = [0, 0x0a00_0000, 0x0a00_00ff, u32::MAX][rng.below(4) as usize];
    near ^ (rng.next_u32() >> rng.below(32))
}

fn port(rng: &mut Rng) -> u16 {
    [0, 53, 80, 443, 1024, 65535, rng.next_u32() as u16][rng.below(7) as usize]
}

fn ports(rng: &mut Rng) -> PortRange {
    let (a, b) = (port(rng), port(rng));
    match rng.below(3) {
        0 => PortRange::ANY,
        1 => PortRange::one_or_any(a),
        _ => PortRange { first: a.min(b), last: a.max(b) },
    }
}

fn rule(rng: &mut Rng) -> Rule {
    let established = rng.chance(0.2);
    let protocol = [None, Some(6), Some(17), Some(255)][rng.below(if established { 2 } else { 4 }) as usize];
    Rule {
        src: Prefix::containing(address(rng), rng.below(33) as u8),
        dst: Prefix::containing(address(rng), rng.below(33) as u8),
        src_ports: ports(rng),
        dst_ports: ports(rng),
        protocol,
        established,
    }
}

fn header(rng: &mut Rng) -> Header {
    let protocol = [6, 17, 255, 1][rng.below(4) as usize];
    let established = protocol == 6 && rng.chance(0.5);
    let (src, dst) = (address(rng), address(rng));
    Header { src, dst, src_port: port(rng), dst_port: port(rng), protocol, established }
}

fn compare(rules: &[Rule], rng: &mut Rng, header_count: usize) {
    let acl = Acl::new(rules).unwrap();
    let headers: Vec<_> = (0..header_count).map(|_| header(rng)).collect();
    let mut found = vec![0; header_count];
    acl.lookup_batch(&headers, &mut found);
    for (header, found) in headers.iter().zip(found) {
        assert_eq!(found, linear(rules, header), "{header:?}");
        assert_eq!(found, acl.lookup(header));
    }
}

proptest! {
    #[test]
    fn finds_what_a_linear_search_finds(seed: u64, rule_count in 0usize..150) {
        let mut rng = Rng::new(seed);
        let rules: Vec<_> = (0..rule_count).map(|_| rule(&mut rng)).collect();
        compare(&rules, &mut rng, 50);
    }
}

#[test]
fn five_thousand_rules_take_more_than_one_summary_word() {
    let mut rng = Rng::new(7);
    let rules: Vec<_> = (0..5_000)
        .map(|_| Rule { src: Prefix::containing(address(&mut rng), 30), ..rule(&mut rng) })
        .collect();
    compare(&rules, &mut rng, 500);
}

#[test]
fn the_last_rule_of_a_full_list_is_found() {
    let narrow = Rule { src: Prefix::containing(1, 32), ..any_rule() };
    let mut rules = vec![narrow; RULE_COUNT_MAX];
    rules[RULE_COUNT_MAX - 1] = any_rule();
    let acl = Acl::new(&rules).unwrap();
    assert_eq!(acl.lookup(&Header::default()), RULE_COUNT_MAX as u32 - 1);
    rules.push(any_rule());
    assert_eq!(Acl::new(&rules).err(), Some(AclError::TooMany { count: RULE_COUNT_MAX + 1 }));
}

#[test]
fn an_empty_list_admits_nothing() {
    let acl = Acl::new(&[]).unwrap();
    assert_eq!((acl.lookup(&Header::default()), acl.len(), acl.is_empty()), (NO_RULE, 0, true));
}

#[test]
fn established_means_a_tcp_connection_that_exists() {
    let acl = Acl::new(&[Rule { established: true, ..any_rule() }]).unwrap();
    let syn = Header { protocol: 6, ..Header::default() };
    assert_eq!(acl.lookup(&syn), NO_RULE);
    assert_eq!(acl.lookup(&Header { established: true, ..syn }), 0);
    let udp = Rule { established: true, protocol: Some(17), ..any_rule() };
    assert_eq!(Acl::new(&[any_rule(), udp]).err(), Some(AclError::NotTcp { rule: 1, protocol: 17 }));
}

#[test]
fn a_range_from_high_to_low_is_refused() {
    let empty = Rule { dst_ports: PortRange { first: 90, last: 80 }, ..any_rule() };
    let error = Acl::new(&[empty]).err().unwrap();
    assert_eq!(error.to_string(), "rule 0: no port is in 90-80; write the lower one first");
}
