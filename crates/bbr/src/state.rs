//! Where BBR is, and the gains that go with it (section 4.3).

use crate::model::{HIGH_GAIN, Model};
use tidegate_base::Instant;
use tidegate_tcp::congestion::{RateSample, Window};

/// Pacing gains of the phases of ProbeBw: more, to see whether there is more; less, to take back what that queued;
/// then as much as there is (section 4.3.4.2).
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Of ProbeBw: room for acknowledgements that come late and together (section 4.3.4.1).
const CWND_GAIN: f64 = 2.0;

/// What it is doing.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Phase {
    Startup,
    Drain,
    /// Since when it is in which phase of [`CYCLE`].
    ProbeBw {
        index: usize,
        since: Instant,
    },
    /// Until when, once the window is small; and whether a round has passed since.
    ProbeRtt {
        until: Option<Instant>,
        round_done: bool,
    },
}

/// The phase and what it multiplies by.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) phase: Phase,
    pub(crate) pacing_gain: f64,
    pub(crate) cwnd_gain: f64,
}

impl State {
    /// Startup.
    pub(crate) const fn new() -> Self {
        Self { phase: Phase::Startup, pacing_gain: HIGH_GAIN, cwnd_gain: HIGH_GAIN }
    }

    /// Section 4.3.3: what Startup queued flows off.
    pub(crate) const fn enter_drain(&mut self) {
        *self = Self { phase: Phase::Drain, pacing_gain: 1.0 / HIGH_GAIN, cwnd_gain: HIGH_GAIN };
    }

    /// Section 4.3.4.3: anywhere in the cycle but where it sends less. A connection has no dice; the clock's
    /// nanoseconds keep flows from probing in step as well.
    pub(crate) const fn enter_probe_bw(&mut self, now: Instant) {
        let mixed = now.as_nanos().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let index = (mixed % (CYCLE.len() as u64 - 1)) as usize;
        let index = if index == 0 { 0 } else { index + 1 };
        self.set_cycle(index, now);
    }

    /// Section 4.3.5.
    pub(crate) const fn enter_probe_rtt(&mut self) {
        let phase = Phase::ProbeRtt { until: None, round_done: false };
        *self = Self { phase, pacing_gain: 1.0, cwnd_gain: 1.0 };
    }

    /// Section 4.3.4.3 (BBRIsNextCyclePhase): a phase lasts a round trip; sending more until it shows, sending less
    /// until the queue is gone.
    pub(crate) fn advance_cycle(&mut self, model: &Model, window: &Window, sample: &RateSample) {
        let Phase::ProbeBw { index, since } = self.phase else { return };
        let is_full_length = model.round_trip().is_some_and(|rtt| sample.now.since(since) > rtt);
        // The room for pieces is measured at the rate of the gain, as the phase itself sends.
        let rate = (self.pacing_gain * model.bandwidth() as f64) as u64;
        let inflight = |gain: f64| model.inflight(gain, window, rate);
        let is_over = match self.pacing_gain {
            gain if gain > 1.0 => {
                is_full_length && (sample.lost > 0 || sample.prior_inflight >= inflight(gain))
            }
            gain if gain < 1.0 => is_full_length || sample.prior_inflight <= inflight(1.0),
            _ => is_full_length,
        };
        if is_over {
            self.set_cycle((index + 1) % CYCLE.len(), sample.now);
        }
    }

    const fn set_cycle(&mut self, index: usize, now: Instant) {
        let phase = Phase::ProbeBw { index, since: now };
        *self = Self { phase, pacing_gain: CYCLE[index], cwnd_gain: CWND_GAIN };
    }
}
