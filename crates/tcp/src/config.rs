//! What a listener or a client sets for all its connections. Lent to each call, so that a connection
//! does not carry it; one that changes meanwhile takes effect with the next segment.

use crate::congestion::{self, Algorithm};
use crate::option::OptionKind;
use tidegate_base::{Duration, Instant};

/// When and how often an idle peer is asked whether it still exists (RFC 9293 section 3.8.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeepAlive {
    /// Silence before the first probe.
    pub idle: Duration,
    /// Time between probes.
    pub interval: Duration,
    /// Probes without an answer after which the connection is given up.
    pub probe_count_max: u8,
}

/// The settings of a connection.
#[derive(Clone, Debug)]
pub struct Config {
    /// The MSS that we announce and, at most, send: the link's MTU less fixed IP and TCP headers.
    pub mss: u16,
    /// Bytes that may arrive ahead of the service's [`crate::Connection::consumed`]. Fixes the window
    /// scale that we announce.
    pub receive_window: u32,
    /// Offer window scaling (RFC 7323 section 2).
    pub window_scaling: bool,
    /// Offer timestamps (RFC 7323 section 3).
    pub timestamps: bool,
    /// Added to our timestamp clock, so that it does not tell our uptime (RFC 7323 section 7.1).
    pub timestamp_offset: u32,
    /// Offer selective acknowledgement (RFC 2018).
    pub sack: bool,
    /// Negotiate explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Hold back a small segment while data is in flight (RFC 9293 section 3.7.4). Off for servers.
    pub nagle: bool,
    /// The congestion control of new connections.
    pub congestion: Algorithm,
    /// An option of a module that stands outside of this crate.
    pub option: Option<OptionKind>,
    /// The initial window in segments (RFC 6928).
    pub initial_window_segments: u16,
    /// Retransmission timeout before any round trip was measured (RFC 6298 section 2.1).
    pub rto_initial: Duration,
    /// The least retransmission timeout.
    pub rto_min: Duration,
    /// The most that backing off makes of it.
    pub rto_max: Duration,
    /// How long an acknowledgement may wait for data to ride on (RFC 9293 section 3.8.6.3).
    pub ack_delay: Duration,
    /// Time without progress, while data of ours is unacknowledged, after which a connection is given
    /// up (RFC 9293 section 3.8.3, R2).
    pub user_timeout: Duration,
    /// The same while its window stays zero, though it answers probes: a reader that never reads.
    pub zero_window_timeout: Duration,
    /// SYN retransmissions of a client.
    pub syn_retries: u8,
    /// SYN-ACK retransmissions of a server.
    pub syn_ack_retries: u8,
    /// Probes of idle peers; none by default (RFC 9293 section 3.8.4, MUST-24).
    pub keep_alive: Option<KeepAlive>,
    /// Silence of the peer in FIN-WAIT-2 after which the connection is given up.
    pub fin_wait_2_timeout: Duration,
    /// Time in TIME-WAIT: twice the maximum segment lifetime (RFC 9293 section 3.6.1).
    pub time_wait: Duration,
    /// The segment size to fall back to when full ones seem to vanish (RFC 8899 section 4.3).
    pub black_hole_mss: u16,
    /// The most segments that wait out of order. With `receive_window` it bounds what a peer can make
    /// us hold.
    pub reassembly_count_max: u16,
}

impl Config {
    /// A server on Ethernet that answers requests.
    pub const SERVER: Self = Self {
        mss: 1460,
        receive_window: 64 * 1024,
        window_scaling: true,
        timestamps: true,
        timestamp_offset: 0,
        sack: true,
        ecn: true,
        nagle: false,
        congestion: congestion::CUBIC,
        option: None,
        initial_window_segments: 10,
        rto_initial: Duration::from_secs(1),
        rto_min: Duration::from_millis(200),
        rto_max: Duration::from_secs(60),
        ack_delay: Duration::from_millis(40),
        user_timeout: Duration::from_secs(100),
        zero_window_timeout: Duration::from_secs(300),
        syn_retries: 6,
        syn_ack_retries: 4,
        keep_alive: None,
        fin_wait_2_timeout: Duration::from_secs(60),
        time_wait: Duration::from_secs(60),
        black_hole_mss: 1024,
        reassembly_count_max: 64,
    };

    /// The window scale that lets 16 bits name the whole receive window (RFC 7323 section 2.2).
    pub const fn window_shift(&self) -> u8 {
        let shift = 16u32.saturating_sub(self.receive_window.leading_zeros());
        if shift > 14 { 14 } else { shift as u8 }
    }

    /// Our timestamp clock: a tick a millisecond (RFC 7323 section 5.4).
    pub(crate) const fn timestamp_clock(&self, now: Instant) -> u32 {
        now.as_millis_wrapping().wrapping_add(self.timestamp_offset)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::SERVER
    }
}
