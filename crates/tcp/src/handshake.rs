//! From the first SYN to ESTABLISHED: options agreed on, sequence numbers exchanged.

use crate::connection::Connection;
use crate::flags::Flags;
use crate::timestamps::clock_secs;
use crate::{Arrival, Closed, Config, CookieOptions, Outcome, State};
use tidegate_base::{DropReason, Instant};
use tidegate_wire::tcp::TIMESTAMPS_LEN;
use tidegate_wire::{TcpFlags, TcpOptions, TcpRepr, Timestamps};

/// The peer's MSS if it does not say (RFC 9293 section 3.7.1, MUST-15), for IPv4.
const MSS_DEFAULT: u16 = 536;
/// A smaller MSS than this is not believed: it would cost a header for every few bytes.
const MSS_MIN: u16 = 64;
/// IW in bytes for segments of ordinary size (RFC 6928 section 2), a segment.
const INITIAL_WINDOW_SEGMENT: u32 = 1460;

impl Connection {
    /// RFC 9293 section 3.10.7.3.
    pub(crate) fn on_segment_syn_sent(
        &mut self,
        now: Instant,
        config: &Config,
        arrival: &Arrival<'_>,
    ) -> Outcome {
        let repr = arrival.repr;
        let has_ack = repr.flags.contains(TcpFlags::ACK);
        // First: the ACK bit. Only our SYN can be acknowledged.
        if has_ack && repr.ack != self.send.una + 1 {
            let is_reset = repr.flags.contains(TcpFlags::RST);
            return Outcome { reply_reset: !is_reset, ..Outcome::dropped(DropReason::OutOfWindow) };
        }
        // Second: the RST bit.
        if repr.flags.contains(TcpFlags::RST) {
            if !has_ack {
                return Outcome::dropped(DropReason::OutOfWindow);
            }
            self.end();
            return Outcome::closed(Closed::Refused);
        }
        // Fourth: the SYN bit.
        if !repr.flags.contains(TcpFlags::SYN) || !self.is_in_flight() {
            return Outcome::dropped(DropReason::OutOfWindow);
        }
        self.on_peer_syn(now, config, repr);
        self.receive.last_ack = self.receive.nxt;
        if !has_ack {
            // Simultaneous open (RFC 9293 section 3.5, figure 8).
            self.state = State::SynReceived;
            self.flags.set(Flags::SYN_DUE);
            return Outcome::NONE;
        }
        self.establish(now, config, repr);
        self.owe_ack();
        Outcome { established: true, ..Outcome::NONE }
    }

    /// Takes sequence number, window and options from the peer's SYN.
    pub(crate) fn on_peer_syn(&mut self, now: Instant, config: &Config, syn: &TcpRepr) {
        let window = self.receive.edge.since(self.receive.nxt);
        self.receive.nxt = syn.seq + 1;
        self.receive.last_ack = self.receive.nxt;
        self.receive.edge = self.receive.nxt + window;
        // RFC 7323 section 2.2: the window in a SYN is not scaled.
        self.update_window(syn, 0);
        let options = &syn.options;
        let scale = options.window_scale.filter(|_| config.window_scaling);
        self.agree(now, config, options, scale);
        let asks_ecn = if self.state == State::SynSent && syn.flags.contains(TcpFlags::ACK) {
            syn.flags.contains(TcpFlags::ECE) && !syn.flags.contains(TcpFlags::CWR)
        } else {
            syn.flags.contains(TcpFlags::ECE.with(TcpFlags::CWR))
        };
        self.flags.assign(Flags::ECN, config.ecn && asks_ecn && self.backoff == 0);
    }

    /// Keeps the options that both sides have.
    fn agree(&mut self, now: Instant, config: &Config, theirs: &TcpOptions, scale: Option<u8>) {
        self.flags.assign(Flags::SCALING, scale.is_some());
        self.send_shift = scale.unwrap_or(0);
        self.receive.shift = if scale.is_some() { config.window_shift() } else { 0 };
        self.flags.assign(Flags::SACK, config.sack && theirs.sack_permitted);
        self.flags.assign(Flags::TIMESTAMPS, config.timestamps && theirs.timestamps.is_some());
        if let Some(Timestamps { value, .. }) = theirs.timestamps {
            self.receive.ts_recent = value;
            self.receive.ts_recent_at = clock_secs(now);
        }
        self.set_mss(config, theirs.mss.unwrap_or(MSS_DEFAULT));
    }

    /// Fixes the data bytes of a full segment for a peer's or path's MSS (RFC 9293 section 3.7.1).
    pub(crate) fn set_mss(&mut self, config: &Config, mss: u16) {
        let stamps_len = if self.flags.has(Flags::TIMESTAMPS) { TIMESTAMPS_LEN as u32 } else { 0 };
        let options_len = stamps_len + self.option.as_ref().map_or(0, |slot| u32::from(slot.data_room));
        self.window.mss = u32::from(mss.min(config.mss).max(MSS_MIN)).saturating_sub(options_len).max(1);
        self.window.cwnd = self.window.cwnd.max(self.window.mss);
    }

    /// SYN-RECEIVED as it would be had we kept it when the cookie was sent.
    pub(crate) fn resume_from_cookie(
        &mut self,
        now: Instant,
        config: &Config,
        ack: &TcpRepr,
        cookie: CookieOptions,
    ) {
        let isn = self.send.una;
        let syn = TcpRepr {
            seq: ack.seq - 1u32,
            options: TcpOptions {
                mss: Some(cookie.mss),
                window_scale: cookie.window_scale,
                sack_permitted: cookie.sack,
                timestamps: ack.options.timestamps,
                ..TcpOptions::NONE
            },
            flags: if cookie.ecn { TcpFlags::ECE.with(TcpFlags::CWR) } else { TcpFlags::SYN },
            ..*ack
        };
        self.on_peer_syn(now, config, &syn);
        self.send.nxt = isn + 1;
        self.arm_retransmission(now, config);
    }

    /// Both SYNs are acknowledged; `repr` acknowledged ours.
    pub(crate) fn establish(&mut self, now: Instant, config: &Config, repr: &TcpRepr) {
        if self.flags.take(Flags::TIMING) {
            self.rtt.sample(now.since(self.timed_at));
        }
        self.state = State::Established;
        self.send.una = repr.ack;
        self.send.last_start = self.send.last_start.max(repr.ack);
        self.cwr_high = repr.ack;
        self.window.cwnd = self.initial_window(config);
        self.backoff = 0;
        self.flags.clear(Flags::SYN_DUE);
        self.stop_retransmission();
        self.timers.progress = now;
        self.timers.received = now;
        self.timers.arm_keep_alive(now, config);
        if config.congestion.from_start {
            self.start_congestion(config);
        }
        if self.option.is_some() {
            self.release_module();
        }
    }

    /// IW (RFC 6928 section 2); one segment if our SYN had to be sent again (RFC 5681 section 3.1).
    pub(crate) fn initial_window(&self, config: &Config) -> u32 {
        let mss = self.window.mss;
        if self.backoff > 0 {
            return mss;
        }
        let segment_count = u32::from(config.initial_window_segments);
        (segment_count * mss).min((segment_count * INITIAL_WINDOW_SEGMENT).max(2 * mss)).max(mss)
    }

    /// The options of our SYN or SYN-ACK.
    pub(crate) fn syn_options(&self, now: Instant, config: &Config) -> TcpOptions {
        let is_first = self.state == State::SynSent;
        let agreed = |flag: Flags, offered: bool| if is_first { offered } else { self.flags.has(flag) };
        TcpOptions {
            mss: Some(config.mss),
            window_scale: agreed(Flags::SCALING, config.window_scaling).then(|| config.window_shift()),
            sack_permitted: agreed(Flags::SACK, config.sack),
            timestamps: agreed(Flags::TIMESTAMPS, config.timestamps)
                .then(|| Timestamps { value: config.timestamp_clock(now), echo: self.receive.ts_recent }),
            ..TcpOptions::NONE
        }
    }

    /// The control bits of our SYN or SYN-ACK (RFC 3168 section 6.1.1). A SYN that is sent again does
    /// without ECN, in case that is what a middlebox dropped it for (section 6.1.1.1).
    pub(crate) fn syn_flags(&self, config: &Config) -> TcpFlags {
        match self.state {
            State::SynSent if config.ecn && self.backoff == 0 => {
                TcpFlags::SYN.with(TcpFlags::ECE).with(TcpFlags::CWR)
            }
            State::SynSent => TcpFlags::SYN,
            _ if self.flags.has(Flags::ECN) => TcpFlags::SYN.with(TcpFlags::ACK).with(TcpFlags::ECE),
            _ => TcpFlags::SYN.with(TcpFlags::ACK),
        }
    }

    /// Whether `repr` is the peer's SYN once more, or its SYN-ACK in a simultaneous open.
    pub(crate) fn is_peer_syn_again(&self, repr: &TcpRepr) -> bool {
        self.state == State::SynReceived
            && repr.flags.contains(TcpFlags::SYN)
            && (repr.seq + 1 == self.receive.nxt
                || self.flags.has(Flags::EARLY) && (repr.seq + 1).before(self.receive.nxt))
    }
}
