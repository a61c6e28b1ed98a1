//! How long a worker looks for work before it sleeps, learned from whether looking found any.
//!
//! ```text
//!   work -- empty rounds -- work        it paid: look twice as long next time
//!   work -- empty rounds -- sleep       it did not: half as long, down to not at all
//! ```
//! Every so many sleeps it tries again, since the load may have changed.

use tidegate_base::{Duration, Instant};

/// The shortest look that is worth taking, and the one that is tried again.
const PROBE: Duration = Duration::from_micros(2);
/// Sleeps between two such trials.
const SLEEPS_PER_PROBE: u32 = 256;

/// A worker's patience.
pub(crate) struct Patience {
    limit_max: Duration,
    limit: Duration,
    busy_until: Instant,
    is_looking: bool,
    sleep_count: u32,
}

impl Patience {
    /// Patience of at most `limit_max`, to begin with.
    pub(crate) const fn new(limit_max: Duration) -> Self {
        Self { limit_max, limit: limit_max, busy_until: Instant::ZERO, is_looking: false, sleep_count: 0 }
    }

    /// A round found something to do.
    #[inline]
    pub(crate) fn on_work(&mut self, now: Instant) {
        if std::mem::take(&mut self.is_looking) {
            self.limit = self.limit.saturating_mul(2).clamp(PROBE.min(self.limit_max), self.limit_max);
        }
        self.busy_until = now;
    }

    /// A round found nothing: whether it is time to sleep.
    pub(crate) fn is_over(&mut self, now: Instant) -> bool {
        self.is_looking = true;
        now.since(self.busy_until) >= self.limit
    }

    /// The sleep that ended the last look is over.
    pub(crate) fn on_woken(&mut self, now: Instant) {
        self.sleep_count += 1;
        let halved = self.limit.div(2);
        self.limit = match self.sleep_count.is_multiple_of(SLEEPS_PER_PROBE) {
            true => PROBE.min(self.limit_max),
            false if halved < PROBE.div(2) => Duration::ZERO,
            false => halved,
        };
        self.is_looking = false;
        self.busy_until = now;
    }
}

#[cfg(test)]
#[path = "patience_tests.rs"]
mod tests;
