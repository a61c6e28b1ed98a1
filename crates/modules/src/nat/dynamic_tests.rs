//! Translations both ways, checksums included, ports that run out, entries that end.

use super::*;
use crate::nat::NatPortRange;
use crate::rig::{Rig, checksums_hold, packet};
use tidegate_base::Rng;

const OUT: u32 = 0xc000_0201;
const PEER: (u32, u16) = (0x0808_0808, 53);

fn nat(ranges: &[(u16, u16)], flow_count_max: usize) -> Nat {
    let port_ranges = ranges
        .iter()
        .map(|(begin, end)| NatPortRange { begin: *begin, end: *end, suspended: false })
        .collect();
    let external = vec![ExternalAddress { address: OUT.into(), port_ranges }];
    Nat::new(NatParams { external, flow_count_max, timeouts: NatTimeouts::default(), seed: 1 }).unwrap()
}

fn rig(nat: Nat) -> Rig {
    Rig::with_gates(nat, 2, 2)
}

/// A packet through, `secs` after the start; the address and port that it has at the end that is translated.
fn through(rig: &mut Rig, gate: usize, frame: &[u8], secs: u64) -> Option<(u32, u16)> {
    rig.feed(gate, &[frame]);
    let mut seen = rig.round(Instant::from_millis(1 + secs * 1000));
    let (out, frame) = seen.pop()?;
    assert_eq!(out, 1 - gate);
    assert!(checksums_hold(&frame), "{frame:02x?}");
    let (address, port) = if gate == 0 { (26, 34) } else { (30, 36) };
    let port = if frame[23] == 1 { 38 } else { port };
    let word = u32::from_be_bytes(frame[address..address + 4].try_into().unwrap());
    Some((word, u16::from_be_bytes([frame[port], frame[port + 1]])))
}

fn counter(rig: &mut Rig, name: &str) -> u64 {
    rig.module::<Nat>().counters().into_iter().find(|(it, _)| *it == name).unwrap().1
}

#[test]
fn there_and_back_for_every_protocol() {
    let mut rig = rig(nat(&[], 1000));
    let mut rng = Rng::new(2);
    for turn in 0..300 {
        let protocol = [6, 17, 1][turn % 3];
        let inside = (0x0a00_0000 | rng.below(50) as u32, 1 + rng.below(5) as u16);
        let payload = vec![rng.next_u32() as u8; rng.below(40) as usize];
        let out = packet(protocol, inside, PEER, if protocol == 1 { 8 } else { 2 }, &payload);
        let outside = through(&mut rig, 0, &out, 0).unwrap();
        assert_eq!(outside.0, OUT);
        assert!(outside.1 >= 1024);
        assert_eq!(through(&mut rig, 0, &out, 0), Some(outside), "the mapping stays");
        let mut back = packet(protocol, PEER, outside, 0, &payload);
        if protocol == 1 {
            back = packet(1, (PEER.0, outside.1), (OUT, 0), 0, &payload);
        }
        assert_eq!(through(&mut rig, 1, &back, 0), Some(inside));
    }
    rig.retire();
}

#[test]
fn udp_without_a_checksum_stays_without() {
    let mut rig = rig(nat(&[], 10));
    let mut frame = packet(17, (1, 1), PEER, 0, b"data");
    frame[40..42].fill(0);
    through(&mut rig, 0, &frame, 0).unwrap();
    let seen = rig.pass_into(0, &[&frame]).remove(0).1;
    assert_eq!(seen[40..42], [0, 0]);
    rig.retire();
}

#[test]
fn two_packets_of_a_new_flow_in_one_batch_share_a_port() {
    let mut rig = rig(nat(&[(5000, 5001)], 10));
    let frame = packet(17, (1, 1), PEER, 0, b"data");
    let seen = rig.pass_into(0, &[&frame, &frame, &frame]);
    assert_eq!(seen.len(), 3);
    assert!(seen.iter().all(|it| it == &seen[0]));
    assert_eq!(counter(&mut rig, "opened"), 1);
    rig.retire();
}

#[test]
fn ports_come_back_when_mappings_expire() {
    let mut rig = rig(nat(&[(5000, 5003)], 100));
    let udp = |host| packet(17, (host, 1), PEER, 0, b"data");
    let mut ports: Vec<u16> = (0..4).map(|host| through(&mut rig, 0, &udp(host), 0).unwrap().1).collect();
    ports.sort_unstable();
    assert_eq!(ports, [5000, 5001, 5002, 5003]);
    assert_eq!(through(&mut rig, 0, &udp(4), 1), None);
    assert_eq!(counter(&mut rig, "no_port"), 1);
    assert_eq!(rig.drops(DropReason::ConnectionLimit), 1);
    let back = packet(17, PEER, (OUT, 5000), 0, b"data");
    assert!(through(&mut rig, 1, &back, 299).is_some(), "what comes back keeps a mapping too");
    assert!(through(&mut rig, 0, &udp(4), 301).is_some());
    assert!(through(&mut rig, 1, &back, 600).is_none(), "and is over");
    assert!(counter(&mut rig, "expired") >= 3);
    rig.retire();
}

#[test]
fn a_connection_lives_long_until_it_ends() {
    let mut rig = rig(nat(&[(5000, 5000)], 100));
    let tcp = |flags| packet(6, (1, 1), PEER, flags, b"");
    let back = packet(6, PEER, (OUT, 5000), 0x12, b"");
    assert!(through(&mut rig, 0, &tcp(2), 0).is_some());
    assert!(through(&mut rig, 1, &back, 1).is_some());
    assert!(through(&mut rig, 1, &back, 7000).is_some(), "established");
    assert!(through(&mut rig, 0, &tcp(0x11), 7001).is_some(), "FIN");
    assert!(through(&mut rig, 1, &back, 7240).is_some());
    assert!(through(&mut rig, 1, &back, 7481).is_none(), "transitory");
    rig.retire();
}

#[test]
fn what_cannot_be_translated_is_dropped_for_a_reason() {
    let mut rig = rig(nat(&[], 1));
    let good = packet(17, (1, 1), PEER, 0, b"data");
    let (mut arp, mut fragment, mut gre) = (good.clone(), good.clone(), good.clone());
    (arp[13], fragment[20], gre[23]) = (6, 0x20, 47);
    let reply = packet(1, (1, 1), PEER, 0, b"");
    let other = packet(17, (2, 1), PEER, 0, b"data");
    let seen = rig.pass_into(0, &[&arp, &good, &fragment, &gre, &reply, &good[..40], &other]);
    assert_eq!(seen.len(), 1);
    assert_eq!(rig.drops(DropReason::UnknownProtocol), 3);
    assert_eq!(rig.drops(DropReason::Fragment), 1);
    assert_eq!(rig.drops(DropReason::Malformed), 1);
    assert_eq!(rig.drops(DropReason::ConnectionLimit), 1, "the table has one entry");
    assert!(rig.pass_into(1, &[&packet(17, PEER, (OUT, 9), 0, b"")]).is_empty());
    assert_eq!(rig.drops(DropReason::NoListener), 1);
    rig.survives_garbage(2, &good, 16);
}

#[test]
fn suspended_ports_take_no_mappings() {
    let range = |begin, end, suspended| NatPortRange { begin, end, suspended };
    let port_ranges = vec![range(5000, 5002, false), range(5001, 5002, true)];
    let external = vec![ExternalAddress { address: OUT.into(), port_ranges }];
    let params = NatParams { external, flow_count_max: 10, timeouts: NatTimeouts::default(), seed: 1 };
    let mut rig = rig(Nat::new(params).unwrap());
    assert_eq!(through(&mut rig, 0, &packet(17, (1, 1), PEER, 0, b""), 0), Some((OUT, 5000)));
    assert_eq!(through(&mut rig, 0, &packet(17, (2, 1), PEER, 0, b""), 0), None);
    rig.retire();
}

#[test]
fn wrong_parameters_say_what_is_wrong() {
    let error = |addresses: &[(u32, u16, u16)], flow_count_max| {
        let external = |(address, begin, end): &(u32, u16, u16)| ExternalAddress {
            address: (*address).into(),
            port_ranges: vec![NatPortRange { begin: *begin, end: *end, suspended: false }],
        };
        let external = addresses.iter().map(external).collect();
        let params = NatParams { external, flow_count_max, timeouts: NatTimeouts::default(), seed: 1 };
        Nat::new(params).err().unwrap().to_string()
    };
    assert!(error(&[], 1).contains("no external addresses"));
    assert!(error(&[(1, 5, 4)], 1).contains("5-4 of 0.0.0.1 is empty"));
    assert!(error(&[(1, 5, 6), (1, 7, 8)], 1).contains("given twice"));
    assert!(error(&[(1, 5, 6)], 0).contains("a table of 0 flows"));
}
