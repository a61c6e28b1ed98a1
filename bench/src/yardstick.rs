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
/// How long the processor is waited for, in all, unless told.
pub(crate) const PATIENCE: Duration = Duration::from_secs(150);
const PAUSE: Duration = Duration::from_millis(20);

/// The yardstick, and the best that it has seen.
#[derive(Debug)]
pub(crate) struct Yardstick {
    /// The processor; none: the one that the caller is on.
    core: Option<usize>,
    best: f64,
    patience: Duration,
    /// Turns that counted, and those that did not.
    pub(crate) kept_count: usize,
    pub(crate) repeated_count: usize,
}

impl Yardstick {
    /// Of the processor that the caller is on.
    pub(crate) fn new() -> Self {
        Self::of(None, PATIENCE)
    }

    /// Of a processor, waited for so long in all.
    pub(crate) fn of(core: Option<usize>, patience: Duration) -> Self {
        Self { core, best: best_of(LOOK_COUNT, core), patience, kept_count: 0, repeated_count: 0 }
    }

    /// What it had to do, for below a table.
    pub(crate) fn words(&self) -> String {
        let Self { kept_count, repeated_count, .. } = self;
        let all = kept_count + repeated_count;
        format!(
            "{repeated_count} of {all} measurements were repeated because the processor was held back meanwhile."
        )
    }

    /// What `turn` measures while the processor is fast, before and after; whatever it measures, once patience is over.
    pub(crate) fn measure<T>(&mut self, mut turn: impl FnMut() -> T) -> T {
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
        let now = best_of(2, self.core);
        self.best = self.best.max(now);
        now >= self.best * (1.0 - SLACK)
    }
}

/// The best of some looks; 0 where the processor cannot be had, so that nothing waits for it.
fn best_of(look_count: usize, core: Option<usize>) -> f64 {
    let best = || (0..look_count).map(|_| rate()).fold(0.0, f64::max);
    let Some(core) = core else { return best() };
    // A thread of its own: the caller stays where it is.
    let there = || cpu::pin_current_thread(core).map_or(0.0, |()| best());
    std::thread::scope(|scope| scope.spawn(there).join().unwrap_or(0.0))
}

/// Rounds a second of this thread's time.
fn rate() -> f64 {
    let start = cpu::thread_time();
    calculate();
    ROUND_COUNT as f64 / cpu::thread_time().saturating_sub(start).as_secs_f64().max(1e-9)
}

/// Millions of rounds a second of the wall's time.
pub(crate) fn wall_rate(span: Duration) -> f64 {
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
