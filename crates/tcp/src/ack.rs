//! The ACK bit (RFC 9293 section 3.10.7.4, fifth): what it acknowledges, what window it brings, and
//! what that does to the congestion window.

use crate::congestion::{AckSample, CWND_MAX};
use crate::connection::Connection;
use crate::flags::Flags;
use crate::recovery::SackReport;
use crate::timestamps::stamp;
use crate::{Arrival, Closed, Config, Outcome, State};
use tidegate_base::{DropReason, Duration, Instant};
use tidegate_wire::{TcpFlags, TcpRepr};

impl Connection {
    /// Takes the acknowledgement of an acceptable segment. `Err`: the segment goes no further.
    pub(crate) fn on_ack(
        &mut self,
        now: Instant,
        config: &Config,
        arrival: &Arrival<'_>,
    ) -> Result<Outcome, Outcome> {
        let repr = arrival.repr;
        if self.state == State::SynReceived {
            return self.on_ack_syn_received(now, config, repr);
        }
        // RFC 5961 section 5.2: SND.UNA - MAX.SND.WND <= SEG.ACK <= SND.NXT.
        if repr.ack.after(self.send.nxt) || repr.ack.before(self.send.una - self.send.wnd_max) {
            self.challenge(now);
            return Err(Outcome::dropped(DropReason::ChallengeAck));
        }
        let acked = repr.ack.after(self.send.una);
        let sack = self.on_sack(now, repr);
        if !self.flags.has(Flags::SACK) && self.is_duplicate_ack(arrival) {
            self.count_duplicate_ack();
        }
        if repr.flags.contains(TcpFlags::ECE) && self.flags.has(Flags::ECN) {
            self.on_mark_echo(now, config, repr);
        }
        if acked {
            self.on_new_ack(now, config, repr, sack);
        }
        self.update_window(repr, self.send_shift);
        if self.recovery.is_some() {
            self.recover(now, config, repr, acked, sack);
        }
        if self.flags.has(Flags::BY_RATE) {
            self.sample(now);
        }
        let mut outcome = Outcome { acked, ..Outcome::NONE };
        if acked {
            self.on_fin_acked(now, config, &mut outcome);
        }
        Ok(outcome)
    }

    fn on_ack_syn_received(
        &mut self,
        now: Instant,
        config: &Config,
        repr: &TcpRepr,
    ) -> Result<Outcome, Outcome> {
        let first = self.send.una + 1;
        if !self.is_in_flight() || repr.ack.before(first) || repr.ack.after(self.send.nxt) {
            return Err(Outcome { reply_reset: true, ..Outcome::dropped(DropReason::OutOfWindow) });
        }
        // Some of what answers the text of the SYN may be acknowledged too.
        self.send.acked += u64::from(repr.ack.since(first));
        self.flags.clear(Flags::EARLY);
        self.establish(now, config, repr);
        self.update_window(repr, self.send_shift);
        if self.is_in_flight() {
            self.arm_retransmission(now, config);
        }
        Ok(Outcome { established: true, acked: repr.ack != first, ..Outcome::NONE })
    }

    /// SND.UNA moves to SEG.ACK, which lies in (SND.UNA, SND.NXT].
    #[inline]
    pub(crate) fn on_new_ack(&mut self, now: Instant, config: &Config, repr: &TcpRepr, sack: SackReport) {
        let count = repr.ack.since(self.send.una);
        let covers_fin = repr.ack == self.send.nxt && self.flags.has(Flags::FIN_SENT);
        self.send.acked += u64::from(count) - u64::from(covers_fin);
        self.send.una = repr.ack;
        self.send.last_start = self.send.last_start.max(repr.ack);
        self.measure(now, config, repr, sack);
        self.backoff = 0;
        self.timers.progress = now;
        self.note_acked_in_recovery(count);
        if self.flags.has(Flags::BY_RATE) {
            self.note_acked(now);
        } else {
            self.grow(now, config, count);
        }
        if self.is_in_flight() {
            self.arm_retransmission(now, config);
        } else {
            self.stop_retransmission();
        }
    }

    /// Measures the round trip: of the timed segment, or by its timestamp if segments were sent again
    /// (RFC 6298 section 3, RFC 7323 section 4.1). One that answers a duplicate, because an earlier
    /// acknowledgement was lost, echoes a stamp as old as that and measures nothing.
    #[inline]
    fn measure(&mut self, now: Instant, config: &Config, repr: &TcpRepr, sack: SackReport) {
        if self.flags.has(Flags::TIMING) {
            if repr.ack.at_or_after(self.timed_end) {
                self.flags.clear(Flags::TIMING);
                self.rtt.sample(now.since(self.timed_at));
            }
        } else if let Some(ts) = repr.options.timestamps
            && self.recovery.is_some()
            && self.flags.has(Flags::TIMESTAMPS)
            && !sack.is_duplicate
        {
            let since = stamp(config.timestamp_clock(now)) - stamp(ts.echo);
            if since >= 0 {
                self.rtt.sample(Duration::from_millis(since as u64));
            }
        }
    }

    /// Opens the congestion window if it was what held us back (RFC 5681 section 3.1; RFC 7661
    /// section 4.3: an unused window proves nothing).
    #[inline]
    fn grow(&mut self, now: Instant, config: &Config, acked: u32) {
        let in_timeout = match &self.recovery {
            None => false,
            Some(recovery) if recovery.is_fast() => return,
            Some(recovery) => recovery.is_timeout(),
        };
        if !in_timeout && !self.flags.has(Flags::CWND_LIMITED) {
            return;
        }
        if self.window.is_slow_start() && self.congestion.is_none() {
            self.window.slow_start(acked);
        } else {
            let rtt = self.rtt.smoothed().unwrap_or(config.rto_initial);
            let congestion = self.congestion.get_or_insert_with(config.congestion.start);
            congestion.on_ack(&mut self.window, &AckSample { now, acked, rtt });
        }
        self.window.cwnd = self.window.cwnd.clamp(self.window.mss, CWND_MAX);
    }

    /// SND.WND follows the latest segment (RFC 9293 section 3.10.7.4: SND.WL1, SND.WL2).
    #[inline]
    pub(crate) fn update_window(&mut self, repr: &TcpRepr, shift: u8) {
        let send = &mut self.send;
        let is_latest = self.state == State::SynSent
            || send.wl1.before(repr.seq)
            || (send.wl1 == repr.seq && send.wl2.at_or_before(repr.ack))
            || !self.state.is_synchronized();
        if is_latest {
            send.wnd = u32::from(repr.window) << shift;
            send.wnd_max = send.wnd_max.max(send.wnd);
            send.wl1 = repr.seq;
            send.wl2 = if repr.flags.contains(TcpFlags::ACK) { repr.ack } else { send.una };
        }
    }

    /// The five conditions of RFC 5681 section 2.
    fn is_duplicate_ack(&self, arrival: &Arrival<'_>) -> bool {
        let repr = arrival.repr;
        self.is_in_flight()
            && arrival.payload.is_empty()
            && !repr.flags.intersects(TcpFlags::SYN.with(TcpFlags::FIN))
            && repr.ack == self.send.una
            && u32::from(repr.window) << self.send_shift == self.send.wnd
    }

    /// RFC 3168 section 6.1.2: a congestion mark counts as a loss, once a window of data.
    fn on_mark_echo(&mut self, now: Instant, config: &Config, repr: &TcpRepr) {
        if self.flags.has(Flags::BY_RATE) {
            self.note_mark_echo();
        }
        let is_answered = self.flags.has(Flags::CWR_WAIT) && repr.ack.before(self.cwr_high);
        if is_answered
            || self.recovery.as_ref().is_some_and(|recovery| !recovery.is_open())
            || !self.is_in_flight()
        {
            return;
        }
        self.reduce(now, config, self.flight());
        self.window.cwnd = self.window.ssthresh;
        self.cwr_high = self.send.nxt;
        self.flags.set(Flags::CWR_WAIT);
        self.flags.set(Flags::CWR_DUE);
    }

    /// What changes once our FIN is acknowledged.
    fn on_fin_acked(&mut self, now: Instant, config: &Config, outcome: &mut Outcome) {
        if !self.flags.has(Flags::FIN_SENT) || self.is_in_flight() {
            return;
        }
        match self.state {
            State::FinWait1 => {
                self.state = State::FinWait2;
                self.timers.life = now + config.fin_wait_2_timeout;
            }
            State::Closing => self.enter_time_wait(now, config, outcome),
            State::LastAck => {
                self.end();
                outcome.closed = Some(Closed::Finished);
            }
            _ => {}
        }
    }
}
