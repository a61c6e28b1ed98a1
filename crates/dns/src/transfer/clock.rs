//! The time for what runs beside the workers: one clock that never steps, one that other servers share.

use std::time::{SystemTime, UNIX_EPOCH};
use tidegate_base::{Duration, Instant};

/// Where threads look at the time. Copies agree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: std::time::Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { start: std::time::Instant::now() }
    }

    /// Time that only goes forward, from the clock's start on.
    pub(crate) fn now(&self) -> Instant {
        Instant::ZERO + Duration::from(self.start.elapsed())
    }

    /// Seconds since 1970, as signatures have them.
    pub(crate) fn unix_s(&self) -> u64 {
        unix_s()
    }
}

/// Seconds since 1970, as signatures have them.
pub(crate) fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Milliseconds since 1970, as logs have them.
pub(crate) fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
