//! Our answers against those of NSD and Knot, over a corpus of zones that holds every case there is.
//!
//! Where both peers agree and we do not, the test fails. Where they differ among themselves, what we do and why is
//! in docs/specs/dns-differences.md.

mod ask;
mod bounds;
mod classes;
mod compare;
mod corpus;
mod message;
mod odd;
mod ours;
mod queries;

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, fs, thread};

use tidegate_dns::zone::Catalog;
use tidegate_testbed::{DnsPeers, ZoneFile};

use ask::ask;
use compare::{Tally, Trio};
use corpus::Set;
use message::Message;
use queries::{Draw, Extent, listed_queries, queries};

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
    let of_peer = |octets: &Option<Vec<u8>>| octets.as_deref().and_then(Message::parse_leniently);
    let of_ours = |octets: &Option<Vec<u8>>| octets.as_deref().map(|octets| Message::parse(octets).unwrap());
    for (((query, nsd), knot), ours) in queries.iter().zip(&nsd).zip(&knot).zip(&ours) {
        tally.add(&Trio { query, nsd: of_peer(nsd), knot: of_peer(knot), ours: of_ours(ours) });
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
    judge(name, &compare(&set, &queries(&set, extent(), &mut Draw(1))));
}

fn judge(name: &str, tally: &Tally) {
    let report = tally.report();
    fs::write(env::temp_dir().join(format!("tidegate-differential-{name}.txt")), &report).unwrap();
    assert_eq!(tally.failures(), (0, 0), "{}", report.lines().next().unwrap());
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

/// By hand, for a zone and queries of one's own, such as the root's: `TIDEGATE_DIFFERENTIAL_ZONE` is a zone file,
/// `TIDEGATE_DIFFERENTIAL_QUERIES` a file of lines "NAME TYPE", and `TIDEGATE_DIFFERENTIAL_APEX` the root if unset.
#[test]
#[ignore = "wants TIDEGATE_DIFFERENTIAL_ZONE and TIDEGATE_DIFFERENTIAL_QUERIES"]
fn a_zone_of_ones_own_is_answered_as_both_peers_do() {
    let given = |what: &str| env::var(format!("TIDEGATE_DIFFERENTIAL_{what}"));
    let apex = given("APEX").unwrap_or(".".into());
    let set = Set::from(vec![ZoneFile { apex, path: given("ZONE").unwrap().into() }]);
    let listed = fs::read_to_string(given("QUERIES").unwrap()).unwrap();
    judge("own", &compare(&set, &listed_queries(&listed, &mut Draw(1))));
}
