//! Ours as the secondary: zones copied from Knot, NSD and BIND, followed, kept and given up.

use crate::ours::Ours;
use crate::peer::{KINDS, Kind, Peer};
use crate::scene::{
    APEX, TIMERS, apex, as_secondary, kdig, kept, key, listing, scratch, testbed, wait_for, zone, zone_text,
};
use tidegate_dns::zone::file;

fn serves(ours: &Ours, serial: u32) -> bool {
    ours.zone().is_some_and(|zone| zone.serial() == serial)
}

fn listing_of(text: &str) -> Vec<String> {
    listing(&file::read_text("test", text.as_bytes(), &apex()).unwrap().zone)
}

/// Ours copies version 1 from the peer, hears of version 2, and has what the peer has.
fn copied_and_followed(kind: Kind, signed: bool) {
    let (bed, dir) = (testbed(), scratch());
    let versions = [1, 2].map(|serial| zone_text(serial, 1500, TIMERS));
    let peer = Peer::primary(&bed, kind, signed, &versions[0]);
    wait_for("the peer serves", || peer.serial() == Some(1));
    let ours = Ours::start(&bed, "", as_secondary(kind.address(), signed.then(key), kept(&dir)));
    wait_for("a first copy", || serves(&ours, 1));
    assert_eq!(listing(&ours.zone().unwrap()), listing_of(&versions[0]), "{kind:?}");
    peer.change(&versions[1]);
    wait_for("the peer's second version", || peer.serial() == Some(2));
    wait_for("a second copy", || serves(&ours, 2));
    assert_eq!(listing(&ours.zone().unwrap()), listing_of(&versions[1]), "{kind:?}");
    if kind != Kind::Nsd {
        assert!(peer.said().contains("IXFR"), "{}", peer.said());
    }
    let answer = kdig(&bed, &format!("@10.78.0.2 host0.{APEX} A +short"));
    assert_eq!(answer.trim(), "10.2.0.0");
}

#[test]
fn copied_from_knot() {
    copied_and_followed(Kind::Knot, false);
}

#[test]
fn copied_from_nsd() {
    copied_and_followed(Kind::Nsd, false);
}

#[test]
fn copied_from_bind() {
    copied_and_followed(Kind::Bind, false);
}

#[test]
fn copied_from_all_with_a_key() {
    for kind in KINDS {
        copied_and_followed(kind, true);
    }
}

/// RFC 1034 section 4.3.5: without a NOTIFY a new version is found when REFRESH has passed.
#[test]
fn a_new_version_is_found_by_refresh_alone() {
    for kind in KINDS {
        let (bed, dir) = (testbed(), scratch());
        let peer = Peer::silent_primary(&bed, kind, false, &zone_text(1, 20, "2 1 86400"));
        wait_for("the peer serves", || peer.serial() == Some(1));
        let ours = Ours::start(&bed, "", as_secondary(kind.address(), None, kept(&dir)));
        wait_for("a first copy", || serves(&ours, 1));
        peer.change(&zone_text(2, 20, "3600 1 86400"));
        wait_for("the peer's second version", || peer.serial() == Some(2));
        wait_for("a second copy", || serves(&ours, 2));
        assert_eq!(listing(&ours.zone().unwrap()), listing_of(&zone_text(2, 20, "3600 1 86400")), "{kind:?}");
        let said = peer.said().to_lowercase();
        assert!(!said.contains("notify, outgoing") && !said.contains("sending notifies"), "{said}");
    }
}

#[test]
fn a_kept_copy_is_served_without_its_primary() {
    let (bed, dir) = (testbed(), scratch());
    let relations = || as_secondary(Kind::Knot.address(), None, kept(&dir));
    {
        let peer = Peer::primary(&bed, Kind::Knot, false, &zone_text(1, 20, TIMERS));
        wait_for("the peer serves", || peer.serial() == Some(1));
        let ours = Ours::start(&bed, "", relations());
        wait_for("a copy", || serves(&ours, 1));
    }
    let ours = Ours::start(&bed, "", relations());
    assert_eq!(listing(&ours.zone().unwrap()), listing(&zone(1, 20)));
    assert_eq!(kdig(&bed, &format!("@10.78.0.2 host1.{APEX} A +short")).trim(), "10.0.0.1");
}

#[test]
fn a_damaged_copy_is_fetched_again() {
    let (bed, dir) = (testbed(), scratch());
    std::fs::write(kept(&dir), b"tidegate-zone 1\nand half of a message").unwrap();
    let peer = Peer::primary(&bed, Kind::Knot, false, &zone_text(1, 20, TIMERS));
    wait_for("the peer serves", || peer.serial() == Some(1));
    let ours = Ours::start(&bed, "", as_secondary(Kind::Knot.address(), None, kept(&dir)));
    wait_for("a copy", || serves(&ours, 1));
    assert_eq!(listing(&ours.zone().unwrap()), listing(&zone(1, 20)));
}

#[test]
fn a_copy_expires_and_comes_back() {
    let (bed, dir) = (testbed(), scratch());
    let text = zone_text(1, 20, "1 1 4");
    let peer = Peer::primary(&bed, Kind::Knot, false, &text);
    wait_for("the peer serves", || peer.serial() == Some(1));
    let ours = Ours::start(&bed, "", as_secondary(Kind::Knot.address(), None, kept(&dir)));
    let asked = || kdig(&bed, &format!("@10.78.0.2 host1.{APEX} A"));
    wait_for("a copy", || serves(&ours, 1));
    assert!(asked().contains("NOERROR"));
    drop(peer);
    wait_for("it expires", || ours.zone().is_none());
    assert!(asked().contains("SERVFAIL"));
    let _peer = Peer::primary(&bed, Kind::Knot, false, &text);
    wait_for("it is back", || serves(&ours, 1));
    assert!(asked().contains("NOERROR"));
}

#[test]
fn a_zone_that_was_never_had_is_servfail() {
    let (bed, dir) = (testbed(), scratch());
    let _ours = Ours::start(&bed, "", as_secondary(Kind::Knot.address(), None, kept(&dir)));
    assert!(kdig(&bed, &format!("@10.78.0.2 {APEX} SOA")).contains("SERVFAIL"));
}

#[test]
fn a_notify_from_a_stranger_is_refused() {
    let (bed, dir) = (testbed(), scratch());
    let elsewhere = "192.0.2.1:53".parse().unwrap();
    let _ours = Ours::start(&bed, "", as_secondary(elsewhere, None, kept(&dir)));
    assert!(kdig(&bed, &format!("@10.78.0.2 {APEX} NOTIFY=1")).contains("REFUSED"));
    assert!(kdig(&bed, "@10.78.0.2 other.test. NOTIFY=1").contains("NOTAUTH"));
}
