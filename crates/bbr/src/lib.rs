//! BBR: a congestion control by rate. It measures how fast the path delivers and how long its shortest round trip is,
//! sends at that rate and keeps about that much in flight; a loss by itself changes neither.
//!
//! Version 1, as published (Cardwell et al., BBR: congestion-based congestion control, ACM Queue 2016;
//! draft-cardwell-iccrg-bbr-congestion-control-00), whose names the states and the gains have. Where it departs from
//! that text, the place says why.
//!
//! ```text
//!   Startup --- the rate grows no more ---> Drain --- the queue is gone ---> ProbeBw (eight phases, a round trip each:
//!      ^                                                                        |  5/4, 3/4, 1, 1, 1, 1, 1, 1)
//!      |                                                                        |
//!      +--- the pipe was never filled --- ProbeRtt <--- no shorter round trip for ten seconds
//! ```
//!
//! It stands on nothing but what the `tcp` crate offers anybody: an [`Algorithm`] value that a listener names. To let
//! configurations find it by its name, a program calls [`register`] once.
#![forbid(unsafe_code)]

mod filter;
mod model;
mod state;

use model::{Model, PIPE_SEGMENTS_MIN};
use state::{Phase, State};
use tidegate_base::{Duration, Instant};
use tidegate_tcp::congestion::{self, Algorithm, Congestion, LossPhase, NameTaken, Rate, RateSample, Window};

/// The name under which a listener chooses it.
pub const NAME: &str = "bbr";

/// What a listener's configuration takes.
pub const BBR: Algorithm = Algorithm { name: NAME, start: || Box::new(Bbr::new()), from_start: true };

/// Lets [`congestion::by_name`] find it as `bbr`.
pub fn register() -> Result<(), NameTaken> {
    congestion::register(BBR)
}

/// How long the window stays small to see the shortest round trip (section 4.3.5: ProbeRTTDuration).
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);
/// Growth of the rate in a round that says that there is more (section 4.3.2.2).
const FULL_PIPE_GROWTH: f64 = 1.25;
/// Rounds without it that say that there is no more.
const FULL_PIPE_ROUNDS: u32 = 3;

/// One connection under BBR.
#[derive(Debug)]
pub struct Bbr {
    rate: Rate,
    model: Model,
    state: State,
    pipe: FullPipe,
    recovery: Recovery,
}

/// Whether Startup has found the path's rate (section 4.3.2.2).
#[derive(Debug, Default)]
struct FullPipe {
    is_filled: bool,
    bandwidth: u64,
    round_count: u32,
}

/// The window through losses (section 4.2.3.4).
#[derive(Debug)]
struct Recovery {
    phase: LossPhase,
    /// The first round of recovery: what leaves is what arrives.
    conserves: bool,
    /// The window before, for afterwards.
    prior_cwnd: u32,
}

impl Bbr {
    fn new() -> Self {
        Self {
            rate: Rate::default(),
            model: Model::default(),
            state: State::new(),
            pipe: FullPipe::default(),
            recovery: Recovery { phase: LossPhase::Open, conserves: false, prior_cwnd: 0 },
        }
    }

    /// Section 4.3.2.2: the pipe is full once three rounds in a row brought no quarter more.
    fn check_full_pipe(&mut self, sample: &RateSample) {
        let pipe = &mut self.pipe;
        if pipe.is_filled || !sample.is_round_start || sample.is_app_limited {
            return;
        }
        let bandwidth = self.model.bandwidth();
        if bandwidth as f64 >= pipe.bandwidth as f64 * FULL_PIPE_GROWTH {
            pipe.bandwidth = bandwidth;
            pipe.round_count = 0;
            return;
        }
        pipe.round_count += 1;
        pipe.is_filled = pipe.round_count >= FULL_PIPE_ROUNDS;
    }

    /// Sections 4.3.2 to 4.3.4: from Startup over Drain to ProbeBw, and around its cycle.
    fn advance(&mut self, window: &Window, sample: &RateSample) {
        match self.state.phase {
            Phase::Startup if self.pipe.is_filled => self.state.enter_drain(),
            Phase::ProbeBw { .. } => self.state.advance_cycle(&self.model, window, sample),
            _ => {}
        }
        let bdp = self.model.inflight(1.0, window, self.rate.pacer.rate());
        if self.state.phase == Phase::Drain && sample.inflight <= bdp {
            self.state.enter_probe_bw(sample.now);
        }
    }

    /// Section 4.3.5: for lack of a short round trip, a window of four segments for 200 ms and a round.
    fn check_probe_rtt(&mut self, window: &mut Window, sample: &RateSample, is_expired: bool) {
        let probes = matches!(self.state.phase, Phase::ProbeRtt { .. });
        if !probes && is_expired && !sample.is_restart {
            self.save_cwnd(window);
            self.state.enter_probe_rtt();
        }
        let Phase::ProbeRtt { until, round_done } = &mut self.state.phase else { return };
        self.rate.delivery.limit(sample.inflight);
        match *until {
            None if sample.inflight <= PIPE_SEGMENTS_MIN * window.mss => {
                *until = Some(sample.now + PROBE_RTT_DURATION);
                self.rate.delivery.start_round();
            }
            None => {}
            Some(at) => {
                *round_done |= sample.is_round_start;
                if *round_done && sample.now > at {
                    self.leave_probe_rtt(window, sample.now);
                }
            }
        }
    }

    fn leave_probe_rtt(&mut self, window: &mut Window, now: Instant) {
        self.model.refresh_round_trip(now);
        window.cwnd = window.cwnd.max(self.recovery.prior_cwnd);
        if self.pipe.is_filled {
            self.state.enter_probe_bw(now);
        } else {
            self.state = State::new();
        }
    }

    /// Section 4.2.1. Before the pipe is full, a rate that was measured lower must not slow Startup down.
    fn set_pacing_rate(&mut self, window: &Window, sample: &RateSample) {
        let bandwidth = match self.model.bandwidth() {
            0 => initial_bandwidth(window, sample),
            bandwidth => bandwidth,
        };
        let rate = (self.state.pacing_gain * bandwidth as f64) as u64;
        if self.pipe.is_filled || rate > self.rate.pacer.rate() {
            self.rate.pacer.set_rate(rate.max(1));
        }
    }

    /// Section 4.2.3.
    fn set_cwnd(&mut self, window: &mut Window, sample: &RateSample) {
        let target = self.model.inflight(self.state.cwnd_gain, window, self.rate.pacer.rate());
        self.heed_recovery(window, sample);
        if !self.recovery.conserves {
            let grown = window.cwnd.saturating_add(sample.acked);
            if self.pipe.is_filled {
                window.cwnd = grown.min(target);
            } else if window.cwnd < target || sample.delivered < self.model.initial_cwnd.into() {
                window.cwnd = grown;
            }
            window.cwnd = window.cwnd.max(PIPE_SEGMENTS_MIN * window.mss);
        }
        if matches!(self.state.phase, Phase::ProbeRtt { .. }) {
            window.cwnd = window.cwnd.min(PIPE_SEGMENTS_MIN * window.mss);
        }
    }

    /// Section 4.2.3.4: a round of packet conservation at the beginning of a recovery, the window from before at its
    /// end.
    fn heed_recovery(&mut self, window: &mut Window, sample: &RateSample) {
        let before = std::mem::replace(&mut self.recovery.phase, sample.phase);
        match (before, sample.phase) {
            (LossPhase::Open, LossPhase::Fast) => {
                self.recovery.conserves = true;
                self.rate.delivery.start_round();
                window.cwnd = sample.inflight + sample.acked.max(window.mss);
                return;
            }
            (LossPhase::Fast | LossPhase::Timeout, LossPhase::Open) => {
                self.recovery.conserves = false;
                window.cwnd = window.cwnd.max(self.recovery.prior_cwnd);
            }
            (_, LossPhase::Timeout) => self.recovery.conserves = false,
            (_, LossPhase::Fast) if sample.is_round_start => self.recovery.conserves = false,
            _ => {}
        }
        window.cwnd = window.cwnd.saturating_sub(sample.lost).max(window.mss);
        if self.recovery.conserves {
            window.cwnd = window.cwnd.max(sample.inflight + sample.acked);
        }
    }

    /// Section 4.2.3.5 (BBRSaveCwnd): the last good window.
    fn save_cwnd(&mut self, window: &Window) {
        let is_good =
            self.recovery.phase == LossPhase::Open && !matches!(self.state.phase, Phase::ProbeRtt { .. });
        let prior = if is_good { 0 } else { self.recovery.prior_cwnd };
        self.recovery.prior_cwnd = window.cwnd.max(prior);
    }
}

/// What to assume of the path before anything was delivered: the initial window in a round trip (section 4.2.1).
fn initial_bandwidth(window: &Window, sample: &RateSample) -> u64 {
    let round_trip = sample.rtt.unwrap_or(Duration::from_millis(1));
    (f64::from(window.cwnd) / round_trip.as_secs_f64().max(1e-6)) as u64
}

impl Congestion for Bbr {
    /// A loss by itself changes nothing: what it means, [`Congestion::on_sample`] decides.
    fn on_congestion(&mut self, window: &mut Window, _now: Instant, _flight: u32) {
        self.save_cwnd(window);
        window.ssthresh = window.cwnd;
    }

    fn rate(&self) -> Option<&Rate> {
        Some(&self.rate)
    }

    fn rate_mut(&mut self) -> Option<&mut Rate> {
        Some(&mut self.rate)
    }

    fn on_sample(&mut self, window: &mut Window, sample: &RateSample) {
        self.model.note_window(window);
        self.model.on_bandwidth(sample);
        self.check_full_pipe(sample);
        self.advance(window, sample);
        let is_expired = self.model.on_round_trip(sample);
        self.check_probe_rtt(window, sample, is_expired);
        self.set_pacing_rate(window, sample);
        self.set_cwnd(window, sample);
    }
}

#[cfg(test)]
mod tests;
