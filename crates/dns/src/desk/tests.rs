//! What the desk says to whom, without a connection or a datagram.
use super::{Asker, Desk, DeskConfig, Way};
use crate::cookie::Cookies;
use crate::message::{ExtendedError, Rcode, Rtype};
use crate::name::NameBuf;
use crate::tcp::Answered;
use crate::transfer::{Acl, Copied, Exchange, Relation, Relations, Rule};
use crate::zone::{Lack, Zone, file};
use std::sync::Arc;
use tidegate_base::{Duration, Instant};

const ZONE: &[u8] = b"$TTL 60\n@ SOA ns host 5 60 60 60 60\n@ NS ns\nns A 192.0.2.1\n";

fn name(text: &str) -> NameBuf {
    text.parse().unwrap()
}

/// A server of `own.test.`, and a copy of `copy.test.` that was never had.
fn exchange() -> Exchange {
    let anybody_here = Rule { network: Some(([192, 0, 2, 0].into(), 24)), key: None };
    let allow_transfer: Acl = [anybody_here].into_iter().collect();
    let own = Relation { allow_transfer: allow_transfer.clone(), ..Relation::default() };
    let file = std::env::temp_dir().join(format!("tidegate-never-{}", std::process::id()));
    let copied = Copied { primaries: Vec::new(), allow_notify: allow_transfer, file };
    let copy = Relation { copied: Some(copied), ..own.clone() };
    let relations =
        Relations::new(Default::default(), [(name("own.test."), own), (name("copy.test."), copy)]);
    let exchange = Exchange::start(relations, Default::default(), 3).unwrap();
    let zone = file::read_text("test", ZONE, &name("own.test.")).unwrap().zone;
    exchange.served().publish(vec![Arc::new(zone)]);
    exchange
}

fn desk(exchange: &Exchange) -> Desk {
    let cookies = Cookies::new(&[[7; 16]]);
    exchange.desk(Arc::new(DeskConfig { cookies, nsid: Some(b"desk".to_vec()), ..DeskConfig::default() }))
}

const TCP: Way = Way::Tcp { keep_alive: Duration::from_secs(10) };
const UDP: Way = Way::Udp { size_max: 1232 };

fn query(opcode: u8, apex: &str, rtype: Rtype) -> Vec<u8> {
    let mut message = vec![0x12, 0x34, opcode << 3, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    message.extend_from_slice(name(apex).as_wire());
    message.extend_from_slice(&rtype.0.to_be_bytes());
    message.extend_from_slice(&[0, 1]);
    message
}

/// The same with an OPT record that has these options.
fn with_options(mut message: Vec<u8>, options: &[u8]) -> Vec<u8> {
    message[11] = 1;
    message.extend_from_slice(&[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, options.len() as u8]);
    message.extend_from_slice(options);
    message
}

fn ask(desk: &mut Desk, message: &[u8], from: [u8; 4], way: Way) -> Option<Vec<u8>> {
    let mut room = vec![0; 65_535];
    let asker = Asker { peer: (from, 5353).into(), way };
    match desk.answer(message, asker, &mut room) {
        Answered::Message(len) => Some(room[..len].to_vec()),
        Answered::Transfer(_) | Answered::Hopeless => None,
    }
}

fn rcode(answer: Option<Vec<u8>>) -> Rcode {
    Rcode(u16::from(answer.expect("an answer")[3] & 0xf))
}

const FRIEND: [u8; 4] = [192, 0, 2, 7];
const STRANGER: [u8; 4] = [198, 51, 100, 7];

#[test]
fn a_transfer_is_for_whom_it_is_for() {
    let exchange = exchange();
    let mut desk = desk(&exchange);
    let axfr = |apex| query(0, apex, Rtype::AXFR);
    assert_eq!(rcode(ask(&mut desk, &axfr("own.test."), STRANGER, TCP)), Rcode::REFUSED);
    assert_eq!(rcode(ask(&mut desk, &axfr("other.test."), FRIEND, TCP)), Rcode::NOTAUTH);
    assert_eq!(rcode(ask(&mut desk, &axfr("ns.own.test."), FRIEND, TCP)), Rcode::NOTAUTH);
    assert_eq!(rcode(ask(&mut desk, &axfr("copy.test."), FRIEND, TCP)), Rcode::SERVFAIL);
    assert_eq!(rcode(ask(&mut desk, &axfr("own.test."), FRIEND, UDP)), Rcode::NOTIMP);
    assert!(ask(&mut desk, &axfr("own.test."), FRIEND, TCP).is_none(), "a transfer, not a message");
}

#[test]
fn an_ixfr_without_a_version_is_malformed() {
    let exchange = exchange();
    let mut desk = desk(&exchange);
    let ixfr = query(0, "own.test.", Rtype::IXFR);
    assert_eq!(rcode(ask(&mut desk, &ixfr, FRIEND, TCP)), Rcode::FORMERR);
}

#[test]
fn transfers_beyond_the_limit_are_put_off() {
    let exchange = exchange();
    let mut desk = exchange.desk(Arc::new(DeskConfig { transfer_count_max: 2, ..DeskConfig::default() }));
    let mut room = vec![0; 65_535];
    let asker = Asker { peer: (FRIEND, 5353).into(), way: TCP };
    let axfr = query(0, "own.test.", Rtype::AXFR);
    let first = desk.answer(&axfr, asker, &mut room);
    let second = desk.answer(&axfr, asker, &mut room);
    assert!(matches!((&first, &second), (Answered::Transfer(_), Answered::Transfer(_))));
    assert_eq!(rcode(ask(&mut desk, &axfr, FRIEND, TCP)), Rcode::SERVFAIL);
    drop(first);
    assert!(matches!(desk.answer(&axfr, asker, &mut room), Answered::Transfer(_)));
}

#[test]
fn news_are_heeded_from_whom_they_are_expected() {
    let exchange = exchange();
    let mut desk = desk(&exchange);
    let notify = |apex| query(4, apex, Rtype::SOA);
    assert_eq!(rcode(ask(&mut desk, &notify("copy.test."), FRIEND, UDP)), Rcode::NOERROR);
    assert_eq!(rcode(ask(&mut desk, &notify("copy.test."), STRANGER, UDP)), Rcode::REFUSED);
    assert_eq!(rcode(ask(&mut desk, &notify("own.test."), FRIEND, UDP)), Rcode::NOTAUTH);
    assert_eq!(rcode(ask(&mut desk, &query(4, "copy.test.", Rtype::A), FRIEND, UDP)), Rcode::NOTIMP);
    let answer = ask(&mut desk, &notify("copy.test."), FRIEND, UDP).unwrap();
    assert_eq!(answer[2], 0xa4, "QR, opcode NOTIFY, AA");
}

#[test]
fn options_are_answered_where_they_apply() {
    let exchange = exchange();
    let mut desk = desk(&exchange);
    let options = [0, 11, 0, 0, 0, 3, 0, 0, 0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8];
    let asked = with_options(query(0, "ns.own.test.", Rtype::A), &options);
    let over_tcp = ask(&mut desk, &asked, FRIEND, TCP).unwrap();
    let over_udp = ask(&mut desk, &asked, FRIEND, UDP).unwrap();
    let has = |answer: &[u8], part: &[u8]| answer.windows(part.len()).any(|window| window == part);
    // RFC 7828 section 3.1: ten seconds are a hundred tenths.
    assert!(has(&over_tcp, &[0, 11, 0, 2, 0, 100]));
    assert!(!has(&over_udp, &[0, 11, 0, 2]), "only over TCP");
    for answer in [&over_tcp, &over_udp] {
        assert!(has(answer, b"\0\x03\0\x04desk"));
        assert!(has(answer, &[0, 10, 0, 24, 1, 2, 3, 4, 5, 6, 7, 8]));
    }
}

#[test]
fn who_copies_is_told_for_how_long() {
    let exchange = exchange();
    let mut desk = desk(&exchange);
    let asked = |name, rtype| with_options(query(0, name, rtype), &[0, 9, 0, 0]);
    let mut said = |name, rtype| {
        let answer = ask(&mut desk, &asked(name, rtype), FRIEND, TCP).unwrap();
        answer.windows(4).any(|window| window == [0, 9, 0, 4]).then(|| answer[answer.len() - 1])
    };
    assert_eq!(said("own.test.", Rtype::SOA), Some(60), "as the SOA says");
    assert_eq!(said("own.test.", Rtype::NS), None, "nobody copies by asking that");
    assert_eq!(said("ns.own.test.", Rtype::SOA), None, "no zone");
    let served = exchange.served();
    let expires = Some(Instant::ZERO + Duration::from_secs(20));
    served.set_expiry(&name("own.test."), expires);
    assert!(said("own.test.", Rtype::SOA).is_some_and(|left_s| left_s <= 20), "what is left of a copy");
    served.set_expiry(&name("own.test."), None);
    assert_eq!(said("own.test.", Rtype::SOA), Some(60));
}

#[test]
fn what_is_not_answered_is_explained() {
    let exchange = exchange();
    let mut desk = desk(&exchange);
    let mut why = |opcode, name, rtype| {
        let asked = with_options(query(opcode, name, rtype), &[]);
        let answer = ask(&mut desk, &asked, STRANGER, TCP).unwrap();
        let at = answer.windows(4).position(|window| window == [0, 15, 0, 2])?;
        Some(ExtendedError(u16::from(answer[at + 5])))
    };
    assert_eq!(why(0, "own.test.", Rtype::AXFR), Some(ExtendedError::PROHIBITED));
    assert_eq!(why(4, "copy.test.", Rtype::SOA), Some(ExtendedError::PROHIBITED));
    assert_eq!(why(0, "copy.test.", Rtype::SOA), Some(ExtendedError::NOT_READY));
    assert_eq!(why(0, "other.test.", Rtype::A), Some(ExtendedError::NOT_AUTHORITATIVE));
    assert_eq!(why(0, "ns.own.test.", Rtype::A), None);
    exchange.served().withdraw(&name("own.test."), Lack::Unusable);
    assert_eq!(why(0, "ns.own.test.", Rtype::A), Some(ExtendedError::INVALID_DATA));
}

#[test]
fn what_is_answered_is_counted() {
    let exchange = exchange();
    let mut desk = desk(&exchange);
    ask(&mut desk, &query(0, "ns.own.test.", Rtype::A), FRIEND, TCP);
    ask(&mut desk, &query(0, "no.own.test.", Rtype::A), FRIEND, UDP);
    ask(&mut desk, &[0; 3], FRIEND, UDP);
    let counters = desk.tally().read();
    assert_eq!((counters.query_count(), counters.response_count()), (2, 1), "over UDP the responder counts");
    assert_eq!(counters.by_rcode(Rcode::NOERROR), 1);
    assert_eq!(counters.scalars.dropped_short_count, 1);
}

#[test]
fn what_is_no_query_gets_no_answer() {
    let exchange = exchange();
    let mut desk = desk(&exchange);
    let mut response = query(0, "ns.own.test.", Rtype::A);
    response[2] |= 0x80;
    assert!(ask(&mut desk, &response, FRIEND, TCP).is_none());
    assert!(ask(&mut desk, &[], FRIEND, TCP).is_none());
}

#[test]
fn a_version_that_means_two_things_has_no_steps() {
    let exchange = exchange();
    let served = exchange.served();
    let publish = |serial: u32, more: &str| {
        let hosts: String = (0..20).map(|host| format!("host{host} A 192.0.2.{host}\n")).collect();
        let text =
            format!("$TTL 60\n@ SOA ns host {serial} 60 60 60 60\n@ NS ns\nns A 192.0.2.1\n{hosts}{more}");
        let zone = Arc::new(file::read_text("test", text.as_bytes(), &name("own.test.")).unwrap().zone);
        served.publish(vec![Arc::clone(&zone)]);
        zone
    };
    let steps = |from, zone: &Arc<Zone>| served.way(from, zone).map(|steps| steps.len());
    publish(6, "");
    publish(7, "a A 192.0.2.2\n");
    let again = publish(7, "a A 192.0.2.2\n");
    assert_eq!(steps(6, &again), Some(1), "the same again changes nothing");
    let ambiguous = publish(7, "b A 192.0.2.2\n");
    assert_eq!(steps(6, &ambiguous), None);
    let next = publish(8, "c A 192.0.2.2\n");
    assert_eq!(steps(7, &next), Some(1));
}
