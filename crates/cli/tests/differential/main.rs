//! `tidegate dns`, over its virtual NIC, against NSD and Knot: UDP and TCP, every case of the corpus.
//!
//! ```text
//!  +---- the peers' namespace --------------------------------------------------+
//!  |  NSD 127.0.0.1:5301   Knot 127.0.0.1:5302   the test asks from 10.77.0.1   |
//!  |                                             tidegate0 == veth == 10.77.0.2 |
//!  +----------------------------------------------------------------------------+
//! ```
//!
//! What is asked and how it is judged is the name server's own differential test, which has the corpus too.
//! Additional here: transports, what rings and windows may lose, cookies. As root.

#[path = "../../../dns/tests/differential/ask.rs"]
mod ask;
mod ask_tcp;
#[path = "../../../dns/tests/differential/classes.rs"]
mod classes;
#[path = "../../../dns/tests/differential/compare.rs"]
mod compare;
#[path = "../../../dns/tests/differential/contest.rs"]
mod contest;
mod cookies;
#[path = "../../../dns/tests/differential/corpus.rs"]
mod corpus;
#[path = "../../../dns/tests/differential/message.rs"]
mod message;
#[path = "../../../dns/tests/differential/odd.rs"]
mod odd;
mod ours;
#[path = "../../../dns/tests/differential/own.rs"]
mod own;
#[path = "../../../dns/tests/differential/queries.rs"]
mod queries;

use tidegate_testbed::DnsPeers;

use ask::{Ask, over_udp};
use ask_tcp::{one_by_one, pipelined};
use contest::{Contest, extent, judge};
use corpus::Set;
use ours::Ours;
use own::Own;
use queries::{Draw, queries};

/// A way to ask, and its name.
type Way = (&'static str, Ask);

const UDP: Way = ("udp", over_udp);
const TCP: Way = ("tcp", pipelined);
const TCP_EACH: Way = ("tcp-each", one_by_one);

/// All three are asked `queries` for the zones of `set`, and judged.
fn check(name: &str, set: &Set, (way, ask): Way, queries: &[Vec<u8>]) {
    let peers = DnsPeers::start(&set.zones).unwrap();
    let ours = Ours::start(&peers, &set.zones);
    let contest = Contest { ours: Ours::ADDRESS, client: Ours::CLIENT, ask, over_tcp: way != "udp" };
    let tally = peers.netns().run(|| contest.run(queries)).unwrap();
    drop(ours);
    judge(&format!("process-{name}-{way}"), &tally);
}

fn check_dirs(name: &str, dirs: &[&str], way: Way) {
    let set = Set::of(dirs);
    check(name, &set, way, &queries(&set, extent(), &mut Draw(1)));
}

#[test]
fn the_corpus_is_answered_over_udp_as_both_peers_do() {
    check_dirs("corpus", &["plain", "signed"], UDP);
}

#[test]
fn the_corpus_is_answered_over_tcp_as_both_peers_do() {
    check_dirs("corpus", &["plain", "signed"], TCP);
}

#[test]
fn a_signed_root_is_answered_as_both_peers_do() {
    for way in [UDP, TCP] {
        check_dirs("root", &["rootsigned"], way);
    }
}

#[test]
fn odd_queries_are_answered_over_udp_as_both_peers_do() {
    let queries = odd::odd_queries("host.basic.test");
    check("odd", &Set::of(&["plain"]), UDP, &queries);
}

/// But for those that are cut short: what NSD says to them over TCP depends on what it was asked before.
#[test]
fn odd_queries_are_answered_over_tcp_as_both_peers_do() {
    let queries = odd::whole_queries("host.basic.test");
    check("odd", &Set::of(&["plain"]), TCP_EACH, &queries);
}

#[test]
fn every_cookie_is_answered_as_both_peers_do() {
    let set = Set::of(&["plain"]);
    let queries = cookies::queries("host.basic.test");
    check("cookies", &set, UDP, &queries);
}

#[test]
#[ignore = "wants TIDEGATE_DIFFERENTIAL_ZONE and TIDEGATE_DIFFERENTIAL_QUERIES"]
fn a_zone_of_ones_own_is_answered_as_both_peers_do() {
    let own = Own::given();
    for way in [UDP, TCP] {
        check("own", &own.set, way, &own.queries);
    }
}
