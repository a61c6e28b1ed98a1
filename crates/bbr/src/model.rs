//! The path as BBR sees it: how fast it delivers, how long its shortest round trip is (section 4.1), and what
//! follows for how much should be in flight (section 4.2.3).

use crate::filter::MaxFilter;
use tidegate_base::{Duration, Instant};
use tidegate_tcp::congestion::{RateSample, Window};

/// 2/ln 2: the least gain that doubles the rate each round (section 4.3.2.1).
pub(crate) const HIGH_GAIN: f64 = 2.885;
/// Rounds that a rate is remembered (section 4.1.1.3: BtlBwFilterLen).
const BANDWIDTH_ROUNDS: u64 = 10;
/// How long a round trip is remembered (section 4.1.2.3: RTpropFilterLen).
const ROUND_TRIP_LIFE: Duration = Duration::from_secs(10);
/// Segments that keep a path with delayed acknowledgements going (section 4.2.3.2: BBRMinPipeCwnd).
pub(crate) const PIPE_SEGMENTS_MIN: u32 = 4;
/// Pieces that leave, are under way and are waited for: room for bunches at both ends (section 4.2.3.2).
const QUANTUM_COUNT: u32 = 3;
/// A piece: a segment on slow paths, a millisecond's worth on fast ones, at most this (section 4.2.2).
const QUANTUM_MAX: u64 = 64 * 1024;
const ONE_SEGMENT_RATE: u64 = 1_200_000 / 8;
const TWO_SEGMENT_RATE: u64 = 24_000_000 / 8;

/// The two estimates.
#[derive(Debug, Default)]
pub(crate) struct Model {
    bandwidth: MaxFilter,
    round_trip: Option<Duration>,
    round_trip_at: Instant,
    /// The window that the connection began with.
    pub(crate) initial_cwnd: u32,
}

impl Model {
    /// BBR.BtlBw, in bytes a second; zero before it was measured.
    pub(crate) const fn bandwidth(&self) -> u64 {
        self.bandwidth.get()
    }

    /// BBR.RTprop.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        self.round_trip
    }

    pub(crate) fn note_window(&mut self, window: &Window) {
        if self.initial_cwnd == 0 {
            self.initial_cwnd = window.cwnd;
        }
    }

    /// Section 4.1.1.5: a rate that the service held down counts only if it is greater all the same.
    pub(crate) fn on_bandwidth(&mut self, sample: &RateSample) {
        let Some(rate) = sample.rate else { return };
        if rate >= self.bandwidth() || !sample.is_app_limited {
            self.bandwidth.update(sample.round_count, rate, BANDWIDTH_ROUNDS);
        }
    }

    /// Section 4.1.2.3. True if the shortest round trip was ten seconds old.
    pub(crate) fn on_round_trip(&mut self, sample: &RateSample) -> bool {
        let is_expired = self.round_trip.is_some() && sample.now > self.round_trip_at + ROUND_TRIP_LIFE;
        if let Some(rtt) = sample.rtt
            && (is_expired || self.round_trip.is_none_or(|shortest| rtt <= shortest))
        {
            self.round_trip = Some(rtt);
            self.round_trip_at = sample.now;
        }
        is_expired
    }

    /// The round trip is believed for another ten seconds.
    pub(crate) fn refresh_round_trip(&mut self, now: Instant) {
        self.round_trip_at = now;
    }

    /// Section 4.2.3.2 (BBRInflight): `gain` times what the path holds, and room for pieces under way.
    pub(crate) fn inflight(&self, gain: f64, window: &Window, pacing_rate: u64) -> u32 {
        let (Some(round_trip), true) = (self.round_trip, self.bandwidth() > 0) else {
            return self.initial_cwnd;
        };
        let bdp = self.bandwidth() as f64 * round_trip.as_secs_f64();
        (gain * bdp) as u32 + QUANTUM_COUNT * quantum(window, pacing_rate)
    }
}

/// Section 4.2.2 (BBRSetSendQuantum).
fn quantum(window: &Window, pacing_rate: u64) -> u32 {
    match pacing_rate {
        0..ONE_SEGMENT_RATE => window.mss,
        ONE_SEGMENT_RATE..TWO_SEGMENT_RATE => 2 * window.mss,
        rate => (rate / 1000).min(QUANTUM_MAX) as u32,
    }
}
