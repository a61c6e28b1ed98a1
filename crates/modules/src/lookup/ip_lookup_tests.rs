//! Routes on real headers: the longest prefix decides.

use super::*;
use crate::rig::{Rig, packet};
use tidegate_base::Rng;

fn to(dst: u32) -> Vec<u8> {
    packet(17, (1, 9), (dst, 53), 0, b"data")
}

fn tagged(dst: u32) -> Vec<u8> {
    let mut frame = to(dst);
    frame.splice(12..12, [0x81, 0, 0, 5]);
    frame
}

fn lookup() -> IpLookup {
    IpLookup::new(IpLookupParams::default()).unwrap()
}

#[test]
fn packets_go_by_the_longest_prefix() {
    let mut module = lookup();
    module.add(Ipv4Addr::new(10, 0, 0, 0), 8, 1).unwrap();
    module.add(Ipv4Addr::new(10, 1, 0, 0), 16, 2).unwrap();
    module.add(Ipv4Addr::new(10, 1, 2, 128), 25, 3).unwrap();
    let mut rig = Rig::with_gates(module, 1, 5);
    assert_eq!(rig.gate_of(&to(0x0a02_0001)), Some(1));
    assert_eq!(rig.gate_of(&to(0x0a01_0001)), Some(2));
    assert_eq!(rig.gate_of(&to(0x0a01_0280)), Some(3));
    assert_eq!(rig.gate_of(&tagged(0x0a01_0280)), Some(3));
    assert_eq!(rig.gate_of(&to(0x0b01_0280)), None);
    rig.module::<IpLookup>().add(Ipv4Addr::UNSPECIFIED, 0, 4).unwrap();
    assert_eq!(rig.gate_of(&to(0x0b01_0280)), Some(4));
    rig.module::<IpLookup>().delete(Ipv4Addr::new(10, 1, 2, 128), 25).unwrap();
    assert_eq!(rig.gate_of(&to(0x0a01_0280)), Some(2));
    rig.module::<IpLookup>().clear();
    assert_eq!(rig.gate_of(&to(0x0a01_0280)), None);
    assert_eq!(rig.module::<IpLookup>().counters(), [("routes", 0), ("no_route", 2)]);
    rig.retire();
}

#[test]
fn route_to_nowhere_drops_what_a_shorter_one_would_take() {
    let mut module = lookup();
    module.add(Ipv4Addr::new(10, 0, 0, 0), 8, 1).unwrap();
    module.add(Ipv4Addr::new(10, 1, 0, 0), 16, DROP_GATE).unwrap();
    let mut routes: Vec<_> = module.routes().collect();
    routes.sort_unstable();
    assert_eq!(routes, [(Ipv4Addr::new(10, 0, 0, 0), 8, 1), (Ipv4Addr::new(10, 1, 0, 0), 16, DROP_GATE)]);
    let mut rig = Rig::with_gates(module, 1, 2);
    assert_eq!(rig.gate_of(&to(0x0a00_0001)), Some(1));
    assert_eq!(rig.gate_of(&to(0x0a01_0001)), None);
    assert_eq!(rig.drops(DropReason::Policy), 1);
    assert!(rig.module::<IpLookup>().add(Ipv4Addr::UNSPECIFIED, 0, DROP_GATE + 1).is_err());
    rig.retire();
}

#[test]
fn random_routes_agree_with_a_search_of_all() {
    let mut rng = Rng::new(3);
    let mut module = lookup();
    let mut routes = Vec::new();
    for _ in 0..100 {
        let len = rng.below(27);
        let network = 0x0a00_0000 | rng.below(1 << 20) as u32;
        let network = network & !u32::MAX.checked_shr(len as u32).unwrap_or(0);
        routes.retain(|(other, other_len, _)| (*other, *other_len) != (network, len));
        let gate = rng.below(7);
        routes.push((network, len, gate));
        module.add(network.into(), len, gate).unwrap();
    }
    let mut rig = Rig::with_gates(module, 1, 7);
    for _ in 0..500 {
        let address = 0x0a00_0000 | rng.below(1 << 21) as u32;
        let covers = |network: u32, len: u64| {
            (address ^ network) & !u32::MAX.checked_shr(len as u32).unwrap_or(0) == 0
        };
        let best = routes.iter().filter(|(network, len, _)| covers(*network, *len)).max_by_key(|it| it.1);
        assert_eq!(rig.gate_of(&to(address)), best.map(|it| it.2 as usize));
    }
    rig.retire();
}

#[test]
fn what_is_no_ipv4_is_dropped() {
    let mut module = lookup();
    module.add(Ipv4Addr::UNSPECIFIED, 0, 0).unwrap();
    let mut rig = Rig::with_gates(module, 1, 1);
    let mut arp = to(1);
    arp[13] = 6;
    let mut version = to(1);
    version[14] = 0x65;
    let good = to(1);
    let left = rig.pass_into(0, &[&arp, &good, &version, &good[..33], &good[..13]]);
    assert_eq!(left, [(0, good.clone())]);
    assert_eq!(rig.drops(DropReason::UnknownProtocol), 1);
    assert_eq!(rig.drops(DropReason::Malformed), 3);
    rig.survives_garbage(1, &good, 14);
}

#[test]
fn wrong_arguments_say_what_is_wrong() {
    let mut module = IpLookup::new(IpLookupParams { max_rules: 1, max_tbl8s: 0 }).unwrap();
    let net = Ipv4Addr::new(10, 0, 0, 1);
    assert!(module.add(net, 33, 0).unwrap_err().to_string().contains("0 to 32"));
    assert!(module.add(net, 8, 0).unwrap_err().to_string().contains("the network is 10.0.0.0/8"));
    assert!(module.add(net, 32, 0).is_err());
    module.add(Ipv4Addr::new(10, 0, 0, 0), 8, 0).unwrap();
    assert!(module.add(Ipv4Addr::new(11, 0, 0, 0), 8, 0).unwrap_err().to_string().contains("max_rules"));
    assert!(module.delete(Ipv4Addr::new(12, 0, 0, 0), 8).is_err());
}
