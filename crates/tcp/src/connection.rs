//! The transmission control block and what its owner may ask of it.
//!
//! What happens to it is in the files beside this one, by event: `handshake`, `receive`, `ack`,
//! `transmit`, `timer`.
//!
//! ```text
//!  send:     acked                                  offered     stream offsets
//!              |  sent, not acknowledged  |  unsent    |
//!           SND.UNA                    SND.NXT                  sequence numbers
//!
//!  receive:  RCV.NXT - unread      RCV.NXT        RCV.NXT + RCV.WND
//!              | with the service     |  may arrive   |
//! ```
//!
//! Invariant: SND.UNA <= SND.NXT, data between them was offered, the right edge of the receive window
//! never moves left; see [`Connection::check_invariants`].

use crate::congestion::{Congestion, Window};
use crate::flags::Flags;
use crate::option::OptionSlot;
use crate::reassembly::Reassembly;
use crate::recovery::Recovery;
use crate::rtt::Rtt;
use crate::timer::{Timers, Wait};
use crate::{Arrival, Config, CookieOptions, Outcome, State, TimeWait};
use tidegate_base::{Instant, SeqNumber};
use tidegate_wire::TcpRepr;

/// The send sequence space (RFC 9293 section 3.3.1) beside the stream's offsets.
#[derive(Debug)]
pub(crate) struct SendSpace {
    /// Stream offset of the first byte that is not acknowledged.
    pub(crate) acked: u64,
    /// Stream offset after the last byte offered.
    pub(crate) offered: u64,
    /// SND.UNA: the oldest sequence number that is not acknowledged.
    pub(crate) una: SeqNumber,
    /// SND.NXT: the next sequence number to send for the first time.
    pub(crate) nxt: SeqNumber,
    /// SND.WND: the peer's window, scaled.
    pub(crate) wnd: u32,
    /// The largest window the peer ever offered.
    pub(crate) wnd_max: u32,
    /// SND.WL1: SEG.SEQ of the last window update.
    pub(crate) wl1: SeqNumber,
    /// SND.WL2: SEG.ACK of the last window update.
    pub(crate) wl2: SeqNumber,
    /// Where the last segment sent for the first time begins.
    pub(crate) last_start: SeqNumber,
    /// Where the last segment ends that was smaller than it could be.
    pub(crate) small_end: SeqNumber,
}

/// The receive sequence space (RFC 9293 section 3.3.1).
#[derive(Debug)]
pub(crate) struct ReceiveSpace {
    /// RCV.NXT: the next sequence number expected.
    pub(crate) nxt: SeqNumber,
    /// RCV.NXT + RCV.WND as the peer was told: the right edge of the window.
    pub(crate) edge: SeqNumber,
    /// Last.ACK.sent (RFC 7323 section 4.3).
    pub(crate) last_ack: SeqNumber,
    /// Bytes delivered that the service has not consumed.
    pub(crate) unread: u32,
    /// TS.Recent (RFC 7323 section 4.3).
    pub(crate) ts_recent: u32,
    /// When TS.Recent was taken, in seconds of the clock.
    pub(crate) ts_recent_at: u32,
    /// When a challenge was last answered, in milliseconds of the clock.
    pub(crate) challenged_at: u32,
    /// Window scale of our window field.
    pub(crate) shift: u8,
    /// Data segments that arrived in order since the last acknowledgement.
    pub(crate) segment_count: u8,
    /// Acknowledgements to send at once, alone if nothing else goes out.
    pub(crate) acks_owed: u8,
}

/// One connection: a transmission control block without addresses, ports, buffers or I/O.
#[derive(Debug)]
pub struct Connection {
    pub(crate) send: SendSpace,
    pub(crate) receive: ReceiveSpace,
    pub(crate) timers: Timers,
    pub(crate) rtt: Rtt,
    pub(crate) window: Window,
    pub(crate) congestion: Option<Box<dyn Congestion>>,
    pub(crate) recovery: Option<Box<Recovery>>,
    pub(crate) reassembly: Option<Box<Reassembly>>,
    pub(crate) option: Option<Box<OptionSlot>>,
    /// What `timed_at` times: the round trip of the segment that ends here.
    pub(crate) timed_end: SeqNumber,
    /// Marks that acknowledge less than this were answered already (RFC 3168 section 6.1.2).
    pub(crate) cwr_high: SeqNumber,
    pub(crate) timed_at: Instant,
    /// Segments sent again.
    pub(crate) sent_again_count: u32,
    pub(crate) flags: Flags,
    pub(crate) state: State,
    /// Timeouts in a row, or probes of a closed window.
    pub(crate) backoff: u8,
    /// Keep-alive probes without an answer.
    pub(crate) probe_count: u8,
    /// What the retransmission timer is for.
    pub(crate) wait: Wait,
    /// Window scale of the peer's window field.
    pub(crate) send_shift: u8,
}

const _: () = assert!(size_of::<Connection>() <= 256);

impl Connection {
    pub(crate) fn new(now: Instant, config: &Config, state: State, isn: SeqNumber) -> Self {
        let window = config.receive_window.min(u16::MAX.into());
        Self {
            send: SendSpace {
                acked: 0,
                offered: 0,
                una: isn,
                nxt: isn,
                wnd: 0,
                wnd_max: 0,
                wl1: SeqNumber(0),
                wl2: isn,
                last_start: isn,
                small_end: isn,
            },
            receive: ReceiveSpace {
                nxt: SeqNumber(0),
                edge: SeqNumber(window),
                last_ack: SeqNumber(0),
                unread: 0,
                ts_recent: 0,
                ts_recent_at: 0,
                challenged_at: 0,
                shift: 0,
                segment_count: 0,
                acks_owed: 0,
            },
            timers: Timers::new(now),
            rtt: Rtt::default(),
            window: Window { cwnd: u32::from(config.mss), ssthresh: u32::MAX, mss: config.mss.into() },
            congestion: None,
            recovery: None,
            reassembly: None,
            option: None,
            timed_end: isn,
            cwr_high: isn,
            timed_at: now,
            sent_again_count: 0,
            flags: Flags::NONE,
            state,
            backoff: 0,
            probe_count: 0,
            wait: Wait::None,
            send_shift: 0,
        }
    }

    /// A client's connection in SYN-SENT; `poll_transmit` gives its SYN.
    pub fn connect(now: Instant, config: &Config, isn: SeqNumber) -> Self {
        let mut connection = Self::new(now, config, State::SynSent, isn);
        connection.option = config.option.as_ref().map(OptionSlot::new);
        connection.flags.set(Flags::ACTIVE_OPEN);
        connection.flags.set(Flags::SYN_DUE);
        connection
    }

    /// A server's connection in SYN-RECEIVED for a SYN; `poll_transmit` gives its SYN-ACK.
    pub fn accept(now: Instant, config: &Config, syn: &TcpRepr, isn: SeqNumber) -> Self {
        Self::accept_with(now, config, syn, isn, None)
    }

    pub(crate) fn accept_with(
        now: Instant,
        config: &Config,
        syn: &TcpRepr,
        isn: SeqNumber,
        option: Option<Box<OptionSlot>>,
    ) -> Self {
        let mut connection = Self::new(now, config, State::SynReceived, isn);
        connection.option = option;
        connection.on_peer_syn(now, config, syn);
        connection.flags.set(Flags::SYN_DUE);
        connection
    }

    /// A server's connection in SYN-RECEIVED whose SYN-ACK was a cookie that `ack` answers. Hand `ack`
    /// to `on_segment` next.
    pub fn from_cookie(now: Instant, config: &Config, ack: &TcpRepr, options: CookieOptions) -> Self {
        let mut connection = Self::new(now, config, State::SynReceived, ack.ack - 1u32);
        connection.resume_from_cookie(now, config, ack, options);
        connection
    }

    /// Takes a segment. `deliver` is called with each run of bytes that is next in order.
    #[inline]
    pub fn on_segment(
        &mut self,
        now: Instant,
        config: &Config,
        arrival: &Arrival<'_>,
        deliver: &mut dyn FnMut(&[u8]),
    ) -> Outcome {
        if self.is_predicted(arrival) {
            return self.on_predicted(now, config, arrival, deliver);
        }
        match self.state {
            State::Closed => Outcome { reply_reset: true, ..Outcome::NONE },
            State::SynSent => self.on_segment_syn_sent(now, config, arrival),
            _ => self.on_segment_general(now, config, arrival, deliver),
        }
    }

    /// `byte_count` more bytes are ready to be sent. Ignored after `close`.
    pub fn offer(&mut self, byte_count: u64) {
        if !self.flags.has(Flags::CLOSE) {
            self.send.offered = self.send.offered.saturating_add(byte_count);
        }
    }

    /// The service is done with `byte_count` delivered bytes: the window reopens by as much.
    pub fn consumed(&mut self, config: &Config, byte_count: u32) {
        self.receive.unread = self.receive.unread.saturating_sub(byte_count);
        // RFC 9293 section 3.8.6.2.2: tell the peer once that is worth a segment.
        let open = self.receive.edge.since(self.receive.nxt);
        let gain = config.receive_window.saturating_sub(self.receive.unread).saturating_sub(open);
        let is_closed = open < self.window.mss;
        let worth = if is_closed {
            self.window.mss.min(config.receive_window / 2)
        } else {
            config.receive_window / 2
        };
        if gain >= worth.max(1) && self.state.can_receive() {
            self.owe_ack();
        }
    }

    /// Acknowledges at once what was received, for there will be nothing to ride on: a peer that holds back
    /// the rest of its request until then (Nagle's algorithm) would wait out the delay.
    pub fn acknowledge(&mut self) {
        self.receive.acks_owed = self.receive.acks_owed.max(1);
    }

    /// No more bytes will be offered: a FIN follows the last. The peer may go on sending.
    pub fn close(&mut self) {
        self.flags.set(Flags::CLOSE);
    }

    /// Gives the connection up; `poll_transmit` then gives a RST, if the peer should get one
    /// (RFC 9293 section 3.10.5).
    pub fn abort(&mut self) {
        self.flags.assign(Flags::RESET_DUE, self.state.is_reset_on_abort());
        self.end();
    }

    /// Nothing is sent or accepted from here on, but for a RST that is due.
    pub(crate) fn end(&mut self) {
        self.state = State::Closed;
        self.clear_timers();
        self.receive.acks_owed = 0;
        self.recovery = None;
        self.reassembly = None;
        self.congestion = None;
        self.option = None;
    }

    /// Where the connection is.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Bytes of the stream that the peer has acknowledged.
    pub const fn acked(&self) -> u64 {
        self.send.acked
    }

    /// Bytes of the stream that were offered.
    pub const fn offered(&self) -> u64 {
        self.send.offered
    }

    /// The round-trip time, once measured.
    pub const fn rtt(&self) -> Option<tidegate_base::Duration> {
        self.rtt.smoothed()
    }

    /// The congestion window in bytes.
    pub const fn cwnd(&self) -> u32 {
        self.window.cwnd
    }

    /// Whether nothing is left to be done but to wait in TIME-WAIT, or not even that. True only when
    /// the last segment has been taken by `poll_transmit`.
    pub const fn is_finished(&self) -> bool {
        matches!(self.state, State::Closed | State::TimeWait)
            && self.receive.acks_owed == 0
            && !self.flags.has(Flags::RESET_DUE)
    }

    /// What is to be kept of a connection in TIME-WAIT, once `is_finished`.
    pub fn time_wait(&self) -> Option<TimeWait> {
        (self.state == State::TimeWait).then(|| TimeWait {
            expires: self.timers.life,
            snd_nxt: self.send.nxt,
            rcv_nxt: self.receive.nxt,
            ts_recent: self.receive.ts_recent,
            window: (self.receive.edge.since(self.receive.nxt) >> self.receive.shift) as u16,
            has_timestamps: self.flags.has(Flags::TIMESTAMPS),
        })
    }

    /// Bytes offered and not sent yet.
    #[inline]
    pub(crate) const fn unsent(&self) -> u64 {
        self.send.offered - self.send.acked - self.data_in_flight() as u64
    }

    /// Bytes of data between SND.UNA and SND.NXT.
    #[inline]
    pub(crate) const fn data_in_flight(&self) -> u32 {
        let flight = self.flight();
        if self.is_syn_or_fin_in_flight() { flight.saturating_sub(1) } else { flight }
    }

    const fn is_syn_or_fin_in_flight(&self) -> bool {
        match self.state {
            State::SynSent | State::SynReceived => true,
            State::FinWait1 | State::Closing | State::LastAck => self.flags.has(Flags::FIN_SENT),
            _ => false,
        }
    }

    /// FlightSize (RFC 5681 section 2): sequence numbers sent and not acknowledged.
    #[inline]
    pub(crate) const fn flight(&self) -> u32 {
        self.send.nxt.since(self.send.una)
    }

    /// Whether something sent is not acknowledged.
    #[inline]
    pub(crate) fn is_in_flight(&self) -> bool {
        self.send.nxt != self.send.una
    }

    /// Whether a FIN is to be sent for the first time after the unsent bytes.
    #[inline]
    pub(crate) const fn is_fin_due(&self) -> bool {
        self.flags.has(Flags::CLOSE) && !self.flags.has(Flags::FIN_SENT.with(Flags::EARLY))
    }

    /// The stream offset of a sequence number from SND.UNA on.
    #[inline]
    pub(crate) const fn offset_of(&self, seq: SeqNumber) -> u64 {
        // Early text follows a SYN that is not acknowledged.
        let syn_len = self.flags.has(Flags::EARLY) as u64;
        self.send.acked + seq.since(self.send.una) as u64 - syn_len
    }

    /// Panics unless what must hold between events holds. For tests and fuzzing.
    pub fn check_invariants(&self, config: &Config) {
        if self.state == State::Closed {
            return;
        }
        let (send, receive) = (&self.send, &self.receive);
        assert!(send.una.at_or_before(send.nxt), "SND.UNA is after SND.NXT: {self:?}");
        assert!(send.acked <= send.offered, "more is acknowledged than was offered: {self:?}");
        let in_flight = u64::from(self.data_in_flight());
        assert!(send.acked + in_flight <= send.offered, "more is in flight than was offered: {self:?}");
        assert!(receive.nxt.at_or_before(receive.edge), "RCV.NXT is beyond the window: {self:?}");
        assert!(receive.edge.since(receive.nxt) <= config.receive_window.max(65_535) + (1 << receive.shift));
        assert!(receive.last_ack.at_or_before(receive.nxt), "acknowledged what did not arrive: {self:?}");
        assert!(self.window.cwnd >= self.window.mss, "less than a segment may be sent: {self:?}");
        if let Some(recovery) = &self.recovery {
            recovery.scoreboard.check_invariants(send.una, send.nxt);
        }
        if let Some(reassembly) = &self.reassembly {
            reassembly.check_invariants(receive.nxt, receive.edge);
        }
        assert!(
            !self.is_in_flight() || self.timers.retransmit != Instant::FAR_FUTURE,
            "no timer runs: {self:?}"
        );
    }
}

#[cfg(test)]
mod tests;
