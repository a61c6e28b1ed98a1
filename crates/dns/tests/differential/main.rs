//! Our answers against those of NSD and Knot, over a corpus of zones that holds every case there is.
//!
//! Where both peers agree and we do not, the test fails. Where they differ among themselves, what we do and why is
//! in docs/specs/dns-differences.md.

mod ask;
mod compare;
mod corpus;
mod message;
mod ours;
mod queries;

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, fs, thread};

use tidegate_dns::zone::Catalog;
use tidegate_testbed::DnsPeers;

use ask::ask;
use compare::{Tally, Trio};
use corpus::Set;
use message::Message;
use queries::{Draw, Extent, queries};

/// The answers of NSD, of Knot and of ours.
type Answers = [Vec<Option<Vec<u8>>>; 3];

/// Asks all three at once. Runs in the peers' namespace.
fn ask_all(catalog: &Catalog, queries: &[Vec<u8>]) -> Answers {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let ours = socket.local_addr().unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| ours::serve(&socket, catalog, &stop));
        let asked = [DnsPeers::NSD, DnsPeers::KNOT, ours]
            .map(|server: SocketAddr| scope.spawn(move || ask(server, queries)));
        let answers = asked.map(|asked| asked.join().unwrap());
        stop.store(true, Ordering::Relaxed);
        answers
    })
}

fn compare(set: &Set, queries: &[Vec<u8>]) -> Tally {
    let peers = DnsPeers::start(&set.zones).unwrap();
    let catalog = ours::catalog(&set.zones);
    let [nsd, knot, ours] = peers.netns().run(|| ask_all(&catalog, queries)).unwrap();
    let mut tally = Tally::default();
    let parse = |octets: &Option<Vec<u8>>| octets.as_ref().map(|octets| Message::parse(octets).unwrap());
    for (((query, nsd), knot), ours) in queries.iter().zip(&nsd).zip(&knot).zip(&ours) {
        tally.add(&Trio { query, nsd: parse(nsd), knot: parse(knot), ours: parse(ours) });
    }
    tally
}

/// How much is asked: everything if `TIDEGATE_DIFFERENTIAL=all`.
fn extent() -> Extent {
    match env::var("TIDEGATE_DIFFERENTIAL").as_deref() {
        Ok("all") => Extent::All,
        _ => Extent::Drawn(1),
    }
}

fn check(name: &str, dirs: &[&str]) {
    let set = Set::of(dirs);
    let tally = compare(&set, &queries(&set, extent(), &mut Draw(1)));
    let report = tally.report();
    fs::write(env::temp_dir().join(format!("tidegate-differential-{name}.txt")), &report).unwrap();
    assert_eq!(tally.failures(), 0, "{}", report.lines().next().unwrap());
}

#[test]
fn the_corpus_is_answered_as_both_peers_do() {
    check("corpus", &["plain", "signed"]);
}

#[test]
fn a_signed_root_is_answered_as_both_peers_do() {
    check("root", &["rootsigned"]);
}
