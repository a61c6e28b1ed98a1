//! The standard algorithm (RFC 5681): one segment more a round trip, half of it after a loss.

use super::{AckSample, Congestion, Window};
use tidegate_base::Instant;

/// Additive increase, multiplicative decrease.
#[derive(Clone, Default, Debug)]
pub struct NewReno {
    /// Bytes acknowledged since the window last grew (RFC 3465 section 2.1).
    acked: u32,
}

impl Congestion for NewReno {
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        let acked = window.slow_start(ack.acked);
        self.acked = self.acked.saturating_add(acked);
        if self.acked >= window.cwnd {
            self.acked -= window.cwnd;
            window.cwnd = window.cwnd.saturating_add(window.mss);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _now: Instant, flight: u32) {
        // RFC 5681 equation 4.
        window.ssthresh = (flight / 2).max(2 * window.mss);
        self.acked = 0;
    }
}
