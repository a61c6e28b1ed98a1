//! CUBIC (RFC 9438): after a loss the window is a cubic function of the time since, flat around where
//! the loss happened, and never slower than the standard algorithm would be.
//!
//! Windows are counted in segments here, as the RFC does, and time in seconds.

use super::{AckSample, Congestion, Window};
use tidegate_base::Instant;

/// The aggressiveness constant (RFC 9438 section 5).
const C: f64 = 0.4;
/// What a loss leaves of the window (RFC 9438 section 4.6).
const BETA: f64 = 0.7;
/// What the standard algorithm would add a round trip to be as aggressive with BETA (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The cubic function's origin and the standard algorithm's estimate beside it.
#[derive(Clone, Default, Debug)]
pub struct Cubic {
    /// The window before the last reduction, or less after two in a row (section 4.7).
    w_max: f64,
    /// What the standard algorithm's window would be.
    w_est: f64,
    /// Seconds from the epoch's start until the function reaches `w_max`.
    k: f64,
    /// When congestion avoidance began after the last reduction.
    epoch: Option<Instant>,
    /// The fraction of a segment that the window is owed.
    credit: f64,
    /// `w_max` before the last reduction, to undo it.
    w_max_prior: f64,
}

impl Cubic {
    /// Begins an epoch at a window of `cwnd` segments (section 4.2, equation 2).
    fn begin(&mut self, now: Instant, cwnd: f64) {
        self.epoch = Some(now);
        self.w_est = cwnd;
        self.w_max = self.w_max.max(cwnd);
        self.k = ((self.w_max - cwnd) / C).cbrt();
    }

    /// W_cubic(t) (section 4.2, equation 1).
    fn w_cubic(&self, t: f64) -> f64 {
        C * (t - self.k).powi(3) + self.w_max
    }

    /// Where the window should be one round trip from now (section 4.2): between what it is and half
    /// as much again.
    fn target(&self, t: f64, cwnd: f64) -> f64 {
        self.w_cubic(t).clamp(cwnd, 1.5 * cwnd)
    }
}

impl Congestion for Cubic {
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        let acked = window.slow_start(ack.acked);
        if acked == 0 {
            return;
        }
        let mss = f64::from(window.mss);
        let (cwnd, acked) = (f64::from(window.cwnd) / mss, f64::from(acked) / mss);
        let epoch = match self.epoch {
            Some(epoch) => epoch,
            None => {
                self.begin(ack.now, cwnd);
                ack.now
            }
        };
        let t = ack.now.since(epoch).as_secs_f64();
        // Section 4.3, equation 4; past w_max the estimate grows like the standard algorithm.
        let alpha = if self.w_est >= self.w_max { 1.0 } else { ALPHA };
        self.w_est += alpha * acked / cwnd;
        let target = self.target(t + ack.rtt.as_secs_f64(), cwnd);
        let step =
            if self.w_cubic(t) < self.w_est { self.w_est - cwnd } else { (target - cwnd) * acked / cwnd };
        self.credit += step.max(0.0);
        let whole = self.credit.floor();
        self.credit -= whole;
        window.cwnd = window.cwnd.saturating_add((whole * mss) as u32);
    }

    fn on_congestion(&mut self, window: &mut Window, _now: Instant, flight: u32) {
        let mss = f64::from(window.mss);
        let cwnd = f64::from(window.cwnd) / mss;
        self.w_max_prior = self.w_max;
        // Section 4.7, fast convergence: give way if the window did not reach its last maximum.
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.epoch = None;
        self.credit = 0.0;
        // Section 4.6: from the flight size, so that a window that was not used does not count.
        let ssthresh = (f64::from(flight) * BETA) as u32;
        window.ssthresh = ssthresh.max(2 * window.mss);
    }

    fn on_undo(&mut self) {
        self.w_max = self.w_max_prior;
        self.epoch = None;
    }
}
