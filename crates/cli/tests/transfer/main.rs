//! `tidegate serve` as secondary of Knot, NSD and BIND, and as their primary, over a cable between two namespaces.
//!
//! ```text
//!  +---- client: 10.78.0.1 --------+        +---- server: 10.78.0.2 ----------+
//!  |  Knot, NSD, BIND, kdig        |== veth |  tidegate on server0, port 53   |
//!  +-------------------------------+        +---------------------------------+
//! ```
//!
//! Every message of a transfer and every NOTIFY is signed. The peers are those of the name server's own transfer
//! tests, which have more cases; here the process runs with its configuration, its sandbox and the host's routes.

mod ours;
#[path = "../../../dns/tests/transfer/peer.rs"]
mod peer;
mod scene;

use ours::{Ours, signed};
use peer::{KINDS, Kind, Peer};
use scene::{APEX, content, kdig, testbed, wait_for, zone_text};
use tidegate_testbed::ScratchDir;

const TIMERS: &str = "3600 600 86400";

/// Ours copies version 1 from the peer, hears of version 2, and has what the peer has.
fn copied_and_followed(kind: Kind) {
    let (bed, scratch) = (testbed(), ScratchDir::new().unwrap());
    let peer = Peer::primary(&bed, kind, true, &zone_text(1, TIMERS));
    wait_for("the peer serves", || peer.serial() == Some(1));
    let ours = Ours::start(&bed, &ours::as_secondary(kind, &scratch.join("copy")));
    wait_for("a first copy", || ours.serial() == Some(1));
    assert_eq!(content(&bed, "@10.78.0.2"), content(&bed, &kind.at()), "{kind:?}");
    peer.change(&zone_text(2, TIMERS));
    wait_for("a second copy", || ours.serial() == Some(2));
    assert_eq!(content(&bed, "@10.78.0.2"), content(&bed, &kind.at()), "{kind:?}");
    assert_eq!(kdig(&bed, &format!("@10.78.0.2 host2.{APEX} A +short")).trim(), "10.0.2.2");
}

#[test]
fn copied_from_knot() {
    copied_and_followed(Kind::Knot);
}

#[test]
fn copied_from_nsd() {
    copied_and_followed(Kind::Nsd);
}

#[test]
fn copied_from_bind() {
    copied_and_followed(Kind::Bind);
}

#[test]
fn a_copy_expires_without_its_primary_and_comes_back_with_it() {
    let (bed, scratch) = (testbed(), ScratchDir::new().unwrap());
    let peer = Peer::primary(&bed, Kind::Knot, true, &zone_text(1, "1 1 4"));
    wait_for("the peer serves", || peer.serial() == Some(1));
    let ours = Ours::start(&bed, &ours::as_secondary(Kind::Knot, &scratch.join("copy")));
    wait_for("a copy", || ours.serial() == Some(1));
    drop(peer);
    let asked = || kdig(&bed, &format!("@10.78.0.2 host2.{APEX} A"));
    wait_for("it expires", || asked().contains("SERVFAIL"));
    let _peer = Peer::primary(&bed, Kind::Knot, true, &zone_text(2, "1 1 4"));
    wait_for("it is back", || ours.serial() == Some(2));
    assert!(asked().contains("NOERROR"));
}

#[test]
fn a_copy_follows_its_primary_without_being_told() {
    let (bed, scratch) = (testbed(), ScratchDir::new().unwrap());
    let peer = Peer::silent_primary(&bed, Kind::Knot, true, &zone_text(1, "2 1 86400"));
    wait_for("the peer serves", || peer.serial() == Some(1));
    let ours = Ours::start(&bed, &ours::as_secondary(Kind::Knot, &scratch.join("copy")));
    wait_for("a first copy", || ours.serial() == Some(1));
    peer.change(&zone_text(2, TIMERS));
    wait_for("a second copy", || ours.serial() == Some(2));
    assert_eq!(content(&bed, "@10.78.0.2"), content(&bed, &Kind::Knot.at()));
}

#[test]
fn all_copy_and_follow() {
    let (bed, scratch) = (testbed(), ScratchDir::new().unwrap());
    let file = scratch.write("zone", zone_text(1, TIMERS)).unwrap();
    let ours = Ours::start(&bed, &ours::as_primary(&KINDS, &file));
    assert_eq!(ours.serial(), Some(1));
    let peers = KINDS.map(|kind| Peer::secondary(&bed, kind, true));
    for serial in 1..=3 {
        if serial > 1 {
            let next = scratch.write("next", zone_text(serial, TIMERS)).unwrap();
            std::fs::rename(next, &file).unwrap();
        }
        for peer in &peers {
            let what = format!("{:?} has version {serial}: {}", peer.kind, ours.said());
            wait_for(&what, || peer.serial() == Some(serial));
        }
    }
    for peer in &peers {
        let asked = format!("{} host2.{APEX} A +short", peer.kind.at());
        assert_eq!(kdig(&bed, &asked).trim(), "10.0.3.2", "{}", peer.said());
    }
    assert!(peers[0].said().contains("IXFR"), "{}", peers[0].said());
}

#[test]
fn nobody_gets_the_zone_without_the_key() {
    let (bed, scratch) = (testbed(), ScratchDir::new().unwrap());
    let file = scratch.write("zone", zone_text(1, TIMERS)).unwrap();
    let _ours = Ours::start(&bed, &ours::as_primary(&[], &file));
    assert!(kdig(&bed, &format!("@10.78.0.2 {APEX} AXFR")).contains("REFUSED"));
    assert!(kdig(&bed, &format!("@10.78.0.2 {APEX} AXFR {}", signed())).contains("host2."));
}
