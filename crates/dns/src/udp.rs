//! Bursts of queries over UDP in, answers out (Namestorm).
//!
//! ```text
//!   burst --> read every query, hash every name, ask for every bucket      Glance, Store::prefetch
//!         --> ask for every entry                                          Store::prefetch_entry
//!         --> ready?  sections behind the question, header patched         compose
//!             new?    the source's sections, kept if they are worth it  Source::find
//!             else    the source's whole message                       Source::answer
//! ```
//! The misses of a burst pass together: that is what makes a table larger than the caches quick.
//!
//! Not here: what the answer is ([`Source`]), and TCP.

mod account;
mod compose;
mod glance;
mod ready_frames;
#[cfg(test)]
mod tests;
pub mod zones;

use crate::counters::DnsTally;
use crate::rrl::RateLimiter;
use crate::store::{Key, NAME_WORD_COUNT_MAX, NameWords, Ready, Sections, Store, StoreCounters, StoreSize};
use account::Account;
pub(crate) use account::message;
use compose::Opts;
use glance::Glance;
pub use glance::KeyForm;
use ready_frames::ReadyFrames;
use std::net::SocketAddr;
use std::sync::Arc;
use tidegate_base::{DropReason, Instant, Sum};
use tidegate_packet::Pool;
use tidegate_stack::{BURST_LEN_MAX, Datagram, Reply};

/// Octets that an answer over UDP has at most where the query has no OPT record (RFC 1035 section 4.2.1).
const UDP_SIZE_MIN: usize = 512;
/// Octets of the largest message that is made.
const MESSAGE_LEN_MAX: usize = 4096;

/// How a ready answer gets into the frame that is sent (Sandstorm paper, section 2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Behind the question in the frame that the query came in.
    #[default]
    InPlace,
    /// Query and answer copied into a fresh frame.
    MemCopy,
    /// A frame that holds the answer already, with the query's identifier and question put in.
    PreCopy,
}

/// How answers are given over UDP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UdpConfig {
    /// What the store's keys are made from.
    pub key_form: KeyForm,
    /// How answers get into frames.
    pub mode: Mode,
    /// The longest answer, whatever a client says it takes (RFC 9715 section 3.2).
    pub size_max: u16,
    /// How much is kept ready.
    pub store: StoreSize,
}

impl Default for UdpConfig {
    fn default() -> Self {
        Self {
            key_form: KeyForm::default(),
            mode: Mode::default(),
            size_max: 1232,
            store: StoreSize { byte_count_max: 256 << 20, entry_count: 1 << 16 },
        }
    }
}

/// A question of class IN, as the store asks the source for its answer.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The name in wire format, uncompressed and in lower case.
    pub name: &'a [u8],
    /// The type.
    pub qtype: u16,
    /// Whether DNSSEC records are wanted (RFC 3225).
    pub wants_dnssec: bool,
}

/// What a source knows about a question.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The answer.
    pub sections: Sections<'a>,
    /// Whether it is worth being kept.
    pub is_lasting: bool,
}

/// Where answers come from: the answer engine over the zones there are.
pub trait Source {
    /// Whether the zones have changed since this was asked last. It is asked before each burst; what is ready is
    /// thrown away if they have.
    fn has_changed(&mut self) -> bool;

    /// The sections that answer `question` in at most `size_max` octets with header, question and OPT, written to
    /// `out` (see [`zones::find`]). `None` if sections alone do not make the answer.
    fn find<'a>(&mut self, question: &Question<'_>, size_max: usize, out: &'a mut [u8]) -> Option<Found<'a>>;

    /// The answer to the message `query` from `peer`, at most `size_max` octets, written to the beginning of `out`;
    /// its length. `None`: silence.
    fn answer(&mut self, query: &[u8], peer: SocketAddr, size_max: usize, out: &mut [u8]) -> Option<usize>;
}

/// How often a responder did what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpCounters {
    /// Queries.
    pub query_count: u64,
    /// Answers from what was ready.
    pub ready_count: u64,
    /// Answers from sections that the source found.
    pub found_count: u64,
    /// Of these, how many were worth being kept.
    pub kept_count: u64,
    /// Whole messages of the source.
    pub answered_count: u64,
    /// Queries that drew none.
    pub silence_count: u64,
}

/// One query of a burst.
struct Seat {
    glance: Option<Glance>,
    words: NameWords,
}

/// Answers queries over UDP. One value a worker.
pub struct Responder<S> {
    source: S,
    store: Store,
    config: UdpConfig,
    opts: Opts,
    frames: ReadyFrames,
    account: Account,
    seats: Box<[Seat; BURST_LEN_MAX]>,
    scratch: Box<[u8; MESSAGE_LEN_MAX]>,
    counters: UdpCounters,
}

impl<S: Source> Responder<S> {
    /// A responder that answers from `source`. `seed` is random and secret.
    pub fn new(source: S, config: UdpConfig, seed: u64) -> Self {
        Self {
            source,
            store: Store::new(config.store, seed),
            config,
            opts: Opts::new(config.size_max),
            frames: ReadyFrames::default(),
            account: Account::default(),
            seats: Box::new(
                [const { Seat { glance: None, words: [0; NAME_WORD_COUNT_MAX] } }; BURST_LEN_MAX],
            ),
            scratch: Box::new([0; MESSAGE_LEN_MAX]),
            counters: UdpCounters::default(),
        }
    }

    /// Limits how many answers of a kind go to a client from now on, or no more.
    pub fn set_limiter(&mut self, limiter: Option<RateLimiter>) {
        self.account.limiter = limiter;
    }

    /// Counts answers in `tally` from now on, and the queries that the source does not see.
    pub fn set_tally(&mut self, tally: Arc<DnsTally>) {
        self.account.tally = Some(tally);
    }

    /// Where answers come from.
    pub const fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// What it did.
    pub const fn counters(&self) -> UdpCounters {
        self.counters
    }

    /// What the store holds and did.
    pub fn store_counters(&self) -> StoreCounters {
        self.store.counters()
    }

    /// Gives each datagram of `burst` its reply.
    pub fn on_datagrams(&mut self, now: Instant, burst: &mut [Datagram], pool: &mut Pool) {
        self.forget_if_changed(pool);
        for chunk in burst.chunks_mut(BURST_LEN_MAX) {
            self.read(chunk);
            for (at, datagram) in chunk.iter_mut().enumerate() {
                let query_len = datagram.data().len();
                let reply = self.reply(at, datagram, pool);
                datagram.reply = self.account.pass(now, datagram, query_len, reply, pool);
            }
        }
    }

    /// Throws away what is ready if it is of other zones than there are now. The memory of it goes piece by piece
    /// with the next bursts: to give back all at once would hold them up.
    #[inline]
    fn forget_if_changed(&mut self, pool: &mut Pool) {
        self.store.shrink_retired();
        if self.source.has_changed() {
            self.frames.release(pool);
            self.store.clear();
        }
    }

    /// Reads all queries, and has what their answers need brought near.
    fn read(&mut self, burst: &[Datagram]) {
        self.counters.query_count += burst.len() as u64;
        let Self { seats, store, config, .. } = self;
        for (seat, datagram) in seats.iter_mut().zip(burst) {
            seat.glance = Glance::read(datagram.data(), config.key_form, store.seed(), &mut seat.words);
            if let Some(glance) = &seat.glance {
                store.prefetch(glance.key.hash);
            }
        }
        for seat in seats.iter().take(burst.len()) {
            if let Some(glance) = &seat.glance {
                store.prefetch_entry(glance.key.hash);
            }
        }
    }

    #[inline]
    fn reply(&mut self, at: usize, datagram: &mut Datagram, pool: &mut Pool) -> Reply {
        let Some(Seat { glance: Some(glance), words }) = self.seats.get(at) else {
            return self.reply_by_source(datagram);
        };
        let size_max = size_max(glance, self.config.size_max, datagram);
        let Some(ready) = self.store.find(&glance.key, words) else {
            return self.reply_and_keep(at, datagram);
        };
        let composed = match self.config.mode {
            Mode::InPlace => compose::in_place(datagram, glance, &ready, &self.opts, size_max),
            Mode::MemCopy => compose::by_copy(datagram, glance, &ready, &self.opts, size_max, pool),
            Mode::PreCopy => {
                let frames = &mut self.frames;
                compose::by_ready_frame(datagram, glance, &ready, &self.opts, size_max, frames, pool)
            }
        };
        if composed.is_some() {
            self.counters.ready_count += 1;
            self.account.on_ready(datagram, glance);
        }
        composed.unwrap_or_else(|| self.reply_by_source(datagram))
    }

    /// The answer is not ready: the source's, kept if it is worth it.
    #[cold]
    fn reply_and_keep(&mut self, at: usize, datagram: &mut Datagram) -> Reply {
        let Self { seats, source, store, scratch, config, .. } = self;
        let Some(Seat { glance: Some(glance), words }) = seats.get(at) else { return Reply::Silence };
        let size_max = size_max(glance, config.size_max, datagram);
        let found = fill(source, store, &glance.key, words, config.size_max, &mut scratch[..]);
        let composed = found.and_then(|Found { sections, is_lasting }| {
            let ready = Ready { sum: Sum::of(sections.octets), sections, line: 0 };
            self.counters.kept_count += u64::from(is_lasting);
            compose::in_place(datagram, glance, &ready, &self.opts, size_max)
        });
        if composed.is_some() {
            self.counters.found_count += 1;
            self.account.on_ready(datagram, glance);
        }
        composed.unwrap_or_else(|| self.reply_by_source(datagram))
    }

    /// The source's answer to the whole message, into the query's frame.
    #[cold]
    fn reply_by_source(&mut self, datagram: &mut Datagram) -> Reply {
        let size_max = usize::from(self.config.size_max).min(datagram.answer_len_max());
        let peer = datagram.peer();
        let len = self.source.answer(datagram.data(), peer, size_max, &mut self.scratch[..]);
        let Some(message) = len.and_then(|len| self.scratch.get(..len)) else {
            self.counters.silence_count += 1;
            return Reply::Silence;
        };
        datagram.truncate(0);
        if !datagram.extend(message) {
            return Reply::Drop(DropReason::TooLong);
        }
        self.counters.answered_count += 1;
        Reply::InPlace(Sum::of(message))
    }
}

/// Asks `source` for the answer to `key` and keeps it if that is worth it.
fn fill<'a, S: Source>(
    source: &mut S,
    store: &mut Store,
    key: &Key,
    words: &NameWords,
    size_max: u16,
    out: &'a mut [u8],
) -> Option<Found<'a>> {
    let octets = words.map(u64::to_le_bytes);
    let name = octets.as_flattened().get(..usize::from(key.name_len))?;
    let question = Question { name, qtype: key.qtype, wants_dnssec: key.wants_dnssec };
    let found = source.find(&question, usize::from(size_max), out)?;
    if found.is_lasting {
        store.insert(key, words, &found.sections);
    }
    Some(found)
}

/// How long the answer may be: what the client takes, this server gives, and the path carries.
#[inline]
fn size_max(glance: &Glance, size_max: u16, datagram: &Datagram) -> usize {
    let taken = glance.edns.map_or(UDP_SIZE_MIN, |edns| usize::from(edns.udp_size).max(UDP_SIZE_MIN));
    taken.min(usize::from(size_max)).min(datagram.answer_len_max())
}
