//! What a server is to the stack: callbacks (Sandstorm, table 1), and a handle to act with.
//!
//! | paper             | here                                            |
//! |-------------------|-------------------------------------------------|
//! | `tcp_bind/listen` | [`Stack::listen`](crate::Stack::listen)         |
//! | `tcp_accept`      | [`Service::on_accept`]                          |
//! | `tcp_recv`        | [`Service::on_recv`], [`Conn::hold`]            |
//! | `tcp_sent`        | [`Service::on_sent`]                            |
//! | `tcp_write`       | [`Conn::write`], then [`Service::fetch`]        |
//! | `tcp_close`       | [`Conn::close`]                                 |

use crate::datagram::{Datagram, Reply};
use crate::flow::FlowKey;
use crate::outlet::{Outlet, Wrapping};
use crate::tcp_out::ConnectError;
use std::net::SocketAddr;
use tidegate_base::{Duration, Instant, Sum};
use tidegate_packet::{Frame, Pool};
use tidegate_tcp::Closed;

/// A connection of one stack. A number that is used again has another generation, so a stale one is
/// never mistaken for a new connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ConnId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

/// Payload ready to be sent: a frame whose data is exactly the bytes asked for, and their sum as
/// though they began at an even offset.
pub struct Payload {
    /// The bytes, with the full headroom before them.
    pub frame: Frame,
    /// Their ones' complement sum.
    pub sum: Sum,
}

/// Why a response's bytes cannot be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FetchError {
    /// The pool has no free frame: ask again later.
    NoFrame,
    /// The bytes are gone (a file was cut short): the connection is aborted.
    Gone,
}

/// A server. One value a worker; it is never called from two threads.
pub trait Service: Sized {
    /// What a connection sends: something that can be asked for the same bytes again, for there is no
    /// send buffer. Kept until acknowledged; best at most 32 bytes.
    type Response;
    /// What the service remembers of a connection; best at most 16 bytes.
    type State: Default;

    /// A peer asks for a connection. False: there is no place for it now, and silence has it ask again.
    fn on_syn(&mut self, peer: SocketAddr, local: SocketAddr) -> bool {
        let _ = (peer, local);
        true
    }

    /// A peer completed the handshake, or is about to. False refuses it with a reset.
    fn on_accept(&mut self, peer: SocketAddr, local: SocketAddr) -> bool;

    /// The connection is established; the place to arm a first timer, or for a client to write.
    fn on_open(&mut self, conn: &mut Conn<'_, Self>) {
        let _ = conn;
    }

    /// Bytes arrived, in order and once. They count as taken unless [`Conn::hold`] says otherwise.
    fn on_recv(&mut self, conn: &mut Conn<'_, Self>, data: &[u8]);

    /// The peer will send no more.
    fn on_eof(&mut self, conn: &mut Conn<'_, Self>) {
        conn.close();
    }

    /// A response is wholly acknowledged that was not before: there is room for another, for a service that
    /// makes what it sends as the peer takes it. Called before [`Service::on_sent`].
    fn on_acked(&mut self, conn: &mut Conn<'_, Self>) {
        let _ = conn;
    }

    /// All that was written is acknowledged.
    fn on_sent(&mut self, conn: &mut Conn<'_, Self>) {
        let _ = conn;
    }

    /// The timer that was armed by [`Conn::arm_timer`] fired.
    fn on_timer(&mut self, conn: &mut Conn<'_, Self>) {
        let _ = conn;
    }

    /// The connection that [`Service::poll_wake`] named.
    fn on_wake(&mut self, conn: &mut Conn<'_, Self>) {
        let _ = conn;
    }

    /// The connection is gone; called once for each that `on_accept` let in or `connect` opened.
    fn on_closed(&mut self, id: ConnId, state: Self::State, why: Closed);

    /// A connection that something outside the stack made ready (a file was loaded). Called once a
    /// round until it returns `None`.
    fn poll_wake(&mut self, now: Instant) -> Option<ConnId> {
        let _ = now;
        None
    }

    /// A connection to open as a client, and what to remember of it. Called in each round until it
    /// returns `None` or names one that cannot be opened.
    fn poll_connect(&mut self, now: Instant) -> Option<(SocketAddr, Self::State)> {
        let _ = now;
        None
    }

    /// A connection that [`Service::poll_connect`] named cannot be opened now.
    fn on_connect_error(&mut self, state: Self::State, why: ConnectError) {
        let _ = (state, why);
    }

    /// How many bytes a response is; never changes, and is at least one.
    fn response_len(response: &Self::Response) -> u64;

    /// How many of the bytes from `offset` on go into one segment, between 1 and `max`: so that
    /// segments follow the packets that are ready.
    fn segment_len(response: &Self::Response, offset: u64, max: usize) -> usize;

    /// The `len` bytes from `offset` on, as [`Service::segment_len`] cut them or shorter. Called again
    /// for a retransmission, and must give the same bytes.
    fn fetch(
        &mut self,
        response: &Self::Response,
        offset: u64,
        len: usize,
        pool: &mut Pool,
    ) -> Result<Payload, FetchError>;

    /// How many of the bytes from `offset` on, at most `max`, [`Service::fetch_bulk`] has; zero: none.
    fn bulk_len(response: &Self::Response, offset: u64, max: usize) -> usize {
        let _ = (response, offset, max);
        0
    }

    /// The `len` bytes from `offset` on, most of them as the frame's tail; their sum is not asked for.
    fn fetch_bulk(
        &mut self,
        response: &Self::Response,
        offset: u64,
        len: usize,
        pool: &mut Pool,
    ) -> Result<Frame, FetchError> {
        let _ = (response, offset, len, pool);
        Err(FetchError::Gone)
    }

    /// The service leaves its worker for good: the frames that it keeps go back to the pool.
    fn retire(&mut self, pool: &mut Pool) {
        let _ = pool;
    }

    /// Datagrams of one received batch, at most [`BURST_LEN_MAX`](crate::BURST_LEN_MAX), each to be given its
    /// [`Reply`]. A service without UDP refuses them.
    fn on_datagrams(&mut self, now: Instant, burst: &mut [Datagram], pool: &mut Pool) {
        let _ = (now, pool);
        for datagram in burst {
            datagram.reply = Reply::Refuse;
        }
    }
}

/// When received bytes are acknowledged, where the rules of TCP leave a choice.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Acknowledgement {
    /// At once after the last part of what the peer had to say, else late.
    #[default]
    ByLength,
    Late,
    Now,
}

/// What a service asked for in a callback, carried out when it returns.
#[derive(Default)]
pub(crate) struct Actions {
    pub(crate) offered: u64,
    pub(crate) held: u32,
    pub(crate) taken: u32,
    pub(crate) close: bool,
    pub(crate) abort: bool,
    pub(crate) acknowledgement: Acknowledgement,
    pub(crate) timer: Option<Option<Instant>>,
}

/// A connection, as its service may use it during a callback.
pub struct Conn<'a, S: Service> {
    pub(crate) id: ConnId,
    pub(crate) now: Instant,
    pub(crate) key: FlowKey,
    pub(crate) state: &'a mut S::State,
    pub(crate) outlet: Outlet<'a, S::Response>,
    pub(crate) actions: &'a mut Actions,
}

impl<S: Service> Conn<'_, S> {
    /// Which connection this is.
    pub const fn id(&self) -> ConnId {
        self.id
    }

    /// The time of this round.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The other end.
    pub fn peer(&self) -> SocketAddr {
        self.key.peer()
    }

    /// This end.
    pub fn local(&self) -> SocketAddr {
        self.key.here()
    }

    /// What the service remembers of the connection.
    pub fn state(&mut self) -> &mut S::State {
        self.state
    }

    /// Sends `response` behind what was written before. An empty one is ignored.
    pub fn write(&mut self, response: S::Response) {
        let len = S::response_len(&response);
        if len > 0 {
            self.actions.offered += len;
            self.outlet.push(response, len);
        }
    }

    /// How many responses are written and not wholly acknowledged.
    pub fn unsent_count(&self) -> usize {
        self.outlet.len()
    }

    /// How many bytes those are.
    pub fn unsent_len(&self) -> u64 {
        self.outlet.byte_count()
    }

    /// Keeps the last `n` received bytes on the peer's account: the window stays that much smaller
    /// until [`Conn::take`].
    pub fn hold(&mut self, n: u32) {
        self.actions.held += n;
    }

    /// Takes `n` held bytes: the window opens again.
    pub fn take(&mut self, n: u32) {
        self.actions.taken += n;
    }

    /// Has what was received acknowledged a little later, so that an answer which is written soon carries that.
    pub fn acknowledge_late(&mut self) {
        self.actions.acknowledgement = Acknowledgement::Late;
    }

    /// Has all that was received acknowledged now, by what is sent now or alone.
    pub fn acknowledge(&mut self) {
        self.actions.acknowledgement = Acknowledgement::Now;
    }

    /// Sends FIN behind all that was written; received data still arrives.
    pub fn close(&mut self) {
        self.actions.close = true;
    }

    /// Resets the connection at once.
    pub fn abort(&mut self) {
        self.actions.abort = true;
    }

    /// Has [`Service::on_timer`] called once, `after` from now, in place of any earlier wish.
    pub fn arm_timer(&mut self, after: Duration) {
        self.actions.timer = Some(Some(self.now + after));
    }

    /// The connection as `P` sees it, a service that this one is made of: `state` finds P's part of the
    /// connection's state, `wrap` makes P's responses this service's. Nothing happens if there is no such
    /// part.
    #[inline]
    pub fn as_part<P: Service>(
        &mut self,
        state: fn(&mut S::State) -> Option<&mut P::State>,
        wrap: fn(P::Response) -> S::Response,
        act: impl FnOnce(&mut Conn<'_, P>),
    ) {
        let Some(state) = state(self.state) else { return };
        let mut intake = Wrapping { outlet: &mut self.outlet, wrap };
        let outlet = Outlet::Part(&mut intake);
        act(&mut Conn { id: self.id, now: self.now, key: self.key, state, outlet, actions: self.actions });
    }

    /// Takes back [`Conn::arm_timer`].
    pub fn disarm_timer(&mut self) {
        self.actions.timer = Some(None);
    }
}
