//! The transmission control block and what its owner may ask of it.

use crate::{Arrival, Config, CookieOptions, Outcome, Outgoing, State, TimeWait};
use tidegate_base::{Instant, SeqNumber};
use tidegate_wire::TcpRepr;

/// One connection, in at most 256 bytes.
pub struct Connection {
    state: State,
    offered: u64,
    acked: u64,
}

impl Connection {
    /// A client's connection in SYN-SENT; `poll_transmit` gives its SYN.
    pub fn connect(_now: Instant, _config: &Config, _isn: SeqNumber) -> Self {
        Self { state: State::SynSent, offered: 0, acked: 0 }
    }

    /// A server's connection in SYN-RECEIVED for a SYN; `poll_transmit` gives its SYN-ACK.
    pub fn accept(_now: Instant, _config: &Config, _syn: &TcpRepr, _isn: SeqNumber) -> Self {
        Self { state: State::SynReceived, offered: 0, acked: 0 }
    }

    /// A server's connection in SYN-RECEIVED whose SYN-ACK was a cookie that `ack` answers. Hand `ack`
    /// to `on_segment` next.
    pub fn from_cookie(_now: Instant, _config: &Config, _ack: &TcpRepr, _options: CookieOptions) -> Self {
        Self { state: State::SynReceived, offered: 0, acked: 0 }
    }

    /// Takes a segment. `deliver` is called with each run of bytes that is next in order.
    pub fn on_segment(
        &mut self,
        _now: Instant,
        _config: &Config,
        _arrival: &Arrival<'_>,
        _deliver: &mut dyn FnMut(&[u8]),
    ) -> Outcome {
        Outcome::NONE
    }

    /// The next segment to send, which counts as sent from then on; `None` if there is nothing to send
    /// now. `segment_len(offset, max)` says how long a data segment at that stream offset should be,
    /// 1..=max.
    pub fn poll_transmit(
        &mut self,
        _now: Instant,
        _config: &Config,
        _segment_len: &mut dyn FnMut(u64, usize) -> usize,
    ) -> Option<Outgoing> {
        None
    }

    /// To be called at or after `deadline`; too early does no harm.
    pub fn on_timer(&mut self, _now: Instant, _config: &Config) -> Outcome {
        Outcome::NONE
    }

    /// When `on_timer` is next due; [`Instant::FAR_FUTURE`] if never. Ask after each batch of calls.
    pub fn deadline(&self) -> Instant {
        Instant::FAR_FUTURE
    }

    /// `byte_count` more bytes are ready to be sent. Ignored after `close`.
    pub fn offer(&mut self, byte_count: u64) {
        self.offered += byte_count;
    }

    /// The service is done with `byte_count` delivered bytes: the window reopens by as much.
    pub fn consumed(&mut self, _config: &Config, _byte_count: u32) {}

    /// No more bytes will be offered: a FIN follows the last. The peer may go on sending.
    pub fn close(&mut self) {}

    /// Gives the connection up; `poll_transmit` then gives a RST, if the peer should get one.
    pub fn abort(&mut self) {}

    /// An ICMP error that quotes our segment at `quoted` says that segments above `mss` bytes do not
    /// pass (RFC 1191, RFC 8201). False if it cannot be about a segment in flight and is ignored
    /// (RFC 5927 section 4).
    pub fn on_path_mtu(&mut self, _config: &Config, _quoted: SeqNumber, _mss: u16) -> bool {
        false
    }

    /// An ICMP error that quotes our segment at `quoted` says that the peer cannot be reached. Ends a
    /// connection in SYN-SENT; a synchronized one carries on (RFC 5927 section 5.2).
    pub fn on_unreachable(&mut self, _quoted: SeqNumber) -> Outcome {
        Outcome::NONE
    }

    /// Where the connection is.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Bytes of the stream that the peer has acknowledged.
    pub const fn acked(&self) -> u64 {
        self.acked
    }

    /// Bytes of the stream that were offered.
    pub const fn offered(&self) -> u64 {
        self.offered
    }

    /// Whether nothing is left to be done but to wait in TIME-WAIT, or not even that. True only when
    /// the last segment has been taken by `poll_transmit`.
    pub const fn is_finished(&self) -> bool {
        matches!(self.state, State::Closed | State::TimeWait)
    }

    /// What is to be kept of a connection in TIME-WAIT, once `is_finished`.
    pub fn time_wait(&self, _now: Instant, _config: &Config) -> Option<TimeWait> {
        None
    }
}
