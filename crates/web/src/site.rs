//! The web server as the stack sees it: bytes of connections in, prepared responses out.
//!
//! ```text
//!   on_recv --same bytes as before--> memo -------------------------> write
//!      |                                                                ^
//!      +--> Intake: scan --whole head--> planner --Answer---------------+--close?--> end, linger
//!              ^  |                         |
//!              |  +-- too many under way    +--Await--> library loads
//!              |         on_sent                          |
//!              +-----------+--------- on_wake <-----------+
//! ```
//!
//! Answers go out in the order of their requests. What arrives while a connection waits (for a
//! document, or for its answers to be acknowledged) stays on the peer's account, so TCP's window closes
//! and nothing is read that cannot be answered.
//!
//! Invariant: a connection that has nothing unanswered owns no memory here; a connection that is
//! ending gets no further answer.

mod admission;
mod intake;
mod planner;
mod shared;

pub use shared::{Shared, library_config};

use crate::access_log::{LogSender, Record, beginning_of};
use crate::counters::SiteTally;
use crate::field::validator::HttpSecond;
use crate::memo::{Answer, AnswerTraits, Era, Memo};
use crate::request::body::Skipped;
use crate::request::scan::Scanned;
use crate::status::Status;
use admission::PeerLimit;
use hashbrown::HashMap;
use intake::{Awaited, Intake, Waiting};
use planner::{Planned, Planner, Rules, is_head};
use std::net::SocketAddr;
use std::sync::Arc;
use tidegate_base::{Duration, Instant};
use tidegate_content::{Document, Encoding, Packer, Reader, Response, Stamp};
use tidegate_packet::Pool;
use tidegate_stack::{Closed, Conn, ConnId, FetchError, Payload, Service};

/// Heads that a worker remembers.
const MEMO_ENTRY_COUNT: usize = 4096;
/// How often the time of day is looked at.
const CLOCK_INTERVAL: Duration = Duration::from_millis(100);
/// How long an era of the memo lasts, in seconds.
const ERA_SECS: u64 = 8;

/// How far a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Phase {
    #[default]
    Open,
    /// The peer sends no more; what it asked for is still answered.
    PeerDone,
    /// The last answer is written; whatever arrives is thrown away.
    Ending,
    /// The same behind a refusal: the peer may never notice, so it is given some time, and then reset.
    Lingering,
}

impl Phase {
    const fn is_over(self) -> bool {
        matches!(self, Self::Ending | Self::Lingering)
    }
}

/// What a site remembers of a connection.
#[derive(Default)]
pub struct ConnState {
    intake: Option<Box<Intake>>,
    active_ms: u32,
    request_count: u16,
    phase: Phase,
}

const _: () = assert!(size_of::<ConnState>() <= 16, "an idle connection keeps one of these");

/// A connection and the document that it waits for.
struct Parked {
    id: ConnId,
    document: Arc<Document>,
    encoding: Encoding,
}

/// One worker's web server.
pub struct Site {
    shared: Arc<Shared>,
    planner: Planner,
    packer: Packer,
    log: Option<LogSender>,
    tally: Arc<SiteTally>,
    peers: PeerLimit,
    parked: HashMap<u64, Parked>,
    last_ticket: u64,
    woken: Option<(ConnId, Awaited)>,
    unix_secs: u64,
    clock_due: Instant,
}

type SiteConn<'a> = Conn<'a, Site>;

impl Site {
    /// A worker of the site: `reader` is of the library that the site serves, `packer` this worker's.
    pub fn new(shared: Arc<Shared>, reader: Reader, packer: Packer, log: Option<LogSender>) -> Self {
        Self {
            peers: PeerLimit::new(shared.bounds.connection_count_max_per_peer),
            planner: Planner::new(reader, Memo::new(MEMO_ENTRY_COUNT)),
            shared,
            packer,
            log,
            tally: Arc::default(),
            parked: HashMap::new(),
            last_ticket: 0,
            woken: None,
            unix_secs: 0,
            clock_due: Instant::ZERO,
        }
    }

    /// What this worker did, to be read from anywhere.
    pub fn tally(&self) -> Arc<SiteTally> {
        Arc::clone(&self.tally)
    }

    /// What makes this worker's frames.
    pub const fn packer(&self) -> &Packer {
        &self.packer
    }

    /// The same, to change.
    pub const fn packer_mut(&mut self) -> &mut Packer {
        &mut self.packer
    }

    #[inline]
    fn tick(&mut self, now: Instant) {
        if now >= self.clock_due {
            self.clock_due = now + CLOCK_INTERVAL;
            self.unix_secs = HttpSecond::of((self.shared.clock)()).0;
            self.packer.set_date(self.unix_secs);
        }
    }

    #[inline]
    fn era(&mut self) -> Era {
        Era { generation: self.planner.generation(), period: self.unix_secs / ERA_SECS }
    }

    /// Answers from memory if `data` is exactly one known request and nothing is before it.
    #[inline]
    fn answer_repeated(&mut self, conn: &mut SiteConn<'_>, data: &[u8]) -> bool {
        if conn.state().intake.is_some() || conn.unsent_count() >= self.shared.bounds.pipelined_max {
            return false;
        }
        let era = self.era();
        let Some(answer) = self.planner.recall(data, era) else { return false };
        self.tally.repeated_count.add(1);
        self.answer(conn, answer, data);
        true
    }

    /// Takes in `data` behind what the connection has received before.
    fn take_in(&mut self, conn: &mut SiteConn<'_>, data: &[u8]) {
        let Some(mut intake) = conn.state().intake.take() else {
            let mut intake = Intake::default();
            let used = self.feed(conn, &mut intake, data);
            return self.keep(conn, intake, &data[used..]);
        };
        intake.bytes.extend_from_slice(data);
        self.resume(conn, *intake);
    }

    /// Goes on with a connection's input, unless it still waits.
    fn resume(&mut self, conn: &mut SiteConn<'_>, mut intake: Intake) {
        let bytes = std::mem::take(&mut intake.bytes);
        let used = if intake.waiting == Waiting::Input { self.feed(conn, &mut intake, &bytes) } else { 0 };
        self.put_back(conn, intake, bytes, used);
    }

    /// Answers as many requests of `bytes` as may be answered now. Returns how many bytes those were.
    fn feed(&mut self, conn: &mut SiteConn<'_>, intake: &mut Intake, bytes: &[u8]) -> usize {
        let mut used = 0;
        while used < bytes.len() && intake.waiting == Waiting::Input {
            if conn.state().phase.is_over() {
                return bytes.len();
            }
            match self.feed_one(conn, intake, &bytes[used..]) {
                0 => break,
                step => used += step,
            }
        }
        used
    }

    /// One request, or one stretch of a body. Zero: nothing that can be taken now.
    fn feed_one(&mut self, conn: &mut SiteConn<'_>, intake: &mut Intake, bytes: &[u8]) -> usize {
        if let Some(skip) = &mut intake.body {
            return match skip.advance(bytes) {
                Skipped::All => bytes.len(),
                Skipped::Done(len) => {
                    (intake.body, intake.since) = (None, None);
                    len
                }
                // Its request is answered already; where the next one starts is not known.
                Skipped::Refused(_) => {
                    self.end(conn);
                    bytes.len()
                }
            };
        }
        if conn.unsent_count() >= self.shared.bounds.pipelined_max {
            intake.waiting = Waiting::Room;
            return 0;
        }
        match intake.scan.advance(bytes, &self.shared.bounds.head) {
            Scanned::Partial => 0,
            Scanned::Refused(status) => {
                self.refuse(conn, status, false, bytes);
                bytes.len()
            }
            Scanned::Whole(len) => self.on_head(conn, intake, &bytes[..len]),
        }
    }

    /// Answers one whole head, or has the connection wait. Returns how many bytes were taken.
    fn on_head(&mut self, conn: &mut SiteConn<'_>, intake: &mut Intake, head: &[u8]) -> usize {
        let era = self.era();
        let planned = match self.planner.recall(head, era).filter(|_| intake.awaited.is_none()) {
            Some(answer) => {
                self.tally.repeated_count.add(1);
                Planned::Answer(answer, None)
            }
            None => self.plan(head, era, intake.awaited.take()),
        };
        (intake.scan, intake.since) = Default::default();
        match planned {
            Planned::Answer(answer, body) => {
                intake.body = body;
                self.answer(conn, answer, head);
                head.len()
            }
            Planned::Refuse { status, head_only } => {
                self.refuse(conn, status, head_only, head);
                head.len()
            }
            Planned::Await(document, encoding) => {
                self.tally.awaited_count.add(1);
                self.parked.insert(self.last_ticket, Parked { id: conn.id(), document, encoding });
                intake.waiting = Waiting::Load;
                0
            }
        }
    }

    fn plan(&mut self, head: &[u8], era: Era, awaited: Option<Awaited>) -> Planned {
        let Shared { naming, heads, pages, bounds, .. } = &*self.shared;
        let rules = Rules { naming, heads, pages, body_len_max: bounds.body_len_max };
        self.last_ticket += 1;
        self.planner.plan(head, &rules, era, self.last_ticket, awaited)
    }

    /// Writes an answer, and ends the connection if it is the last one.
    #[inline]
    fn answer(&mut self, conn: &mut SiteConn<'_>, answer: Answer, head: &[u8]) {
        let count = conn.state().request_count.saturating_add(1);
        conn.state().request_count = count;
        let count_max = self.shared.bounds.request_count_max;
        let is_last = count_max != 0 && u32::from(count) >= count_max.min(u32::from(u16::MAX));
        let close = answer.traits.close || is_last || self.shared.is_draining();
        let stamp = Stamp::new(self.unix_secs, close);
        let response = match answer.traits.head_only {
            true => Response::head_only(answer.prepared, stamp),
            false => Response::whole(answer.prepared, stamp),
        };
        self.tally.answer(answer.traits.code, response.len());
        self.log(conn, answer.traits.code, &response, head);
        conn.write(response);
        if close {
            self.end(conn);
        }
    }

    #[inline]
    fn log(&self, conn: &SiteConn<'_>, code: u16, response: &Response, head: &[u8]) {
        let Some(log) = &self.log else { return };
        let record = Record {
            peer: conn.peer().ip(),
            unix_secs: self.unix_secs,
            code,
            body_len: response.len() - response.prepared().head_len(),
            head: beginning_of(head),
        };
        if !log.try_log(record) {
            self.tally.unlogged_count.add(1);
        }
    }

    /// Answers what is no request, or none that can be served, and ends the connection.
    fn refuse(&mut self, conn: &mut SiteConn<'_>, status: Status, head_only: bool, head: &[u8]) {
        let answer = Answer {
            prepared: self.shared.pages.error(status),
            traits: AnswerTraits { code: status.code(), head_only, close: true },
        };
        self.answer(conn, answer, head);
        // RFC 9112 section 9.6: the peer may still be sending; to reset it now could cost it the answer.
        conn.state().phase = Phase::Lingering;
        conn.arm_timer(self.shared.bounds.linger);
    }

    fn end(&mut self, conn: &mut SiteConn<'_>) {
        conn.state().phase = Phase::Ending;
        conn.close();
    }

    /// Keeps what is left of the input, in a box that exists only if there is something.
    fn keep(&mut self, conn: &mut SiteConn<'_>, mut intake: Intake, rest: &[u8]) {
        intake.bytes.extend_from_slice(rest);
        self.settle(conn, intake);
    }

    fn put_back(&mut self, conn: &mut SiteConn<'_>, mut intake: Intake, mut bytes: Vec<u8>, used: usize) {
        bytes.drain(..used);
        intake.bytes = bytes;
        self.settle(conn, intake);
        // The timer may have been set for something that took longer than being idle may.
        if conn.state().intake.is_none() && !conn.state().phase.is_over() {
            conn.arm_timer(self.shared.bounds.idle);
        }
    }

    fn settle(&mut self, conn: &mut SiteConn<'_>, mut intake: Intake) {
        if conn.state().phase.is_over() {
            return conn.take(intake.held);
        }
        hold_rest(conn, &mut intake);
        let is_waiting = intake.waiting != Waiting::Input;
        if conn.state().phase == Phase::PeerDone && !is_waiting {
            return self.end(conn);
        }
        if !intake.is_blank() {
            self.start_timer(conn, &mut intake);
            conn.state().intake = Some(Box::new(intake));
        }
    }

    /// A request that is not whole, and a load, have their time from their first moment on.
    fn start_timer(&self, conn: &mut SiteConn<'_>, intake: &mut Intake) {
        if intake.waiting != Waiting::Room && intake.since.is_none() {
            intake.since = Some(conn.now());
            conn.arm_timer(self.patience(intake.waiting));
        }
    }

    fn patience(&self, waiting: Waiting) -> Duration {
        match waiting {
            Waiting::Input => self.shared.bounds.header,
            Waiting::Load => self.shared.bounds.load,
            Waiting::Room => self.shared.bounds.idle,
        }
    }

    /// How long until something is late; zero if it is.
    fn time_left(&self, conn: &mut SiteConn<'_>) -> Duration {
        let (now, bounds) = (conn.now(), &self.shared.bounds);
        let state = conn.state();
        let quiet_ms = now.as_millis_wrapping().wrapping_sub(state.active_ms);
        let quiet_since = now - Duration::from_millis(u64::from(quiet_ms));
        let (since, patience) = match (state.intake.as_deref(), state.phase) {
            (_, Phase::Lingering) => (quiet_since, bounds.linger),
            (Some(Intake { since: Some(since), waiting, .. }), _) => (*since, self.patience(*waiting)),
            (Some(_), _) => (quiet_since, bounds.idle),
            (None, _) if state.request_count == 0 => (quiet_since, bounds.header),
            (None, _) => (quiet_since, bounds.idle),
        };
        patience.saturating_sub(now - since)
    }

    /// Whether the peer owes nothing but acknowledgements. TCP gives up a peer that takes nothing;
    /// until then its connection is not idle.
    fn is_only_sending(conn: &mut SiteConn<'_>) -> bool {
        let intake = conn.state().intake.as_deref();
        let is_quiet = intake.is_none_or(|intake| intake.waiting == Waiting::Room);
        is_quiet && conn.unsent_count() > 0
    }

    /// A connection whose time is over.
    fn expire(&mut self, conn: &mut SiteConn<'_>) {
        let intake = conn.state().intake.take();
        match intake {
            // TCP sees to the end of what was closed in order.
            _ if conn.state().phase == Phase::Ending => {}
            _ if conn.state().phase == Phase::Lingering => conn.abort(),
            Some(intake) if intake.is_partial() => {
                self.tally.header_timeout_count.add(1);
                conn.take(intake.held);
                // Behind an answer, the rest of its request's body is only waited for, never answered.
                match intake.body {
                    Some(_) => self.end(conn),
                    None => self.refuse(conn, Status::RequestTimeout, false, &intake.bytes),
                }
            }
            Some(intake) if intake.waiting == Waiting::Load => {
                self.refuse(conn, Status::ServiceUnavailable, is_head(&intake.bytes), &intake.bytes);
                conn.take(intake.held);
            }
            _ => {
                self.tally.idle_timeout_count.add(1);
                self.end(conn);
            }
        }
    }
}

/// Leaves what waits on the peer's account, and takes everything else off it.
fn hold_rest(conn: &mut SiteConn<'_>, intake: &mut Intake) {
    let rest_len = if intake.waiting == Waiting::Input { 0 } else { intake.bytes.len() as u32 };
    match rest_len.checked_sub(intake.held) {
        Some(more) => conn.hold(more),
        None => conn.take(intake.held - rest_len),
    }
    intake.held = rest_len;
}

impl Service for Site {
    type Response = Response;
    type State = ConnState;

    fn on_accept(&mut self, peer: SocketAddr, _local: SocketAddr) -> bool {
        let is_in = self.peers.admits(peer.ip())
            && !self.shared.is_draining()
            && self.shared.gate.try_enter(self.shared.bounds.connection_count_max);
        if is_in {
            self.tally.accepted_count.add(1)
        } else {
            self.tally.refused_count.add(1)
        }
        is_in
    }

    fn on_open(&mut self, conn: &mut SiteConn<'_>) {
        self.peers.enter(conn.id(), conn.peer().ip());
        conn.state().active_ms = conn.now().as_millis_wrapping();
        conn.arm_timer(self.shared.bounds.header);
    }

    #[inline]
    fn on_recv(&mut self, conn: &mut SiteConn<'_>, data: &[u8]) {
        if conn.state().phase.is_over() {
            return;
        }
        self.tick(conn.now());
        conn.state().active_ms = conn.now().as_millis_wrapping();
        if !self.answer_repeated(conn, data) {
            self.take_in(conn, data);
        }
    }

    fn on_eof(&mut self, conn: &mut SiteConn<'_>) {
        let state = conn.state();
        let is_waiting = state.intake.as_ref().is_some_and(|intake| intake.waiting != Waiting::Input);
        match (state.phase, is_waiting) {
            (Phase::Ending | Phase::Lingering, _) => {}
            (_, true) => state.phase = Phase::PeerDone,
            (_, false) => {
                state.intake = None;
                self.end(conn);
            }
        }
    }

    fn on_sent(&mut self, conn: &mut SiteConn<'_>) {
        conn.state().active_ms = conn.now().as_millis_wrapping();
        let waits_for_room = |intake: &mut Box<Intake>| intake.waiting == Waiting::Room;
        if let Some(mut intake) = conn.state().intake.take_if(waits_for_room) {
            self.tick(conn.now());
            intake.waiting = Waiting::Input;
            self.resume(conn, *intake);
        }
    }

    fn on_timer(&mut self, conn: &mut SiteConn<'_>) {
        self.tick(conn.now());
        let left = self.time_left(conn);
        if Self::is_only_sending(conn) {
            conn.arm_timer(self.shared.bounds.linger);
        } else if left > Duration::ZERO {
            conn.arm_timer(left);
        } else if conn.state().phase.is_over() {
            conn.abort();
        } else {
            self.expire(conn);
        }
    }

    fn poll_wake(&mut self, now: Instant) -> Option<ConnId> {
        self.tick(now);
        loop {
            let completion = self.planner.reader().poll()?;
            if let Some(Parked { id, document, encoding }) = self.parked.remove(&completion.ticket) {
                self.woken = Some((id, Awaited { document, encoding, outcome: completion.outcome }));
                return Some(id);
            }
        }
    }

    fn on_wake(&mut self, conn: &mut SiteConn<'_>) {
        let id = conn.id();
        let awaited = self.woken.take_if(|(woken, _)| *woken == id).map(|(_, awaited)| awaited);
        let waits_for_load = |intake: &mut Box<Intake>| intake.waiting == Waiting::Load;
        match awaited {
            Some(awaited) => {
                let Some(mut intake) = conn.state().intake.take_if(waits_for_load) else { return };
                intake.waiting = Waiting::Input;
                intake.awaited = Some(awaited);
                self.resume(conn, *intake);
            }
            None if self.shared.is_draining() => {
                let is_idle = conn.state().intake.is_none() && conn.unsent_count() == 0;
                if is_idle && !conn.state().phase.is_over() {
                    self.end(conn);
                }
            }
            None => {}
        }
    }

    fn on_closed(&mut self, id: ConnId, _state: ConnState, _why: Closed) {
        self.tally.closed_count.add(1);
        self.shared.gate.leave();
        self.peers.leave(id);
    }

    #[inline]
    fn response_len(response: &Response) -> u64 {
        response.len()
    }

    #[inline]
    fn segment_len(response: &Response, offset: u64, max: usize) -> usize {
        response.segment_len(offset, max)
    }

    #[inline]
    fn fetch(
        &mut self,
        response: &Response,
        offset: u64,
        len: usize,
        pool: &mut Pool,
    ) -> Result<Payload, FetchError> {
        match self.packer.fetch(response, offset, len, pool) {
            Some(payload) => Ok(Payload { frame: payload.frame, sum: payload.sum }),
            None if response.is_intact() => Err(FetchError::NoFrame),
            None => Err(FetchError::Gone),
        }
    }
}

/// Tells at compile time that a site may move to its worker's thread.
const _: fn() = || {
    const fn sent<T: Send>() {}
    sent::<Site>();
};
