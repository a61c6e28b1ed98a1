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

mod feed;
mod intake;
mod patience;
mod planner;
mod shared;

pub use shared::{Shared, library_config};

use crate::access_log::{LogSender, Record, beginning_of};
use crate::counters::SiteTally;
use crate::field::validator::HttpSecond;
use crate::memo::{Answer, AnswerTraits, Era, Memo};
use crate::request::is_head;
use crate::status::Status;
use hashbrown::HashMap;
use intake::{Awaited, Intake, Waiting};
use planner::Planner;
use std::net::SocketAddr;
use std::sync::Arc;
use tidegate_base::{Duration, Instant};
use tidegate_content::{Document, Encoding, Packer, Reader, Response, Stamp};
use tidegate_packet::{Frame, Pool};
use tidegate_stack::{Admission, Closed, Conn, ConnId, FetchError, Payload, Service};

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
    admission: Admission,
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
            admission: Admission::new(Arc::clone(&shared.gate)),
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

    /// Goes on under the settings of [`Shared::successor`]. What the worker remembers of heads follows within
    /// seconds.
    pub fn set_shared(&mut self, shared: Arc<Shared>) {
        self.shared = shared;
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
    fn refuse(&mut self, conn: &mut SiteConn<'_>, status: Status, head: &[u8]) {
        let answer = Answer {
            prepared: self.shared.pages.error(status),
            traits: AnswerTraits { code: status.code(), head_only: is_head(head), close: true },
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
}

impl Service for Site {
    type Response = Response;
    type State = ConnState;

    fn on_accept(&mut self, peer: SocketAddr, _local: SocketAddr) -> bool {
        let is_in =
            !self.shared.is_draining() && self.admission.try_enter(peer.ip(), self.shared.bounds.admission);
        if is_in {
            self.tally.accepted_count.add(1)
        } else {
            self.tally.refused_count.add(1)
        }
        is_in
    }

    fn on_open(&mut self, conn: &mut SiteConn<'_>) {
        self.admission.on_open(conn.id());
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
        self.look_at_time(conn);
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
        self.admission.on_closed(id);
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
    fn bulk_len(response: &Response, offset: u64, max: usize) -> usize {
        response.bulk_len(offset, max)
    }

    fn fetch_bulk(
        &mut self,
        response: &Response,
        offset: u64,
        len: usize,
        pool: &mut Pool,
    ) -> Result<Frame, FetchError> {
        self.packer.fetch_bulk(response, offset, len, pool).ok_or(FetchError::NoFrame)
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

    fn retire(&mut self, pool: &mut Pool) {
        self.packer.release(pool);
    }
}

/// Tells at compile time that a site may move to its worker's thread.
const _: fn() = || {
    const fn sent<T: Send>() {}
    sent::<Site>();
};
