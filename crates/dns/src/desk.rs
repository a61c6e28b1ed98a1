//! Answers to whole messages, whatever they ask: the way of everything that is not an ordinary query in a
//! datagram.
//!
//! ```text
//!   message --Query::parse--> signed? --tsig::check--> dispatch --+-- ordinary: answer
//!                                                                 +-- AXFR, IXFR: acl, journal -> Outbound
//!                                                                 +-- NOTIFY: acl -> secondary
//!                                       Signer <--- answer <------+
//! ```
//! Not the hot path of UDP, which finds most answers ready; what it does not know comes here too.
//!
//! Invariant: a zone is handed out, and a NOTIFY heeded, only to whom the zone's relations name; an answer to a
//! signed query is signed.

mod asker;
mod config;
mod notify;
mod ordinary;
mod ready;
mod signed;
mod transfer;
mod wall_clock;

#[cfg(test)]
mod tests;

pub use asker::{Asker, Way};
pub use config::DeskConfig;

use crate::cookie::CookieVerdict;
use crate::counters::DnsTally;
use crate::message::{ErrorReply, Flags, Opcode, Query, Rcode, Refusal, Rtype, Silence};
use crate::name::NameBuf;
use crate::query_log::{Logged, QueryLog, Record};
use crate::tcp::{Answered, Answerer, Asked};
use crate::transfer::Served;
use crate::transfer::clock::unix_ms;
use crate::transfer::outbound::{Outbound, Ticket};
use crate::transfer::secondary::Event;
use crate::tsig::Pass;
use crate::udp::beforehand::{Order, Slot};
use crate::zone::Catalog;
use arc_swap::{ArcSwap, Cache};
use crossbeam_channel::Sender;
use std::sync::Arc;
use wall_clock::WallClock;

/// Octets of the shortest query: header, the root's name, type and class. What is shorter on a stream says that
/// its lengths are not to be trusted.
const QUERY_LEN_MIN: usize = 12 + 1 + 4;

/// Answers for one worker.
pub struct Desk {
    served: Arc<Served>,
    catalog: Cache<Arc<ArcSwap<Catalog>>, Arc<Catalog>>,
    /// The one that ready answers are from.
    settled: Arc<Catalog>,
    config: Arc<DeskConfig>,
    checks: Sender<Event>,
    /// As many others as there are transfers under way.
    ticket: Ticket,
    tally: Arc<DnsTally>,
    log: Option<QueryLog>,
    /// What the cookie of the message showed that is being answered.
    cookie: Option<CookieVerdict>,
    wall_clock: WallClock,
    orders: Sender<Order>,
    /// Where the answers will be that were ordered last.
    slot: Arc<Slot>,
}

type Outcome = Answered<Box<Outbound>>;

impl Desk {
    /// A worker's desk over what is `served`; `checks` leads to the keeper of copied zones, `orders` to whom makes
    /// answers beforehand.
    pub(crate) fn new(
        served: Arc<Served>,
        config: Arc<DeskConfig>,
        checks: Sender<Event>,
        orders: Sender<Order>,
    ) -> Self {
        let mut catalog = Cache::new(served.catalog());
        let settled = Arc::clone(catalog.load());
        Self {
            served,
            catalog,
            settled,
            config,
            checks,
            ticket: Ticket::default(),
            tally: Arc::default(),
            log: None,
            cookie: None,
            wall_clock: WallClock::default(),
            orders,
            slot: Arc::default(),
        }
    }

    /// Goes on under other settings.
    pub fn set_config(&mut self, config: Arc<DeskConfig>) {
        self.config = config;
    }

    /// Logs queries on connections from now on, or no more.
    pub fn set_log(&mut self, log: Option<QueryLog>) {
        self.log = log;
    }

    /// Those over UDP are logged where they arrive: most of them never come here.
    fn log(&mut self, query: &Query<'_>, asker: Asker, outcome: &Outcome, room: &[u8]) {
        let (Way::Tcp { .. }, Some(log)) = (asker.way, &mut self.log) else { return };
        let record = || {
            let record = Record::of(query, unix_ms(), asker.peer, asker.transport());
            match outcome {
                Answered::Message(len) => record.answered_by(&room[..*len]),
                Answered::Transfer(_) => record.answered_by_transfer(),
                Answered::Hopeless => record,
            }
        };
        if log.log(record) == Logged::Lost {
            self.tally.on_unlogged();
        }
    }

    /// What it counts under, to be read from anywhere.
    pub fn tally(&self) -> Arc<DnsTally> {
        Arc::clone(&self.tally)
    }

    /// Counts together with another desk of the same worker.
    pub fn share_tally(&mut self, other: &Self) {
        self.tally = other.tally();
    }

    /// Answers `message`, in `room`.
    pub fn answer(&mut self, message: &[u8], asker: Asker, room: &mut [u8]) -> Outcome {
        let mut name = NameBuf::new();
        self.cookie = None;
        match Query::parse(message, &mut name) {
            Ok(query) => {
                self.tally.on_query(asker.transport(), &query);
                let outcome = match query.tsig_at {
                    Some(_) => self.check(&query, asker, room),
                    None => self.dispatch(&query, asker, None, room),
                };
                self.count(asker, &outcome, None, room);
                self.log(&query, asker, &outcome, room);
                outcome
            }
            Err(Refusal::Reply(reply)) => {
                self.tally.on_refused(asker.transport(), reply.flags.opcode());
                let outcome = self.refuse(&reply, room);
                self.count(asker, &outcome, Some(reply.rcode), room);
                outcome
            }
            Err(Refusal::Silence(silence)) => {
                self.tally.on_silence(silence);
                Answered::Hopeless
            }
        }
    }

    /// Counts an answer over TCP; those over UDP are counted where the rate limit lets them go, the messages of a
    /// transfer with their connection.
    fn count(&self, asker: Asker, outcome: &Outcome, rcode: Option<Rcode>, room: &[u8]) {
        if matches!(asker.way, Way::Udp { .. }) {
            return;
        }
        let (Answered::Message(len), Some(header)) = (outcome, room.first_chunk::<4>()) else { return };
        let flags = Flags(u16::from_be_bytes([header[2], header[3]]));
        self.tally.on_response(rcode.unwrap_or(flags.rcode()), *len, flags.has(Flags::TC));
    }

    fn refuse(&self, reply: &ErrorReply<'_>, room: &mut [u8]) -> Outcome {
        reply.emit(self.config.udp_size, room).map_or(Answered::Hopeless, Answered::Message)
    }

    fn dispatch(&mut self, query: &Query<'_>, asker: Asker, pass: Option<&Pass>, room: &mut [u8]) -> Outcome {
        match (query.opcode(), query.question.rtype) {
            (Opcode::NOTIFY, _) => self.notified(query, asker, pass, room),
            // RFC 5936 section 4.2: not defined over UDP, whoever asks.
            (_, Rtype::AXFR) if matches!(asker.way, Way::Udp { .. }) => self.ordinary(query, asker, room),
            (_, Rtype::AXFR | Rtype::IXFR) => self.transfer(query, asker, pass, room),
            _ => self.ordinary(query, asker, room),
        }
    }
}

impl Answerer for Desk {
    type Transfer = Box<Outbound>;

    fn answer(&mut self, asked: Asked<'_>, room: &mut [u8]) -> Outcome {
        if asked.message.len() < QUERY_LEN_MIN {
            self.tally.on_silence(Silence::TooShort);
            return Answered::Hopeless;
        }
        let asker = Asker { peer: asked.peer, way: Way::Tcp { keep_alive: asked.keep_alive } };
        Self::answer(self, asked.message, asker, room)
    }
}
