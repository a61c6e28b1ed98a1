//! Whether the processor is as fast as it can be: one that is shared with other machines is at times half as fast for
//! seconds, whoever else runs on this one, and processor time does not show it.
//!
//! The yardstick is arithmetic that no cache, no memory and no other thread of this machine has a part in.

use std::hint::black_box;
use std::time::{Duration, Instant};

use tidegate_sys::cpu;

/// A rate this much below the best that was seen is a processor that is held back.
const SLACK: f64 = 0.1;
/// Looks to begin with, to see the best.
const LOOK_COUNT: usize = 200;
const ROUND_COUNT: u64 = 50_000;
/// Independent chains of work, so that all of the processor's units have some.
const LANE_COUNT: usize = 8;
/// How long the processor is waited for, in all.
const PATIENCE: Duration = Duration::from_secs(150);
const PAUSE: Duration = Duration::from_millis(20);

/// The yardstick, and the best that it has seen.
pub(super) struct Yardstick {
    best: f64,
    patience: Duration,
    /// Turns that counted, and those that did not.
    pub(super) kept_count: usize,
    pub(super) repeated_count: usize,
}

impl Yardstick {
    pub(super) fn new() -> Self {
        let best = (0..LOOK_COUNT).map(|_| rate()).fold(0.0, f64::max);
        Self { best, patience: PATIENCE, kept_count: 0, repeated_count: 0 }
    }

    /// What `turn` measures while the processor is fast, before and after; whatever it measures, once patience is over.
    pub(super) fn measure<T>(&mut self, mut turn: impl FnMut() -> T) -> T {
        loop {
            self.await_fast();
            let start = Instant::now();
            let measured = turn();
            if self.is_fast() || self.patience.is_zero() {
                self.kept_count += 1;
                return measured;
            }
            self.patience = self.patience.saturating_sub(start.elapsed());
            self.repeated_count += 1;
        }
    }

    fn await_fast(&mut self) {
        while !self.is_fast() && !self.patience.is_zero() {
            std::thread::sleep(PAUSE);
            self.patience = self.patience.saturating_sub(PAUSE);
        }
    }

    fn is_fast(&mut self) -> bool {
        let now = rate().max(rate());
        self.best = self.best.max(now);
        now >= self.best * (1.0 - SLACK)
    }
}

/// Rounds a second of this thread's time.
fn rate() -> f64 {
    let start = cpu::thread_time();
    calculate();
    ROUND_COUNT as f64 / cpu::thread_time().saturating_sub(start).as_secs_f64().max(1e-9)
}

/// Millions of rounds a second of the wall's time.
pub(super) fn wall_rate(span: Duration) -> f64 {
    let (start, mut round_count) = (Instant::now(), 0);
    while start.elapsed() < span {
        calculate();
        round_count += ROUND_COUNT;
    }
    round_count as f64 / start.elapsed().as_secs_f64() / 1e6
}

fn calculate() {
    let mut lanes = [1_u64, 2, 3, 4, 5, 6, 7, LANE_COUNT as u64];
    for round in 0..ROUND_COUNT {
        for lane in &mut lanes {
            *lane = lane.rotate_left(7).wrapping_add(*lane) ^ round;
        }
        lanes = black_box(lanes);
    }
}
