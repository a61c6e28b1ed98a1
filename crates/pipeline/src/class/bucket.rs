//! A token bucket without drift: it counts in units of one resource-tick, in which both a tick's income
//! and a run's cost are whole numbers, so nothing is ever rounded.
//!
//! ```text
//!   income   limit          units a tick         limit [1/s] * ticks/s  units a second
//!   cost     ticks_per_s    units a resource unit
//! ```
//!
//! What a run costs is known only after it, so a bucket may be overdrawn by one run; whoever did waits until
//! it is level again. Over any time `t` a class so gets at most `limit * t` + what the bucket holds + one run.
//! A bucket holds `max_burst`, and one recent run in any case: a wake-up that comes late must not cost rate.

use super::tree::Ticks;

pub(super) struct Bucket {
    level: i128,
    /// When `level` was right; none before the first charge.
    updated_at: Option<u64>,
    ticks_per_s: u64,
    limit: u64,
    max_burst: u64,
    /// The largest of the recent runs, fading.
    run_max: u64,
}

impl Bucket {
    pub(super) const fn new(ticks_per_s: u64, limit: u64, max_burst: u64) -> Self {
        Self { level: 0, updated_at: None, ticks_per_s, limit, max_burst, run_max: 0 }
    }

    /// Takes `used` out. If that overdraws it, when it is level again.
    #[inline]
    pub(super) fn charge(&mut self, used: u64, now: Ticks) -> Option<Ticks> {
        if self.limit == 0 {
            return None;
        }
        self.run_max = used.max(self.run_max - self.run_max / 64);
        self.refill(now);
        self.level = self.level.saturating_sub(product(used, self.ticks_per_s));
        self.level_at()
    }

    /// When an overdrawn bucket is level again; none if it is not overdrawn.
    #[inline]
    pub(super) fn level_at(&self) -> Option<Ticks> {
        if self.level >= 0 || self.limit == 0 {
            return None;
        }
        let debt = self.level.unsigned_abs();
        let wait = match u64::try_from(debt) {
            Ok(debt) => debt.div_ceil(self.limit),
            Err(_) => u64::try_from(debt.div_ceil(u128::from(self.limit))).unwrap_or(u64::MAX),
        };
        Some(Ticks(self.updated_at.unwrap_or(0).saturating_add(wait)))
    }

    /// Another limit from the last charge on; debts and savings stay.
    pub(super) fn set_limit(&mut self, limit: u64, max_burst: u64) {
        (self.limit, self.max_burst) = (limit, max_burst);
    }

    /// Empty and without debt, as for another resource.
    pub(super) fn clear(&mut self) {
        (self.level, self.run_max) = (0, 0);
    }

    #[inline]
    fn refill(&mut self, now: Ticks) {
        let since = self.updated_at.unwrap_or(now.0);
        let income = product(now.0.saturating_sub(since), self.limit);
        let held_max = product(self.max_burst.max(self.run_max), self.ticks_per_s);
        self.level = self.level.saturating_add(income).min(held_max);
        self.updated_at = Some(since.max(now.0));
    }
}

#[inline]
fn product(a: u64, b: u64) -> i128 {
    i128::try_from(u128::from(a) * u128::from(b)).unwrap_or(i128::MAX)
}
