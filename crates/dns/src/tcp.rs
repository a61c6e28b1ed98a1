//! DNS over TCP (RFC 7766, RFC 9210): messages behind their lengths in, answers in the order of their queries
//! out.
//!
//! ```text
//!   on_recv --bytes--> framing --whole message--> Answerer --> block of answers --> write
//!      ^                                             |            ^
//!      |                                             +- transfer -+--on_acked--> next messages of it
//!      +- held: a transfer is under way, or too much is not acknowledged
//! ```
//!
//! What this is not: the answers themselves, which an [`Answerer`] gives. Answers that were asked for by one
//! segment go out as one block, so that ten queries do not cost ten segments. A connection that asks for a
//! zone gets it in messages made as fast as it takes them; queries behind it wait, on the peer's account.
//!
//! Invariants: a connection that has nothing unanswered and nothing partial owns no memory here; what is
//! written and not acknowledged never exceeds [`AHEAD_LEN_MAX`] and one block; an ending connection gets no
//! further answer.

mod feed;
mod framing;
mod patience;
mod reply;
mod shared;
mod stream;
mod tally;

pub(crate) use framing::first_message;
pub use reply::Reply;
pub use shared::{Bounds, TcpShared};
pub use tally::{TcpCounters, TcpTally};

use framing::Room;
use std::net::SocketAddr;
use std::sync::Arc;
use stream::Stream;
use tidegate_base::Duration;
use tidegate_stack::{Admission, Closed, Conn, ConnId, Service};

/// Bytes of answers that may be under way on a connection before its next query is looked at.
const AHEAD_LEN_MAX: u64 = 64 << 10;
/// The same for the messages of a transfer: the most that one round trip can carry.
const TRANSFER_AHEAD_LEN_MAX: u64 = 512 << 10;
/// How many messages of a transfer are made at a time. Others wait meanwhile; as acknowledgements come in, each
/// having as many made, a transfer gathers speed as TCP does.
const TRANSFER_STEP: usize = 2;

/// What gives the answers.
pub trait Answerer {
    /// The messages of one transfer.
    type Transfer: Messages;

    /// Answers one message that came whole.
    fn answer(&mut self, query: Asked<'_>, room: &mut [u8]) -> Answered<Self::Transfer>;
}

/// A message and whom it came from.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'m> {
    /// The message, without its length.
    pub message: &'m [u8],
    /// The other end.
    pub peer: SocketAddr,
    /// This end.
    pub local: SocketAddr,
    /// How long the connection will be kept idle from now on, for RFC 7828.
    pub keep_alive: Duration,
}

/// What becomes of a message.
#[derive(Debug)]
pub enum Answered<T> {
    /// The answer lies in the first so many bytes of the room.
    Message(usize),
    /// More than one message, made as the peer takes them.
    Transfer(T),
    /// Nothing, and the connection is of no more use (RFC 7766 section 8: not a DNS message).
    Hopeless,
}

/// Messages made one after the other.
pub trait Messages {
    /// Makes the next one in `room`.
    fn next_message(&mut self, room: &mut [u8]) -> NextMessage;
}

/// What [`Messages::next_message`] made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextMessage {
    /// A message of so many bytes; others follow.
    More(usize),
    /// The last message.
    Last(usize),
    /// None: the connection is aborted, so that nobody takes what there is for the whole.
    Failed,
}

/// How far a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Phase {
    #[default]
    Open,
    /// The peer sends no more, or shall not; what it asked for is still answered.
    PeerDone,
    /// It has asked for as much as it may: what comes now is thrown away.
    Sated,
    /// The last answer is written; whatever arrives is thrown away.
    Ending,
}

impl Phase {
    const fn takes_no_more(self) -> bool {
        matches!(self, Self::Sated | Self::Ending)
    }

    const fn ends_when_answered(self) -> bool {
        matches!(self, Self::PeerDone | Self::Sated)
    }
}

/// What is remembered of a connection.
pub struct TcpState<T> {
    stream: Option<Box<Stream<T>>>,
    /// When something last happened, in milliseconds that wrap.
    active_ms: u32,
    query_count: u16,
    phase: Phase,
}

impl<T> Default for TcpState<T> {
    fn default() -> Self {
        Self { stream: None, active_ms: 0, query_count: 0, phase: Phase::Open }
    }
}

const _: () = assert!(size_of::<TcpState<[u64; 9]>>() <= 16, "an idle connection keeps one of these");

/// A service whose connections speak DNS.
pub trait Carrier<T>: Service<Response = Reply, State = TcpState<T>> {}

impl<T, S: Service<Response = Reply, State = TcpState<T>>> Carrier<T> for S {}

/// One worker's share of TCP. A [`Service`] hands its callbacks on to it.
pub struct Tcp<A: Answerer> {
    answerer: A,
    shared: Arc<TcpShared>,
    admission: Admission,
    room: Room,
    tally: Arc<TcpTally>,
}

impl<A: Answerer> Tcp<A> {
    /// A worker's share of `shared`, answered by `answerer`.
    pub fn new(shared: Arc<TcpShared>, answerer: A) -> Self {
        let admission = Admission::new(Arc::clone(&shared.gate));
        Self { answerer, shared, admission, room: Room::new(), tally: Arc::default() }
    }

    /// Goes on under other limits.
    pub fn set_shared(&mut self, shared: Arc<TcpShared>) {
        self.shared = shared;
    }

    /// What this worker did, to be read from anywhere.
    pub fn tally(&self) -> Arc<TcpTally> {
        Arc::clone(&self.tally)
    }

    /// What gives the answers.
    pub const fn answerer_mut(&mut self) -> &mut A {
        &mut self.answerer
    }

    /// See [`Service::on_accept`].
    pub fn on_accept(&mut self, peer: SocketAddr) -> bool {
        let limits = self.shared.bounds.admission();
        let is_in = !self.shared.is_draining() && self.admission.try_enter(peer.ip(), limits);
        let count = if is_in { &self.tally.accepted_count } else { &self.tally.refused_count };
        count.add(1);
        is_in
    }

    /// See [`Service::on_open`].
    pub fn on_open<S: Carrier<A::Transfer>>(&mut self, conn: &mut Conn<'_, S>) {
        self.admission.on_open(conn.id());
        note_activity(conn);
        conn.arm_timer(self.shared.bounds.idle);
    }

    /// See [`Service::on_recv`].
    pub fn on_recv<S: Carrier<A::Transfer>>(&mut self, conn: &mut Conn<'_, S>, data: &[u8]) {
        if conn.state().phase.takes_no_more() {
            return;
        }
        note_activity(conn);
        self.take_in(conn, data);
    }

    /// See [`Service::on_acked`].
    pub fn on_acked<S: Carrier<A::Transfer>>(&mut self, conn: &mut Conn<'_, S>) {
        note_activity(conn);
        if let Some(stream) = conn.state().stream.take() {
            self.resume(conn, *stream);
        }
    }

    /// See [`Service::on_eof`].
    pub fn on_eof<S: Carrier<A::Transfer>>(&mut self, conn: &mut Conn<'_, S>) {
        let state = conn.state();
        match (state.phase, state.stream.as_ref().is_some_and(|stream| stream.owes_answers())) {
            (Phase::Ending, _) => {}
            (Phase::Sated, true) => {}
            (_, true) => state.phase = Phase::PeerDone,
            (_, false) => self.end(conn),
        }
    }

    /// See [`Service::on_timer`].
    pub fn on_timer<S: Carrier<A::Transfer>>(&mut self, conn: &mut Conn<'_, S>) {
        self.look_at_time(conn);
    }

    /// See [`Service::on_wake`]: closes a connection that is idle while the service is drained.
    pub fn on_wake<S: Carrier<A::Transfer>>(&mut self, conn: &mut Conn<'_, S>) {
        let is_idle = conn.state().stream.is_none() && conn.unsent_count() == 0;
        if self.shared.is_draining() && is_idle && conn.state().phase != Phase::Ending {
            self.end(conn);
        }
    }

    /// See [`Service::on_closed`].
    pub fn on_closed(&mut self, id: ConnId, _why: Closed) {
        self.tally.closed_count.add(1);
        self.admission.on_closed(id);
    }

    /// Sends no more than what is written.
    fn end<S: Carrier<A::Transfer>>(&mut self, conn: &mut Conn<'_, S>) {
        let state = conn.state();
        state.phase = Phase::Ending;
        if let Some(stream) = state.stream.take() {
            conn.take(stream.held);
        }
        conn.close();
    }
}

fn note_activity<T, S: Carrier<T>>(conn: &mut Conn<'_, S>) {
    conn.state().active_ms = conn.now().as_millis_wrapping();
}
