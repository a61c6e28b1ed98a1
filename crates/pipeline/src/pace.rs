//! Under load, lets frames gather before the next look at the ports: fewer wake-ups, larger batches.
//!
//! ```text
//!   frames   | || |  |||  | || |  ||            frames   | || |  |||  | || |  ||
//!   woken    ^ ^^ ^  ^^^  ^ ^^ ^  ^^            woken          ^         ^
//!            a wake-up each: most of the time                   ^-- rest --^
//! ```
//! A wake-up costs some microseconds whatever it finds. A rest is as long as some sixteen frames take to
//! arrive, never longer than its limit, and there is none while few frames arrive: a lone client waits for
//! nothing.
//!
//! Invariant: a rest that found nothing is followed by a real sleep, which the next frame ends.

use tidegate_base::{Duration, Instant};

/// Frames that a rest is to gather.
const FRAMES_PER_REST: u64 = 16;
/// Fewer frames a second than this arrive one by one, and are met one by one.
const RATE_MIN: u64 = 50_000;
/// How long a rate is measured.
const WINDOW: Duration = Duration::from_millis(1);

/// How fast frames come, and how long to rest for it.
pub(crate) struct Pace {
    rest_max: Duration,
    rest: Duration,
    window_start: Instant,
    frame_count: u64,
    woken_at: Instant,
    has_rested: bool,
}

impl Pace {
    /// Rests of at most `rest_max`.
    pub(crate) const fn new(rest_max: Duration) -> Self {
        Self {
            rest_max,
            rest: Duration::ZERO,
            window_start: Instant::ZERO,
            frame_count: 0,
            woken_at: Instant::ZERO,
            has_rested: false,
        }
    }

    /// A round worked on `count` frames.
    #[inline]
    pub(crate) fn on_work(&mut self, count: usize) {
        self.frame_count += count as u64;
        self.has_rested = false;
    }

    /// Nothing is left to do: until when to rest, if that pays.
    pub(crate) fn rest_until(&mut self, now: Instant) -> Option<Instant> {
        self.measure(now);
        let until = self.woken_at + self.rest;
        let rests = !self.has_rested && until > now;
        self.has_rested = rests;
        rests.then_some(until)
    }

    /// A rest or a sleep is over.
    pub(crate) fn on_woken(&mut self, now: Instant) {
        self.woken_at = now;
    }

    fn measure(&mut self, now: Instant) {
        let elapsed = now.since(self.window_start);
        if elapsed < WINDOW {
            return;
        }
        let per_second = self.frame_count.saturating_mul(1_000_000_000) / elapsed.as_nanos().max(1);
        self.rest = if per_second < RATE_MIN {
            Duration::ZERO
        } else {
            Duration::from_nanos(FRAMES_PER_REST * 1_000_000_000 / per_second).min(self.rest_max)
        };
        (self.window_start, self.frame_count) = (now, 0);
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
