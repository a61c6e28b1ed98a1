//! Our answers against those of NSD and Knot, over a corpus of zones that holds every case there is.
//!
//! Where both peers agree and we do not, the test fails. Where they differ among themselves, what we do and why is
//! in docs/specs/dns-differences.md. Here the engine answers alone, behind a loop around a UDP socket; the whole
//! server, over its NIC, stands the same test in the command's crate.

mod ask;
mod bounds;
mod classes;
mod compare;
mod contest;
mod corpus;
mod message;
mod odd;
mod ours;
mod own;
mod queries;

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tidegate_testbed::DnsPeers;

use ask::over_udp;
use compare::Tally;
use contest::{Contest, extent, judge};
use corpus::Set;
use own::Own;
use queries::{Draw, queries};

fn compare(set: &Set, queries: &[Vec<u8>]) -> Tally {
    let peers = DnsPeers::start(&set.zones).unwrap();
    let catalog = ours::catalog(&set.zones);
    let compare = || {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let ours = socket.local_addr().unwrap();
        let contest = Contest { ours, client: Ipv4Addr::LOCALHOST, ask: over_udp, over_tcp: false };
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| ours::serve(&socket, &catalog, &stop));
            let tally = contest.run(queries);
            stop.store(true, Ordering::Relaxed);
            tally
        })
    };
    peers.netns().run(compare).unwrap()
}

fn check(name: &str, dirs: &[&str]) {
    let set = Set::of(dirs);
    judge(name, &compare(&set, &queries(&set, extent(), &mut Draw(1))));
}

#[test]
fn the_corpus_is_answered_as_both_peers_do() {
    check("corpus", &["plain", "signed"]);
}

#[test]
fn a_signed_root_is_answered_as_both_peers_do() {
    check("root", &["rootsigned"]);
}

#[test]
fn odd_queries_are_answered_as_both_peers_do() {
    let set = Set::of(&["plain"]);
    judge("odd", &compare(&set, &odd::odd_queries("host.basic.test")));
}

#[test]
#[ignore = "wants TIDEGATE_DIFFERENTIAL_ZONE and TIDEGATE_DIFFERENTIAL_QUERIES"]
fn a_zone_of_ones_own_is_answered_as_both_peers_do() {
    let own = Own::given();
    judge("own", &compare(&own.set, &own.queries));
}
