//! The modules that are no kind of their own: ARP, dumps, buffers, and those that do nothing.
use crate::rig::{Packet, Rig, survives};
use crate::{ArpResponder, Buffer, Bypass, BypassParams, DUMP_INTERVAL_DEFAULT, Dump, Hex, NoOp};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use tidegate_base::{DropReason, Duration, Instant};
use tidegate_packet::{Batch, SCRATCH_LEN};
use tidegate_pipeline::Module;
use tidegate_wire::arp::{ArpRepr, Operation};
use tidegate_wire::{EtherType, EthernetHeader, MacAddr};

const OURS: (Ipv4Addr, MacAddr) = (Ipv4Addr::new(10, 0, 0, 1), MacAddr([2, 0, 0, 0, 0, 1]));
const PEER: (Ipv4Addr, MacAddr) = (Ipv4Addr::new(10, 0, 0, 9), MacAddr([2, 0, 0, 0, 0, 9]));

fn arp_frame(operation: Operation, from: (Ipv4Addr, MacAddr), target_ip: Ipv4Addr) -> Vec<u8> {
    let mut frame = vec![0; 14 + 28 + 18];
    frame[..6].fill(0xff);
    frame[6..12].copy_from_slice(&from.1.0);
    frame[12..14].copy_from_slice(&[8, 6]);
    let target_mac = MacAddr::default();
    ArpRepr { operation, sender_mac: from.1, sender_ip: from.0, target_mac, target_ip }
        .emit(&mut frame[14..]);
    frame
}

fn responder(answers_for_neighbours: bool) -> Rig {
    let mut module = ArpResponder::new(answers_for_neighbours, 1);
    module.add(OURS.0, OURS.1).unwrap();
    Rig::new(module)
}

#[test]
fn arp_requests_for_our_addresses_are_answered() {
    let mut rig = responder(false);
    let out = rig.pass_one(&arp_frame(Operation::Request, PEER, OURS.0));
    let (ethernet, packet) = EthernetHeader::parse(&out).unwrap();
    assert_eq!((ethernet.dst, ethernet.src, ethernet.ether_type()), (PEER.1, OURS.1, EtherType::Arp));
    let expected = ArpRepr {
        operation: Operation::Reply,
        sender_mac: OURS.1,
        sender_ip: OURS.0,
        target_mac: PEER.1,
        target_ip: PEER.0,
    };
    assert_eq!(ArpRepr::parse(packet), Ok(expected));
    assert_eq!((out.len(), rig.counter("answered")), (60, 1));
}

#[test]
fn who_sends_arp_is_learned() {
    let mut rig = responder(false);
    let other = Ipv4Addr::new(10, 0, 0, 77);
    assert_eq!(rig.pass(&[arp_frame(Operation::Request, PEER, other)]), []);
    assert_eq!(rig.pass(&[arp_frame(Operation::Reply, (other, MacAddr([4; 6])), OURS.0)]), []);
    let module = rig.module::<ArpResponder>();
    assert_eq!(module.neighbour(PEER.0), Some(PEER.1));
    assert_eq!(module.neighbour(other), Some(MacAddr([4; 6])));
    let moved = (other, MacAddr([6; 6]));
    rig.pass(&[arp_frame(Operation::Request, moved, OURS.0)]);
    assert_eq!(rig.module::<ArpResponder>().neighbour(other), Some(moved.1));
    assert_eq!(rig.pass(&[arp_frame(Operation::Request, PEER, other)]), [], "not asked to answer for it");
    assert_eq!(rig.drops(DropReason::Policy), 3);
    assert_eq!(rig.module::<ArpResponder>().neighbours().count(), 2);
}

#[test]
fn neighbours_are_answered_for_if_asked() {
    let mut rig = responder(true);
    let other = (Ipv4Addr::new(10, 0, 0, 77), MacAddr([4; 6]));
    rig.pass(&[arp_frame(Operation::Request, other, PEER.0)]);
    let out = rig.pass_one(&arp_frame(Operation::Request, PEER, other.0));
    assert_eq!(ArpRepr::parse(&out[14..]).unwrap().sender_mac, other.1);
}

#[test]
fn nobody_is_learned_who_has_no_address_or_claims_ours() {
    let mut rig = responder(false);
    let probe = (Ipv4Addr::UNSPECIFIED, PEER.1);
    assert_eq!(rig.pass(&[arp_frame(Operation::Request, probe, OURS.0)]).len(), 1, "a probe is answered");
    rig.pass(&[arp_frame(Operation::Reply, (OURS.0, PEER.1), PEER.0)]);
    rig.pass(&[arp_frame(Operation::Reply, (PEER.0, MacAddr::BROADCAST), OURS.0)]);
    assert_eq!(rig.counter("learned"), 0);
    assert!(rig.module::<ArpResponder>().add(PEER.0, MacAddr::BROADCAST).is_err());
    let crowd: Vec<_> = (0..5000_u32)
        .map(|n| arp_frame(Operation::Reply, (Ipv4Addr::from(0x0b00_0000 + n), PEER.1), OURS.0))
        .collect();
    rig.pass(&crowd);
    assert_eq!(rig.counter("learned"), 4096);
    assert_eq!(rig.pass(&[vec![1; 60], vec![]]), []);
    assert_eq!(rig.drops(DropReason::Malformed), 2);
}

#[test]
fn dumps_come_once_an_interval() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let viewer = move |now, data: &[u8]| log.lock().unwrap().push((now, data.to_vec()));
    let mut rig = Rig::new(Dump::new(Duration::from_millis(10), Box::new(viewer)).unwrap());
    for n in 0..25 {
        assert_eq!(rig.pass(&[vec![n], vec![99]]).len(), 2);
    }
    let expected = [(1, 0), (11, 10), (21, 20)].map(|(ms, n)| (Instant::from_millis(ms), vec![n]));
    assert_eq!(*seen.lock().unwrap(), expected);
    rig.module::<Dump>().set_interval(Duration::ZERO).unwrap();
    rig.pass(&vec![vec![1]; 64]);
    assert_eq!(rig.counter("shown"), 5);
    assert!(Dump::new(Duration::from_secs(86_401), Box::new(|_, _| {})).is_err());
    assert!(Dump::new(DUMP_INTERVAL_DEFAULT, Box::new(|_, _| {})).is_ok());
}

#[test]
fn bytes_are_shown_sixteen_a_line() {
    let shown = Hex(b"GET / HTTP/1.1\r\n\x00~").to_string();
    let first = "0000  47 45 54 20 2f 20 48 54 54 50 2f 31 2e 31 0d 0a  GET / HTTP/1.1..";
    let second = format!("0010  00 7e{:44}.~", "");
    assert_eq!(shown, format!("{first}\n{second}\n"));
    assert_eq!(Hex(&[]).to_string(), "");
}

#[test]
fn a_buffer_lets_full_batches_go() {
    let mut rig = Rig::new(Buffer::default());
    let numbered = |range: std::ops::Range<u8>| -> Vec<Vec<u8>> { range.map(|n| vec![n]).collect() };
    assert_eq!(rig.pass(&numbered(0..20)), []);
    assert_eq!(rig.counter("held"), 20);
    let out = rig.pass(&numbered(20..50));
    assert_eq!(out.iter().map(|it| it.1[0]).collect::<Vec<_>>(), (0..32).collect::<Vec<_>>());
    assert_eq!(rig.pass(&numbered(50..64)).len(), 32);
    assert_eq!(rig.pass(&numbered(0..32)).len(), 32, "a full batch goes straight through");
    assert_eq!((rig.counter("held"), rig.kept_count()), (0, 0));
    survives(Buffer::default(), 31);
}

#[test]
fn a_buffer_that_leaves_gives_its_frames_back() {
    let mut pool =
        tidegate_packet::Pool::new(Box::new(tidegate_packet::HeapMemory::new(8 * 2048)), 2048).unwrap();
    let mut buffer = Buffer::default();
    let mut batch = Batch::new();
    pool.alloc_batch(8, 60, &mut batch);
    buffer.hold(&mut batch);
    assert_eq!(pool.free_count(), 0);
    buffer.retire(&mut pool);
    assert_eq!(pool.free_count(), 8);
}

#[test]
fn bypass_spends_what_it_is_told_and_changes_nothing() {
    let params = BypassParams { cycles_per_batch: 1000, cycles_per_packet: 100, cycles_per_byte: 1 };
    let packet = |gate| Packet { gate, data: vec![gate as u8; 60], scratch: [5; SCRATCH_LEN] };
    for module in [Bypass::default(), Bypass::new(params)] {
        let mut out = Rig::new(module).pass_packets(&[packet(1), packet(0), packet(1)]);
        out.sort_by_key(|it| it.gate);
        assert_eq!(out, [packet(0), packet(1), packet(1)]);
    }
}

#[test]
fn no_op_has_its_turns() {
    let mut rig = Rig::new(NoOp::default());
    rig.pass(&[]);
    rig.pass(&[]);
    assert_eq!(rig.counter("turns"), 2);
}

#[test]
fn hostile_frames_stop_no_module() {
    survives(ArpResponder::new(true, 3), 0);
    survives(Dump::new(Duration::ZERO, Box::new(|_, data| drop(Hex(data).to_string()))).unwrap(), 0);
    survives(Bypass::default(), 0);
}
