//! The round-trip time estimate and the retransmission timeout that follows from it (RFC 6298).

use crate::Config;
use tidegate_base::Duration;

/// Smoothed round-trip time, its variation and its minimum, in microseconds; zero until measured.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Rtt {
    srtt_us: u32,
    rttvar_us: u32,
    min_us: u32,
}

/// The clock granularity G: that of the timing wheel.
const GRANULARITY: Duration = Duration::from_millis(1);

impl Rtt {
    /// Takes a measurement.
    pub(crate) fn sample(&mut self, rtt: Duration) {
        let r = rtt.as_micros().clamp(1, u64::from(u32::MAX / 8)) as u32;
        if self.srtt_us == 0 {
            // Section 2.2: the first measurement.
            *self = Self { srtt_us: r, rttvar_us: r / 2, min_us: r };
            return;
        }
        // Section 2.3: alpha = 1/8, beta = 1/4.
        let deviation = self.srtt_us.abs_diff(r);
        self.rttvar_us = self.rttvar_us - self.rttvar_us / 4 + deviation / 4;
        self.srtt_us = (self.srtt_us - self.srtt_us / 8 + r / 8).max(1);
        self.min_us = self.min_us.min(r);
    }

    /// The smoothed round-trip time, once measured.
    pub(crate) const fn smoothed(&self) -> Option<Duration> {
        if self.srtt_us == 0 { None } else { Some(Duration::from_micros(self.srtt_us as u64)) }
    }

    /// How far measurements lie from the smoothed one; zero before the first.
    pub(crate) const fn variation(&self) -> Duration {
        Duration::from_micros(self.rttvar_us as u64)
    }

    /// The shortest round trip measured; zero before.
    pub(crate) const fn min(&self) -> Duration {
        Duration::from_micros(self.min_us as u64)
    }

    /// RTO <- SRTT + max(G, 4 * RTTVAR), at least the configured minimum (sections 2.2 to 2.4), doubled
    /// `backoff` times and then at most the configured maximum (section 5.5).
    pub(crate) fn rto(&self, config: &Config, backoff: u8) -> Duration {
        let base = match self.smoothed() {
            None => config.rto_initial,
            Some(srtt) => {
                let spread = Duration::from_micros(4 * u64::from(self.rttvar_us));
                (srtt + spread.max(GRANULARITY)).max(config.rto_min)
            }
        };
        base.saturating_mul(1 << backoff.min(16)).min(config.rto_max)
    }
}

#[cfg(test)]
mod tests;
