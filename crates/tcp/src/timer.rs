//! The timers of a connection, and what happens when they fire: delayed acknowledgement,
//! retransmission and its kin, and the end of waiting.
//!
//! Only one of retransmission, tail loss probe, reordering and persistence runs at a time, so they
//! share one deadline and a word that says which it is.

use crate::connection::Connection;
use crate::flags::Flags;
use crate::{Closed, Config, Outcome, State};
use tidegate_base::{Duration, Instant};

/// What the peer may add to a round trip by delaying its acknowledgement (RFC 8985 section 7.2:
/// TLP.max_ack_delay).
const PEER_ACK_DELAY_MAX: Duration = Duration::from_millis(200);
/// The shortest probe timeout: two ticks of the wheel.
const PROBE_TIMEOUT_MIN: Duration = Duration::from_millis(2);
/// Timeouts in a row after which full-sized segments are suspected of vanishing.
const BLACK_HOLE_TIMEOUTS: u8 = 2;

/// What the retransmission deadline stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// Nothing.
    None,
    /// Retransmission timeout (RFC 6298).
    Rto,
    /// Tail loss probe (RFC 8985 section 7).
    TailProbe,
    /// End of the reordering window (RFC 8985 section 6.3).
    Reordering,
    /// Zero-window probe or the override timeout (RFC 9293 sections 3.8.6.1 and 3.8.6.2.1).
    Persist,
}

/// Deadlines, and the instants they are reckoned from.
#[derive(Debug)]
pub(crate) struct Timers {
    /// The deadline of the connection's `wait`.
    pub(crate) retransmit: Instant,
    /// A delayed acknowledgement is due.
    pub(crate) ack: Instant,
    /// Keep-alive, FIN-WAIT-2 or TIME-WAIT.
    pub(crate) life: Instant,
    /// When data was last acknowledged, or first sent after there was none, or the window closed.
    pub(crate) progress: Instant,
    /// When an acceptable segment last arrived.
    pub(crate) received: Instant,
    /// When data was last sent.
    pub(crate) sent: Instant,
}

impl Timers {
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            retransmit: Instant::FAR_FUTURE,
            ack: Instant::FAR_FUTURE,
            life: Instant::FAR_FUTURE,
            progress: now,
            received: now,
            sent: now,
        }
    }

    #[inline]
    pub(crate) fn arm_ack(&mut self, now: Instant, config: &Config) {
        self.ack = self.ack.min(now + config.ack_delay);
    }

    pub(crate) fn arm_keep_alive(&mut self, now: Instant, config: &Config) {
        self.life = config.keep_alive.map_or(Instant::FAR_FUTURE, |keep_alive| now + keep_alive.idle);
    }

    pub(crate) fn start_time_wait(&mut self, now: Instant, config: &Config) {
        self.life = now + config.time_wait;
    }
}

impl Connection {
    /// When `on_timer` is next due; [`Instant::FAR_FUTURE`] if never. Ask after each batch of calls.
    #[inline]
    pub fn deadline(&self) -> Instant {
        let deadline = self.timers.retransmit.min(self.timers.ack).min(self.timers.life);
        if self.flags.has(Flags::PACED) { deadline.min(self.next_send()) } else { deadline }
    }

    /// To be called at or after `deadline`; too early does no harm. Then `poll_transmit`.
    pub fn on_timer(&mut self, now: Instant, config: &Config) -> Outcome {
        if self.timers.ack <= now {
            self.timers.ack = Instant::FAR_FUTURE;
            self.owe_ack();
        }
        if self.flags.has(Flags::PACED) {
            self.is_held_back(now);
        }
        let ended = if self.timers.retransmit <= now { self.on_retransmit_timer(now, config) } else { None };
        let ended = match ended {
            None if self.timers.life <= now => self.on_life_timer(now, config),
            ended => ended,
        };
        ended.map_or(Outcome::NONE, Outcome::closed)
    }

    pub(crate) const fn clear_timers(&mut self) {
        self.stop_retransmission();
        self.timers.ack = Instant::FAR_FUTURE;
        self.timers.life = Instant::FAR_FUTURE;
    }

    #[inline]
    pub(crate) const fn stop_retransmission(&mut self) {
        self.timers.retransmit = Instant::FAR_FUTURE;
        self.wait = Wait::None;
    }

    #[inline]
    pub(crate) const fn start_timer(&mut self, wait: Wait, at: Instant) {
        self.timers.retransmit = at;
        self.wait = wait;
    }

    /// Arms the retransmission timer for what is in flight (RFC 6298 section 5), or the tail loss
    /// probe if that is earlier (RFC 8985 section 7.2).
    #[inline]
    pub(crate) fn arm_retransmission(&mut self, now: Instant, config: &Config) {
        let rto = self.rtt.rto(config, self.backoff);
        match self.probe_timeout() {
            Some(timeout) if timeout < rto => self.start_timer(Wait::TailProbe, now + timeout),
            _ => self.start_timer(Wait::Rto, now + rto),
        }
    }

    /// New text was sent: the retransmission timer keeps running (RFC 6298 section 5.1), unless a tail
    /// loss probe would come before it.
    #[inline]
    pub(crate) fn arm_on_new_text(&mut self, now: Instant, config: &Config) {
        match self.wait {
            Wait::None | Wait::Persist | Wait::TailProbe => self.arm_retransmission(now, config),
            Wait::Reordering => {}
            Wait::Rto => {
                let probe_at = self.probe_timeout().map_or(Instant::FAR_FUTURE, |timeout| now + timeout);
                if probe_at < self.timers.retransmit {
                    self.start_timer(Wait::TailProbe, probe_at);
                }
            }
        }
    }

    /// PTO (RFC 8985 section 7.2); none where a probe would not help.
    #[inline]
    fn probe_timeout(&self) -> Option<Duration> {
        if self.backoff > 0 || !self.flags.has(Flags::SACK) || !self.may_probe() {
            return None;
        }
        let round_trips = self.rtt.smoothed()?.saturating_mul(2).max(PROBE_TIMEOUT_MIN);
        let is_single = self.flight() <= self.window.mss;
        Some(if is_single { round_trips + PEER_ACK_DELAY_MAX } else { round_trips })
    }

    /// While segments are only suspected to be lost, the end of their time is what to wait for.
    pub(crate) fn arm_reordering(&mut self, now: Instant, config: &Config) {
        let until = self.recovery.as_ref().and_then(|recovery| recovery.suspects_until());
        match until {
            Some(at) => self.start_timer(Wait::Reordering, at),
            None if self.wait == Wait::Reordering => self.arm_retransmission(now, config),
            None => {}
        }
    }

    fn on_retransmit_timer(&mut self, now: Instant, config: &Config) -> Option<Closed> {
        match self.wait {
            Wait::None => self.stop_retransmission(),
            Wait::Rto => return self.on_timeout(now, config),
            Wait::TailProbe => {
                self.flags.set(Flags::TAIL_PROBE_DUE);
                self.start_timer(Wait::Rto, now + self.rtt.rto(config, self.backoff));
            }
            Wait::Reordering => {
                self.find_losses(now, config, self.flight());
                self.arm_retransmission(now, config);
                self.arm_reordering(now, config);
            }
            Wait::Persist => return self.on_persist(now, config),
        }
        None
    }

    /// RFC 6298 section 5.4 to 5.7.
    fn on_timeout(&mut self, now: Instant, config: &Config) -> Option<Closed> {
        if self.is_given_up(now, config) {
            return Some(self.give_up());
        }
        self.backoff = self.backoff.saturating_add(1);
        if self.state.is_synchronized() {
            self.suspect_black_hole(config);
            self.enter_timeout(now, config);
        } else {
            self.flags.set(Flags::SYN_DUE);
            // RFC 6298 section 3: a SYN sent again measures nothing.
            self.flags.clear(Flags::TIMING);
        }
        self.start_timer(Wait::Rto, now + self.rtt.rto(config, self.backoff));
        None
    }

    /// R2 (RFC 9293 section 3.8.3).
    fn is_given_up(&self, now: Instant, config: &Config) -> bool {
        match self.state {
            State::SynSent => self.backoff >= config.syn_retries,
            State::SynReceived => self.backoff >= config.syn_ack_retries,
            _ => now.since(self.timers.progress) >= config.user_timeout,
        }
    }

    /// Full segments may be too large for the path without anybody saying so (RFC 8899 section 4.3).
    fn suspect_black_hole(&mut self, config: &Config) {
        let floor = u32::from(config.black_hole_mss);
        let is_large = self.window.mss.min(self.flight()) > floor;
        if self.backoff > BLACK_HOLE_TIMEOUTS && is_large {
            self.set_mss(config, config.black_hole_mss);
        }
    }

    /// The window stayed closed, or too small to be worth a segment.
    fn on_persist(&mut self, now: Instant, config: &Config) -> Option<Closed> {
        let heard = self.timers.received.max(self.timers.progress);
        let is_silent = self.backoff > 0 && now.since(heard) >= config.user_timeout;
        if is_silent || now.since(self.timers.progress) >= config.zero_window_timeout {
            return Some(self.give_up());
        }
        self.backoff = self.backoff.saturating_add(1);
        let is_open = self.peer_room() > 0;
        self.flags.set(if is_open { Flags::OVERRIDE } else { Flags::PROBE_DUE });
        self.start_timer(Wait::Persist, now + self.rtt.rto(config, self.backoff));
        None
    }

    fn on_life_timer(&mut self, now: Instant, config: &Config) -> Option<Closed> {
        self.timers.life = Instant::FAR_FUTURE;
        match self.state {
            State::TimeWait => {
                self.end();
                None
            }
            State::FinWait2 => {
                let until = self.timers.received + config.fin_wait_2_timeout;
                if until <= now {
                    return Some(self.give_up());
                }
                self.timers.life = until;
                None
            }
            State::Established | State::CloseWait => self.on_keep_alive(now, config),
            _ => None,
        }
    }

    /// RFC 9293 section 3.8.4.
    fn on_keep_alive(&mut self, now: Instant, config: &Config) -> Option<Closed> {
        let keep_alive = config.keep_alive?;
        let idle_until = self.timers.received + keep_alive.idle;
        if idle_until > now || self.is_in_flight() {
            self.timers.life = idle_until.max(now + keep_alive.interval);
            return None;
        }
        if self.probe_count >= keep_alive.probe_count_max {
            return Some(self.give_up());
        }
        self.probe_count += 1;
        self.flags.set(Flags::PROBE_DUE);
        self.timers.life = now + keep_alive.interval;
        None
    }

    /// Ends the connection for want of an answer; a RST tells a peer that may come back.
    fn give_up(&mut self) -> Closed {
        self.abort();
        Closed::TimedOut
    }
}
