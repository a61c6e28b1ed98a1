//! What a connection knows of itself and its path, as one value: for whoever watches it, never for itself.

use crate::connection::Connection;
use crate::flags::Flags;
use crate::{Config, State};
use tidegate_base::Duration;

/// A connection at one moment. Lengths are in bytes of the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// Where it is between its SYN and its end.
    pub state: State,
    /// The smoothed round-trip time (RFC 6298), once measured.
    pub rtt: Option<Duration>,
    /// Its variation; zero before it is measured.
    pub rtt_variation: Duration,
    /// The shortest round trip measured; zero before.
    pub rtt_min: Duration,
    /// The retransmission timeout, backed off as it is now.
    pub rto: Duration,
    /// Timeouts in a row, or probes of a closed window.
    pub backoff: u8,
    /// Keep-alive probes without an answer.
    pub probe_count: u8,
    /// The congestion window.
    pub cwnd: u32,
    /// The slow start threshold; [`u32::MAX`] before the first loss.
    pub ssthresh: u32,
    /// Data bytes of a full segment that we send.
    pub mss: u32,
    /// What the peer's window still takes from the oldest byte that is not acknowledged.
    pub peer_window: u32,
    /// What the peer may still send.
    pub receive_window: u32,
    /// Sent and not acknowledged.
    pub in_flight_len: u32,
    /// Offered and not sent.
    pub unsent_len: u64,
    /// Acknowledged by the peer, since the beginning.
    pub acked_len: u64,
    /// Segments sent again, since the beginning.
    pub sent_again_count: u32,
    /// Whether both sides have selective acknowledgement.
    pub has_sack: bool,
    /// Whether both sides have timestamps.
    pub has_timestamps: bool,
    /// Whether congestion marks are understood by both sides.
    pub has_ecn: bool,
    /// The window scale of the peer and ours, if both sides have it.
    pub window_scales: Option<(u8, u8)>,
}

impl Connection {
    /// What is known of the connection now.
    pub fn info(&self, config: &Config) -> Info {
        let (send, receive) = (&self.send, &self.receive);
        Info {
            state: self.state,
            rtt: self.rtt.smoothed(),
            rtt_variation: self.rtt.variation(),
            rtt_min: self.rtt.min(),
            rto: self.rtt.rto(config, self.backoff),
            backoff: self.backoff,
            probe_count: self.probe_count,
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            mss: self.window.mss,
            peer_window: send.wnd,
            receive_window: receive.edge.since(receive.nxt),
            in_flight_len: self.data_in_flight(),
            unsent_len: self.unsent(),
            acked_len: send.acked,
            sent_again_count: self.sent_again_count,
            has_sack: self.flags.has(Flags::SACK),
            has_timestamps: self.flags.has(Flags::TIMESTAMPS),
            has_ecn: self.flags.has(Flags::ECN),
            window_scales: self.flags.has(Flags::SCALING).then_some((self.send_shift, receive.shift)),
        }
    }

    /// The congestion control that `config` names takes over from the one before; the window stays.
    pub fn restart_congestion(&mut self, config: &Config) {
        self.congestion = None;
        self.flags.clear(Flags::BY_RATE.with(Flags::PACED));
        if config.congestion.from_start && self.state.is_synchronized() {
            self.start_congestion(config);
        }
    }
}
