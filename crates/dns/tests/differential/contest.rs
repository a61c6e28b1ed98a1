//! One server of ours and both peers are asked the same; what comes of it is told, and judged.

use std::net::{Ipv4Addr, SocketAddr};
use std::{env, fs, thread};

use tidegate_testbed::DnsPeers;

use crate::ask::{Ask, Asked};
use crate::compare::{Tally, Trio};
use crate::message::Message;
use crate::queries::Extent;

/// Queries of which all answers are held at once.
const PIECE: usize = 1 << 15;

/// The three and who asks them.
pub(crate) struct Contest {
    pub(crate) ours: SocketAddr,
    pub(crate) client: Ipv4Addr,
    pub(crate) ask: Ask,
    /// There is no other limit to an answer's length then.
    pub(crate) over_tcp: bool,
}

impl Contest {
    /// Asks all three at once and compares. Runs in the peers' namespace.
    pub(crate) fn run(&self, queries: &[Vec<u8>]) -> Tally {
        let mut tally = Tally::default();
        queries.chunks(PIECE).for_each(|piece| self.compare(piece, &mut tally));
        tally
    }

    fn compare(&self, queries: &[Vec<u8>], tally: &mut Tally) {
        let [nsd, knot, ours] = self.ask_all(queries);
        tally.lost += ours.lost;
        let answers = nsd.answers.iter().zip(&knot.answers).zip(&ours.answers);
        for (query, ((nsd, knot), ours)) in queries.iter().zip(answers) {
            let of_peer = |octets: &Option<Vec<u8>>| octets.as_deref().and_then(Message::parse_leniently);
            let over_tcp = self.over_tcp;
            let mut trio =
                Trio { query, over_tcp, nsd: of_peer(nsd), knot: of_peer(knot), ours: of_ours(query, ours) };
            for message in trio.each_mut() {
                message.forget_new_cookie(query);
                if over_tcp {
                    message.forget_keepalive();
                }
            }
            tally.add(&trio);
        }
    }

    fn ask_all(&self, queries: &[Vec<u8>]) -> [Asked; 3] {
        let Contest { ours, client, ask, .. } = *self;
        thread::scope(|scope| {
            let asked = [DnsPeers::NSD, DnsPeers::KNOT, ours]
                .map(|server| scope.spawn(move || ask(client, server, queries)));
            asked.map(|asked| asked.join().unwrap())
        })
    }
}

/// Ours must be sound, whatever it says.
fn of_ours(query: &[u8], octets: &Option<Vec<u8>>) -> Option<Message> {
    let message = Message::parse(octets.as_deref()?).unwrap_or_else(|why| panic!("{why}: {query:02x?}"));
    assert!(!message.has_duplicates, "{query:02x?}");
    Some(message)
}

/// How much is asked: everything if `TIDEGATE_DIFFERENTIAL=all`.
pub(crate) fn extent() -> Extent {
    match env::var("TIDEGATE_DIFFERENTIAL").as_deref() {
        Ok("all") => Extent::All,
        _ => Extent::Drawn(1),
    }
}

/// Writes a report to the temporary directory, and fails where we stand against both peers, or differ from one in a
/// way that is not decided, or lost what was asked.
pub(crate) fn judge(name: &str, tally: &Tally) {
    let report = tally.report();
    fs::write(env::temp_dir().join(format!("tidegate-differential-{name}.txt")), &report).unwrap();
    let first = report.lines().next().unwrap();
    assert_eq!((tally.failures(), tally.lost), ((0, 0), 0), "{first}");
}
