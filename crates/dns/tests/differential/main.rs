//! Our answers against those of NSD and Knot, over a corpus of zones that holds every case there is.
//!
//! Where both peers agree and we do not, the test fails. Where they differ among themselves, what we do and why is
//! in docs/specs/dns-differences.md.

mod ask;
mod compare;
mod corpus;
mod message;
mod queries;

use std::net::SocketAddr;
use std::thread;

use tidegate_testbed::DnsPeers;

use ask::ask;
use compare::{Tally, Trio};
use corpus::Set;
use message::Message;
use queries::{Draw, Extent, queries};

fn peers_alone(set: &Set, extent: Extent) -> Tally {
    let peers = DnsPeers::start(&set.zones).unwrap();
    let queries = queries(set, extent, &mut Draw(1));
    let (nsd, knot) = peers
        .netns()
        .run(|| {
            let both = |address: SocketAddr| ask(address, &queries);
            thread::scope(|scope| {
                let nsd = scope.spawn(|| both(DnsPeers::NSD));
                let knot = scope.spawn(|| both(DnsPeers::KNOT));
                (nsd.join().unwrap(), knot.join().unwrap())
            })
        })
        .unwrap();
    let mut tally = Tally::default();
    let parse = |octets: &Option<Vec<u8>>| octets.as_ref().map(|octets| Message::parse(octets).unwrap());
    for ((query, nsd), knot) in queries.iter().zip(&nsd).zip(&knot) {
        tally.add(&Trio { query, nsd: parse(nsd), knot: parse(knot), ours: parse(nsd) });
    }
    println!("{}", peers.said());
    tally
}

#[test]
fn peers_among_themselves() {
    for set in [Set::of(&["plain", "signed"]), Set::of(&["rootsigned"])] {
        println!("{}", peers_alone(&set, Extent::Drawn(1)).report());
    }
}
