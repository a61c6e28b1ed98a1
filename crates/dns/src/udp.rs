//! Bursts of queries over UDP in, answers out (Namestorm).
//!
//! ```text
//!   burst --> read every query, hash every name, ask for every bucket      Glance, Store::prefetch
//!         --> ask for every entry                                          Store::prefetch_entry
//!         --> ready?  sections behind the question, header patched         compose
//!             alike?  what all names of a family have in common        family
//!             new?    the source's sections, kept if they are worth it  Source::find
//!             else    the source's whole message                       Source::answer
//! ```
//! The misses of a burst pass together: that is what makes a table larger than the caches quick.
//!
//! Not here: what the answer is ([`Source`]), and TCP.

mod account;
pub mod beforehand;
mod compose;
mod family;
#[cfg(test)]
mod family_tests;
mod glance;
mod opts;
mod ready_frames;
#[cfg(test)]
mod tests;
pub mod zones;

use crate::answer::Family;
use crate::cookie::CookieVerdict;
use crate::counters::DnsTally;
use crate::message::{Edns, Opt};
use crate::rrl::RateLimiter;
use crate::store::{Key, NAME_WORD_COUNT_MAX, NameWords, Ready, Sections, Store, StoreCounters, StoreSize};
use account::Account;
pub(crate) use account::message;
use glance::Glance;
pub use glance::KeyForm;
use opts::{OptRecord, Opts};
use ready_frames::ReadyFrames;
use std::net::{IpAddr, SocketAddr};
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
    /// Has answers made for `wanted` before they are asked for, if it can; [`Source::take_filled`] has them in the end.
    /// What was wanted before is wanted no more.
    fn fill(&mut self, wanted: &Wanted) {
        let _ = wanted;
    }
    /// The answers that were made, if they are there by now.
    fn take_filled(&mut self) -> Option<Box<Store>> {
        None
    }
    /// The family of names whose answers are like that to `question`, whose name may have letters of either case.
    fn family(&mut self, question: &Question<'_>) -> Option<Family> {
        let _ = question;
        None
    }
    /// The sections that answer `question` in at most `size_max` octets with header, question and OPT, written to
    /// `out` (see [`zones::find`]). `None` if sections alone do not make the answer.
    fn find<'a>(&mut self, question: &Question<'_>, size_max: usize, out: &'a mut [u8]) -> Option<Found<'a>>;
    /// The OPT record that goes with such sections to `client`, whose query's said `edns`, and what its cookie
    /// showed. It is asked only if `edns` has a cookie or asks for NSID.
    fn opt(&mut self, now: Instant, edns: &Edns<'_>, client: IpAddr) -> (Opt<'_>, Option<CookieVerdict>);
    /// The answer to the message `query` from `peer`, at most `size_max` octets, written to the beginning of `out`.
    /// `None`: silence.
    fn answer(&mut self, query: &[u8], peer: SocketAddr, size_max: usize, out: &mut [u8]) -> Option<Whole>;
}
/// What a responder's store must be that others fill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// Octets of the longest answer.
    pub size_max: u16,
    /// Bytes of entries at most.
    pub byte_count_max: usize,
    /// What keys are hashed with.
    pub seed: u64,
}
/// A whole message of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Whole {
    /// Its octets.
    pub len: usize,
    /// What the query's cookie showed, if it was looked at.
    pub cookie: Option<CookieVerdict>,
}
/// How often a responder did what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpCounters {
    /// Queries.
    pub query_count: u64,
    /// Answers from what was ready.
    pub ready_count: u64,
    /// Of these, how many from what a family of names has in common.
    pub common_count: u64,
    /// Answers from sections that the source found.
    pub found_count: u64,
    /// Of these, how many were worth being kept.
    pub kept_count: u64,
    /// Whole messages of the source.
    pub answered_count: u64,
    /// Queries that drew none.
    pub silence_count: u64,
}
/// What comes of a query, before the rate limit has a say.
struct Outcome {
    reply: Reply,
    /// What its cookie showed.
    cookie: Option<CookieVerdict>,
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
    /// A family's name.
    family_words: Box<NameWords>,
    counters: UdpCounters,
    /// What is ready was made for other settings.
    is_stale: bool,
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
            family_words: Box::new([0; NAME_WORD_COUNT_MAX]),
            counters: UdpCounters::default(),
            is_stale: false,
        }
    }
    /// Has answers made beforehand.
    pub fn fill(&mut self) {
        let (UdpConfig { size_max, store, .. }, seed) = (self.config, self.store.seed());
        self.source.fill(&Wanted { size_max, byte_count_max: store.byte_count_max, seed });
    }
    /// Answers in at most `size_max` octets from the next burst on.
    pub fn set_size_max(&mut self, size_max: u16) {
        if size_max != self.config.size_max {
            self.config.size_max = size_max;
            self.opts = Opts::new(size_max);
            self.is_stale = true;
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
                let outcome = self.reply(now, at, datagram, pool);
                datagram.reply = self.account.pass(now, datagram, query_len, outcome, pool);
            }
        }
    }
    /// Gives all frames that are kept ready back to the pool.
    pub fn retire(&mut self, pool: &mut Pool) {
        self.frames.release(pool);
    }
    /// Throws away what is ready if it is of other zones than there are now, and takes what was made beforehand. The memory of it goes piece by piece
    /// with the next bursts: to give back all at once would hold them up.
    #[inline]
    fn forget_if_changed(&mut self, pool: &mut Pool) {
        self.store.shrink_retired();
        if self.source.has_changed() || std::mem::take(&mut self.is_stale) {
            self.frames.release(pool);
            self.store.clear();
            self.fill();
        } else if let Some(filled) = self.source.take_filled() {
            self.store.replace(*filled);
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
    fn reply(&mut self, now: Instant, at: usize, datagram: &mut Datagram, pool: &mut Pool) -> Outcome {
        let Self { seats, source, store, config, opts, frames, .. } = self;
        let Some(Seat { glance: Some(glance), words }) = seats.get(at) else {
            return self.reply_by_source(datagram);
        };
        let size_max = size_max(glance, config.size_max, datagram);
        let Some(ready) = store.find(&glance.key, words) else {
            return match self.reply_in_common(now, at, datagram) {
                Some(outcome) => outcome,
                None => self.reply_and_keep(now, at, datagram),
            };
        };
        let Some((opt, cookie)) = opt(now, datagram, glance, source, opts) else {
            return self.reply_by_source(datagram);
        };
        let composed = match config.mode {
            Mode::InPlace => compose::in_place(datagram, glance, &ready, opt, size_max),
            Mode::MemCopy => compose::by_copy(datagram, glance, &ready, opt, size_max, pool),
            Mode::PreCopy => compose::by_ready_frame(datagram, glance, &ready, opt, size_max, frames, pool),
        };
        let Some(reply) = composed else { return self.reply_by_source(datagram) };
        self.counters.ready_count += 1;
        self.account.on_ready(datagram, glance, cookie);
        Outcome { reply, cookie }
    }
    /// The answer is not ready: the source's, kept if it is worth it.
    #[cold]
    fn reply_and_keep(&mut self, now: Instant, at: usize, datagram: &mut Datagram) -> Outcome {
        let Self { seats, source, store, scratch, config, opts, .. } = self;
        let Some(Seat { glance: Some(glance), words }) = seats.get(at) else {
            return Outcome { reply: Reply::Silence, cookie: None };
        };
        let size_max = size_max(glance, config.size_max, datagram);
        let found = fill(source, store, &glance.key, words, config.size_max, &mut scratch[..]);
        let composed = found.and_then(|Found { sections, is_lasting }| {
            let ready = Ready { sum: Sum::of(sections.octets), sections, line: 0 };
            self.counters.kept_count += u64::from(is_lasting);
            let (opt, cookie) = opt(now, datagram, glance, source, opts)?;
            Some(Outcome { reply: compose::in_place(datagram, glance, &ready, opt, size_max)?, cookie })
        });
        let Some(outcome) = composed else { return self.reply_by_source(datagram) };
        self.counters.found_count += 1;
        self.account.on_ready(datagram, glance, outcome.cookie);
        outcome
    }
    /// The source's answer to the whole message, into the query's frame.
    #[cold]
    fn reply_by_source(&mut self, datagram: &mut Datagram) -> Outcome {
        let size_max = usize::from(self.config.size_max).min(datagram.answer_len_max());
        let peer = datagram.peer();
        let whole = self.source.answer(datagram.data(), peer, size_max, &mut self.scratch[..]);
        let made = whole.and_then(|whole| Some((self.scratch.get(..whole.len)?, whole.cookie)));
        let Some((message, cookie)) = made else {
            self.counters.silence_count += 1;
            return Outcome { reply: Reply::Silence, cookie: None };
        };
        datagram.truncate(0);
        if !datagram.extend(message) {
            return Outcome { reply: Reply::Drop(DropReason::TooLong), cookie };
        }
        self.counters.answered_count += 1;
        Outcome { reply: Reply::InPlace(Sum::of(message)), cookie }
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
/// The OPT record of the answer to what `glance` was at, if there is to be one, and what the query's cookie showed.
/// `None` if the record cannot be made here.
#[inline]
fn opt<'o, S: Source>(
    now: Instant,
    datagram: &Datagram,
    glance: &Glance,
    source: &mut S,
    opts: &'o mut Opts,
) -> Option<(Option<&'o OptRecord>, Option<CookieVerdict>)> {
    let Some(edns) = glance.edns else { return Some((None, None)) };
    if !edns.wants_option {
        return Some((Some(opts.bare(edns)), None));
    }
    let asked = edns.whole(datagram.data().get(usize::from(glance.question_end)..)?)?;
    let (opt, cookie) = source.opt(now, &asked, datagram.peer().ip());
    opts.make(&opt)?;
    Some((Some(opts.made()), cookie))
}
/// How long the answer may be: what the client takes, this server gives, and the path carries.
#[inline]
fn size_max(glance: &Glance, size_max: u16, datagram: &Datagram) -> usize {
    let taken = glance.edns.map_or(UDP_SIZE_MIN, |edns| usize::from(edns.udp_size).max(UDP_SIZE_MIN));
    taken.min(usize::from(size_max)).min(datagram.answer_len_max())
}
