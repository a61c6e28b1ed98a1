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

use crate::answer::{self, Policy};
use crate::cookie::{CookieVerdict, Cookies};
use crate::counters::{DnsTally, Transport};
use crate::message::{
    Class, Edns, ErrorReply, ExtendedError, Flags, Opcode, Opt, Query, Question, Rcode, Refusal, Rtype,
    Silence, Writer,
};
use crate::name::{Folded, NameBuf};
use crate::query_log::{Logged, QueryLog, Record};
use crate::store::Store;
use crate::tcp::{Answered, Answerer, Asked};
use crate::transfer::clock::{unix_ms, unix_s};
use crate::transfer::inbound::{is_newer, proposed_serial};
use crate::transfer::outbound::{Outbound, Script, Ticket};
use crate::transfer::secondary::Event;
use crate::transfer::{Relations, Served};
use crate::tsig::{self, Checked, Pass, Rejection};
use crate::udp::beforehand::{Order, Slot};
use crate::udp::{self, Found, Source, Wanted, Whole, zones};
use crate::zone::Catalog;
use arc_swap::{ArcSwap, Cache};
use crossbeam_channel::Sender;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tidegate_base::{Duration, Instant};

/// Octets of the shortest query: header, the root's name, type and class. What is shorter on a stream says that
/// its lengths are not to be trusted.
const QUERY_LEN_MIN: usize = 12 + 1 + 4;

/// What a server says of itself, and what it takes on.
#[derive(Clone, Debug)]
pub struct DeskConfig {
    /// What an operator says that is in no zone.
    pub policy: Policy,
    /// Its name for itself (RFC 5001).
    pub nsid: Option<Vec<u8>>,
    /// What it takes over UDP.
    pub udp_size: u16,
    /// What cookies are made with (RFC 7873); none: they are not answered.
    pub cookies: Option<Cookies>,
    /// Transfers under way at once.
    pub transfer_count_max: usize,
}

impl Default for DeskConfig {
    fn default() -> Self {
        Self { policy: Policy::default(), nsid: None, udp_size: 1232, cookies: None, transfer_count_max: 16 }
    }
}

impl DeskConfig {
    /// The OPT record of an answer to `client`, whose query's says `edns`, but for what depends on the transport;
    /// and what its cookie showed. `unix_s` tells the time in seconds since 1970, in 32 bits that wrap (RFC 9018
    /// section 4.3).
    #[inline]
    fn opt(
        &self,
        edns: &Edns<'_>,
        client: IpAddr,
        unix_s: impl FnOnce() -> u32,
    ) -> (Opt<'_>, Option<CookieVerdict>) {
        let nsid = self.nsid.as_deref().filter(|_| edns.wants_nsid);
        let answered = self.cookies.as_ref().zip(edns.cookie);
        let answered = answered.map(|(cookies, theirs)| cookies.answer(&theirs, client, unix_s()));
        let (verdict, cookie) = answered.unzip();
        (Opt { nsid, cookie, ..Opt::new(self.udp_size, edns.dnssec_ok) }, verdict)
    }
}

/// Who asks, and how.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    /// From where.
    pub peer: SocketAddr,
    /// How the answer gets there.
    pub way: Way,
}

/// How an answer gets to whom it is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// In one datagram, of at most so many bytes.
    Udp {
        /// What the server sends and the path carries, whatever the client takes.
        size_max: usize,
    },
    /// On a connection.
    Tcp {
        /// How long it is kept idle (RFC 7828).
        keep_alive: Duration,
    },
}

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

/// The time of day, read once for all that is answered at a moment of the worker's clock.
#[derive(Default)]
struct WallClock {
    read_at: Instant,
    unix_s: Option<u32>,
}

impl WallClock {
    /// Seconds since 1970, of which the low 32 bits count (RFC 9018 section 4.3).
    #[inline]
    fn unix_s(&mut self, now: Instant) -> u32 {
        match self.unix_s {
            Some(unix_s) if self.read_at == now => unix_s,
            _ => {
                self.read_at = now;
                *self.unix_s.insert(unix_s() as u32)
            }
        }
    }
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

    /// RFC 8945 section 5.2: a signature is looked at before anything else.
    fn check(&mut self, query: &Query<'_>, asker: Asker, room: &mut [u8]) -> Outcome {
        let relations = self.served.relations();
        match tsig::check(query.message, relations.keys(), unix_s()) {
            Checked::Signed(pass) => self.answer_signed(query, asker, pass, room),
            Checked::Rejected(rejection) => self.reject(query, &rejection, room),
            Checked::Unsigned | Checked::Malformed => self.say(query, asker, Rcode::FORMERR, room),
        }
    }

    fn answer_signed(&mut self, query: &Query<'_>, asker: Asker, pass: Pass, room: &mut [u8]) -> Outcome {
        let mut signer = pass.signer();
        let size_max = asker.size_max(query, room);
        let Some(plain_len) = size_max.checked_sub(signer.record_len()) else { return Answered::Hopeless };
        match self.dispatch(query, asker, Some(&pass), &mut room[..plain_len]) {
            Answered::Message(len) => {
                let signed_len = signer.sign(room, len, unix_s());
                signed_len.map_or(Answered::Hopeless, Answered::Message)
            }
            other => other,
        }
    }

    /// RFC 8945 section 5.2: NOTAUTH, and the reason in a TSIG record.
    fn reject(&self, query: &Query<'_>, rejection: &Rejection, room: &mut [u8]) -> Outcome {
        let mut answered = || {
            let size_max = room.len();
            let mut writer = Writer::answering(query, room, size_max)?;
            writer.set_rcode(Rcode::NOTAUTH);
            let len = writer.finish();
            rejection.answer(room, len, unix_s())
        };
        answered().map_or(Answered::Hopeless, Answered::Message)
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

    fn ordinary(&mut self, query: &Query<'_>, asker: Asker, room: &mut [u8]) -> Outcome {
        let size_max = asker.size_max(query, room);
        let config = Arc::clone(&self.config);
        let Some(mut writer) = Writer::answering(query, room, size_max) else { return Answered::Hopeless };
        let expire_s = self.expire_s(query);
        if let Some(opt) = self.opt(&config, query, asker) {
            let opt = Opt { expire_s, ..opt };
            // No room for it: then there is none for an answer, and TC will say so.
            let _ = writer.set_opt(opt);
        }
        answer::answer(self.catalog.load(), query, &config.policy, &mut writer);
        Answered::Message(writer.finish())
    }

    /// For how long the zone may be served that a client means to copy, if it asks (RFC 7314 section 3).
    fn expire_s(&mut self, query: &Query<'_>) -> Option<u32> {
        let Question { name, rtype, class } = query.question;
        let is_asked = query.edns.is_some_and(|edns| edns.wants_expire);
        if !is_asked || class != Class::IN || !matches!(rtype, Rtype::SOA | Rtype::AXFR | Rtype::IXFR) {
            return None;
        }
        let zone = self.catalog.load().hosting(&Folded::of(name))?.zone()?;
        Some(self.served.expire_s(zone))
    }

    /// An answer without records.
    fn say(&mut self, query: &Query<'_>, asker: Asker, rcode: Rcode, room: &mut [u8]) -> Outcome {
        let size_max = asker.size_max(query, room);
        let config = Arc::clone(&self.config);
        let Some(mut writer) = Writer::answering(query, room, size_max) else { return Answered::Hopeless };
        writer.set_rcode(rcode);
        if rcode == Rcode::NOERROR {
            writer.set_flags(Flags::AA);
        }
        if let Some(opt) = self.opt(&config, query, asker) {
            let _ = writer.set_opt(opt);
            // RFC 8914 section 4.19: whoever is refused here is not among those who may.
            if rcode == Rcode::REFUSED {
                writer.set_extended_error(ExtendedError::PROHIBITED);
            }
        }
        Answered::Message(writer.finish())
    }

    /// The OPT record of an answer, if the query has one (RFC 6891 section 7).
    fn opt<'c>(&mut self, config: &'c DeskConfig, query: &Query<'_>, asker: Asker) -> Option<Opt<'c>> {
        let edns = query.edns?;
        let (opt, cookie) = config.opt(&edns, asker.peer.ip(), || unix_s() as u32);
        self.cookie = cookie;
        if let Some(cookie) = cookie {
            self.tally.on_cookie(cookie);
        }
        // RFC 7828 section 3.3.1: only over TCP, in tenths of a second.
        let keepalive = match asker.way {
            Way::Tcp { keep_alive } if edns.wants_keepalive => {
                Some(u16::try_from(keep_alive.as_millis() / 100).unwrap_or(u16::MAX))
            }
            _ => None,
        };
        Some(Opt { keepalive, ..opt })
    }

    /// Hands out a zone, or says why not.
    fn transfer(&mut self, query: &Query<'_>, asker: Asker, pass: Option<&Pass>, room: &mut [u8]) -> Outcome {
        let script = match self.script(query, asker, pass) {
            Ok(script) => script,
            Err(rcode) => return self.say(query, asker, rcode, room),
        };
        let expire_s = self.expire_s(query);
        match asker.way {
            Way::Udp { .. } => in_one_datagram(script, query, asker, expire_s, room),
            // The one here, and one for each transfer.
            Way::Tcp { .. } if Arc::strong_count(&self.ticket) > self.config.transfer_count_max => {
                self.say(query, asker, Rcode::SERVFAIL, room)
            }
            Way::Tcp { .. } => {
                let (signer, ticket) = (pass.map(Pass::signer), Arc::clone(&self.ticket));
                let transfer = Outbound::new(script, query, signer, Some(ticket));
                Answered::Transfer(Box::new(transfer.with_expire(expire_s)))
            }
        }
    }

    /// What is to be handed out, if it may be.
    fn script(&mut self, query: &Query<'_>, asker: Asker, pass: Option<&Pass>) -> Result<Script, Rcode> {
        let apex = Folded::of(query.question.name);
        let relations = self.served.relations();
        // RFC 5936 section 2.2.1: NOTAUTH for a zone that is not here.
        let hosting = self.catalog.load().hosting(&apex).ok_or(Rcode::NOTAUTH)?;
        if !may_have(&relations, &apex, asker, pass) {
            return Err(Rcode::REFUSED);
        }
        let zone = Arc::clone(hosting.zone().ok_or(Rcode::SERVFAIL)?);
        let is_udp = matches!(asker.way, Way::Udp { .. });
        match query.question.rtype {
            Rtype::AXFR => Ok(Script::Whole(zone)),
            _ => {
                let theirs = proposed_serial(query.message).ok_or(Rcode::FORMERR)?;
                Ok(self.steps(zone, theirs, is_udp))
            }
        }
    }

    /// RFC 1995 sections 2 and 4: the steps, if they are known, or all of it; over UDP the version at least, so
    /// that the client comes again by TCP.
    fn steps(&self, zone: Arc<crate::zone::Zone>, theirs: u32, is_udp: bool) -> Script {
        if !is_newer(zone.serial(), theirs) {
            return Script::Version(zone);
        }
        match self.served.way(theirs, &zone) {
            Some(steps) => Script::Steps(zone, steps),
            None if is_udp => Script::Version(zone),
            None => Script::Whole(zone),
        }
    }

    /// RFC 1996 section 3.11: heeds the news that a copied zone has changed.
    fn notified(&mut self, query: &Query<'_>, asker: Asker, pass: Option<&Pass>, room: &mut [u8]) -> Outcome {
        let apex = query.question.name;
        let relations = self.served.relations();
        let copied = relations.of(apex).and_then(|relation| relation.copied.as_ref());
        let rcode = match copied {
            _ if query.question.rtype != Rtype::SOA => Rcode::NOTIMP,
            None => Rcode::NOTAUTH,
            Some(copied) if !copied.heeds(asker.peer.ip(), pass.map(|pass| pass.key().name())) => {
                Rcode::REFUSED
            }
            Some(_) => {
                // A worker does not wait: where so many wait already, one more says nothing new. And nobody
                // listens any more when the service ends.
                let _ = self.checks.try_send(Event::Check(NameBuf::from(apex)));
                Rcode::NOERROR
            }
        };
        self.say(query, asker, rcode, room)
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

impl Source for Desk {
    fn has_changed(&mut self) -> bool {
        let catalog = self.catalog.load();
        let has_changed = !Arc::ptr_eq(catalog, &self.settled);
        if has_changed {
            self.settled = Arc::clone(catalog);
        }
        has_changed
    }

    #[cold]
    fn fill(&mut self, wanted: &Wanted) {
        let Wanted { size_max, byte_count_max, seed } = *wanted;
        self.slot = Arc::default();
        let (catalog, slot) = (Arc::clone(&self.settled), Arc::clone(&self.slot));
        let policy = self.config.policy.clone();
        // Without the thread, which is gone only when all ends, answers are made when they are asked for.
        let _ = self.orders.send(Order { catalog, policy, size_max, byte_count_max, seed, slot });
    }

    #[inline]
    fn take_filled(&mut self) -> Option<Box<Store>> {
        self.slot.take()
    }

    fn find<'a>(
        &mut self,
        question: &udp::Question<'_>,
        size_max: usize,
        out: &'a mut [u8],
    ) -> Option<Found<'a>> {
        zones::find(&self.settled, &self.config.policy, question, size_max, out)
    }

    #[inline]
    fn opt(&mut self, now: Instant, edns: &Edns<'_>, client: IpAddr) -> (Opt<'_>, Option<CookieVerdict>) {
        let Self { config, wall_clock, .. } = self;
        config.opt(edns, client, || wall_clock.unix_s(now))
    }

    fn answer(&mut self, query: &[u8], peer: SocketAddr, size_max: usize, out: &mut [u8]) -> Option<Whole> {
        match Self::answer(self, query, Asker { peer, way: Way::Udp { size_max } }, out) {
            Answered::Message(len) => Some(Whole { len, cookie: self.cookie }),
            Answered::Transfer(_) | Answered::Hopeless => None,
        }
    }
}

impl Asker {
    fn transport(&self) -> Transport {
        let is_ipv6 = self.peer.ip().to_canonical().is_ipv6();
        match self.way {
            Way::Udp { .. } => Transport::udp(is_ipv6),
            Way::Tcp { .. } => Transport::tcp(is_ipv6),
        }
    }

    fn size_max(&self, query: &Query<'_>, room: &[u8]) -> usize {
        match self.way {
            Way::Udp { size_max } => query.udp_len_max(size_max).min(room.len()),
            Way::Tcp { .. } => room.len(),
        }
    }
}

fn may_have(relations: &Relations, apex: &Folded, asker: Asker, pass: Option<&Pass>) -> bool {
    let key = pass.map(|pass| pass.key().name());
    relations.of(apex.name()).is_some_and(|relation| relation.allow_transfer.admits(asker.peer.ip(), key))
}

fn in_one_datagram(
    script: Script,
    query: &Query<'_>,
    asker: Asker,
    expire_s: Option<u32>,
    room: &mut [u8],
) -> Outcome {
    let size_max = asker.size_max(query, room);
    let version = Script::Version(Arc::clone(script.zone()));
    let made = [script, version].into_iter().find_map(|script| {
        let transfer = Outbound::new(script, query, None, None).with_expire(expire_s);
        transfer.in_one_message(&mut room[..size_max])
    });
    made.map_or(Answered::Hopeless, Answered::Message)
}

#[cfg(test)]
#[path = "desk_tests.rs"]
mod tests;
