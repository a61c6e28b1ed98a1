//! Ours as the primary: what secondaries and kdig get, and what they do not.

use crate::ours::Ours;
use crate::peer::{KINDS, Kind, Peer};
use crate::scene::{
    APEX, KEY, PATIENCE, SECRET, allow, as_primary, axfr, kdig, key, listing, testbed, wait_for, zone,
};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use tidegate_testbed::Testbed;

const OURS: &str = "@10.78.0.2";

fn signature() -> String {
    format!("-y hmac-sha256:{KEY}:{SECRET}")
}

/// Our server with the first version of a zone of `host_count` hosts, for whom `network` and `key` let in.
fn serving(
    bed: &Arc<Testbed>,
    faults: &str,
    host_count: u32,
    network: Option<&str>,
    key: Option<&str>,
) -> Ours {
    let ours = Ours::start(bed, faults, as_primary(allow(network, key), &[], None));
    ours.exchange.served().publish(vec![zone(1, host_count)]);
    ours
}

/// Lines of AXFR from ours must be as many as there are records.
fn record_count(serial: u32, host_count: u32) -> usize {
    listing(&zone(serial, host_count)).len()
}

#[test]
fn kdig_gets_the_whole_zone_by_address() {
    let bed = testbed();
    let _ours = serving(&bed, "", 3000, Some("10.78.0.0"), None);
    assert_eq!(axfr(&bed, OURS, "").len(), record_count(1, 3000));
    assert_eq!(axfr(&bed, "@fd78::2", "").len(), 0, "an IPv6 address is not in that network");
}

#[test]
fn kdig_gets_the_whole_zone_by_key() {
    let bed = testbed();
    let _ours = serving(&bed, "", 3000, None, Some(KEY));
    for server in [OURS, "@fd78::2"] {
        assert_eq!(axfr(&bed, server, &signature()).len(), record_count(1, 3000));
    }
}

#[test]
fn who_is_not_named_is_refused() {
    let bed = testbed();
    let _ours = serving(&bed, "", 10, Some("192.0.2.0"), Some(KEY));
    for asked in [format!("{OURS} {APEX} AXFR"), format!("{OURS} {APEX} AXFR {}", signature())] {
        let said = kdig(&bed, &asked);
        assert!(said.contains("REFUSED"), "{asked}: {said}");
    }
    assert!(kdig(&bed, &format!("{OURS} other.test. AXFR")).contains("NOTAUTH"));
}

#[test]
fn a_wrong_key_and_a_wrong_secret_are_told_apart() {
    let bed = testbed();
    let _ours = serving(&bed, "", 10, None, Some(KEY));
    let other = kdig(&bed, &format!("{OURS} {APEX} SOA -y hmac-sha256:other.key.:{SECRET}"));
    assert!(other.contains("status: BADKEY"), "{other}");
    let wrong = kdig(&bed, &format!("{OURS} {APEX} SOA -y hmac-sha256:{KEY}:d3Jvbmc="));
    assert!(wrong.contains("status: BADSIG"), "{wrong}");
}

#[test]
fn signed_queries_get_signed_answers_over_udp_and_tcp() {
    let bed = testbed();
    let _ours = serving(&bed, "", 10, None, Some(KEY));
    for way in ["+notcp", "+tcp"] {
        let said = kdig(&bed, &format!("{OURS} host1.{APEX} A {way} {}", signature()));
        assert!(said.contains("10.0.0.1") && !said.contains("WARNING"), "{way}: {said}");
        assert!(said.contains("TSIG PSEUDOSECTION"), "{way}: {said}");
    }
}

#[test]
fn kdig_gets_the_steps() {
    let bed = testbed();
    let ours = serving(&bed, "", 30, Some("10.78.0.0"), None);
    ours.exchange.served().publish(vec![zone(2, 30)]);
    ours.exchange.served().publish(vec![zone(3, 30)]);
    let steps = kdig(&bed, &format!("{OURS} {APEX} IXFR=1 +noall +answer"));
    let soas = steps.lines().filter(|line| line.contains("SOA")).count();
    assert_eq!(soas, 4, "one before, one behind, and two for both steps in one: {steps}");
    assert_eq!(steps.lines().filter(|line| line.starts_with("host")).count(), 20, "{steps}");
    let none = kdig(&bed, &format!("{OURS} {APEX} IXFR=3 +noall +answer"));
    assert_eq!(none.lines().filter(|line| !line.starts_with(';') && !line.is_empty()).count(), 1, "{none}");
    let whole = kdig(&bed, &format!("{OURS} {APEX} IXFR=99999 +noall +answer"));
    assert!(whole.lines().filter(|line| line.starts_with("host")).count() <= 30, "{whole}");
}

#[test]
fn an_ixfr_over_udp_is_short_or_only_the_version() {
    let bed = testbed();
    let ours = serving(&bed, "", 30, Some("10.78.0.0"), None);
    ours.exchange.served().publish(vec![zone(2, 30)]);
    let short = kdig(&bed, &format!("{OURS} {APEX} IXFR=1 +notcp +bufsize=1232 +noall +answer"));
    assert_eq!(short.lines().filter(|line| line.starts_with("host")).count(), 20, "{short}");
    ours.exchange.served().publish(vec![zone(3, 3000)]);
    let long = kdig(&bed, &format!("{OURS} {APEX} IXFR=2 +notcp +ignore +bufsize=1232 +noall +answer"));
    assert_eq!(long.lines().filter(|line| line.contains("IN\tSOA")).count(), 1, "{long}");
}

#[test]
fn a_transfer_arrives_whole_where_frames_are_lost() {
    let bed = testbed();
    let ours = serving(&bed, "loss=1%", 60_000, None, Some(KEY));
    assert_eq!(axfr(&bed, OURS, &format!("{} +timeout=30", signature())).len(), record_count(1, 60_000));
    assert_eq!(ours.tcp_counters().transfer_done_count, 1);
}

/// The peer copies version 1, is told of version 2, and has what we have.
fn copies_and_follows(kind: Kind, signed: bool) {
    let bed = testbed();
    let (network, name) = if signed { (None, Some(KEY)) } else { (Some("10.78.0.0"), None) };
    let notified: [SocketAddr; 1] = [kind.address()];
    let relations = as_primary(allow(network, name), &notified, signed.then(key).as_ref());
    let ours = Ours::start(&bed, "", relations);
    ours.exchange.served().publish(vec![zone(1, 2000)]);
    let peer = Peer::secondary(&bed, kind, signed);
    let has = |serial: u32| {
        let what = format!("{kind:?} has version {serial}");
        wait_for(&what, || peer.serial() == Some(serial));
    };
    has(1);
    ours.exchange.served().publish(vec![zone(2, 2000)]);
    has(2);
    let counters = ours.tcp_counters();
    assert!(counters.transfer_done_count >= 2, "{counters:?}\n{}", peer.said());
    if kind == Kind::Knot {
        assert!(peer.said().contains("IXFR"), "{}", peer.said());
    }
    // A third version goes out while the second is being looked at.
    ours.exchange.served().publish(vec![zone(3, 1000)]);
    has(3);
    assert_eq!(ours.zone().map(|zone| zone.serial()), Some(3));
}

#[test]
fn knot_copies_and_follows() {
    copies_and_follows(Kind::Knot, false);
}

#[test]
fn nsd_copies_and_follows() {
    copies_and_follows(Kind::Nsd, false);
}

#[test]
fn bind_copies_and_follows() {
    copies_and_follows(Kind::Bind, false);
}

#[test]
fn all_copy_and_follow_with_a_key() {
    for kind in KINDS {
        copies_and_follows(kind, true);
    }
}

#[test]
fn who_copies_is_told_for_how_long_whatever_is_ready() {
    let bed = testbed();
    let _ours = serving(&bed, "", 10, Some("10.78.0.0"), None);
    // RFC 7314 section 2: an OPT record with an empty EXPIRE option.
    let mut query = b"\0\x07\0\0\0\x01\0\0\0\0\0\x01\x07example\x04test\0\0\x06\0\x01".to_vec();
    let plain_opt = b"\0\0\x29\x04\xd0\0\0\0\0\0\0";
    let asked = [&query[..], plain_opt].concat();
    query.extend(b"\0\0\x29\x04\xd0\0\0\0\0\0\x04\0\x09\0\0");
    let ask = |query: &[u8]| {
        let socket = UdpSocket::bind("10.78.0.1:0")?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.send_to(query, "10.78.0.2:53")?;
        let mut answer = vec![0; 1232];
        let len = socket.recv(&mut answer)?;
        answer.truncate(len);
        std::io::Result::Ok(answer)
    };
    let answers = bed.client().run(|| [ask(&asked), ask(&query), ask(&query)]).expect("a thread");
    let [plain, first, again] = answers.map(|answer| answer.expect("an answer"));
    assert!(!plain.ends_with(&86_400_u32.to_be_bytes()));
    for answer in [first, again] {
        assert!(answer.ends_with(&[&[0, 9, 0, 4], &86_400_u32.to_be_bytes()[..]].concat()), "{answer:?}");
    }
}
