//! When the next segment may leave, so that a window goes out over a round trip and not at once.
//!
//! The schedule runs a little ahead and catches up a little, since the timers that carry it out come with the
//! ticks of the timing wheel: what is due within a tick leaves together.

use tidegate_base::{Duration, Instant};

/// The wheel's tick: how far ahead of its time a segment may leave, and how much lateness is made up for.
const TICK: Duration = Duration::from_millis(1);

/// A rate, and what it allows.
#[derive(Debug, Default)]
pub struct Pacer {
    /// Bytes a second; zero: as fast as can be.
    rate: u64,
    /// When all that left would have left at the rate.
    next: Instant,
}

impl Pacer {
    /// Bytes a second from now on; zero: as fast as can be.
    pub const fn set_rate(&mut self, rate: u64) {
        self.rate = rate;
    }

    /// Bytes a second; zero: as fast as can be.
    pub const fn rate(&self) -> u64 {
        self.rate
    }

    /// When the next segment may leave.
    pub(crate) fn next_send(&self) -> Instant {
        if self.rate == 0 { Instant::ZERO } else { self.next - TICK }
    }

    /// Bytes that may leave in one piece: a tick's worth.
    pub(crate) fn quantum(&self) -> u64 {
        if self.rate == 0 { u64::MAX } else { self.rate / 1000 }
    }

    /// `len` bytes leave.
    pub(crate) fn on_sent(&mut self, now: Instant, len: u32) {
        let Some(ns) = (u64::from(len) * 1_000_000_000).checked_div(self.rate) else { return };
        self.next = self.next.max(now - TICK) + Duration::from_nanos(ns);
    }
}

#[cfg(test)]
#[path = "pacer_tests.rs"]
mod tests;
