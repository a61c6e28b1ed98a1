//! A hierarchical timing wheel: one timer for each `u32` id, armed, moved and disarmed in O(1).
//!
//! ```text
//!  level 0   64 slots of    1 ms   [.][x][.][.] ...     the current 64 ms
//!  level 1   64 slots of   64 ms   [ ][.][x][.] ...     the current  4 s
//!  level 2   64 slots of  4.1 s    ...
//!  level 3   64 slots of  4.4 min  ...
//!  level 4   64 slots of  4.7 h    ...  circular; its last slot is the horizon, some 12 days ahead
//! ```
//!
//! A slot is a doubly linked list through the timers themselves, and a level's 64 occupied bits say
//! which slots to look at, so time that passes without timers costs nothing. A timer moves down a
//! level at most four times. What a timer means is its owner's business: the wheel hands ids back.
//!
//! Invariant: a timer never fires early, except one beyond the horizon, which fires at the horizon so
//! that its owner arms it again; and it fires in the first `expire` at or after its millisecond's end.

use crate::{Duration, Instant};

const SLOTS: usize = 64;
const SLOT_BITS: u32 = SLOTS.trailing_zeros();
const LEVELS: usize = 5;
const NS_PER_TICK: u64 = 1_000_000;
/// The farthest a timer is placed ahead: one turn of the last level less its current slot.
const HORIZON_TICKS: u64 = (SLOTS as u64 - 1) << (SLOT_BITS * (LEVELS as u32 - 1));

/// No timer, or no slot.
const NONE: u32 = u32::MAX;
/// Set in `prev` of a slot's first timer, whose other bits then name the slot.
const IS_HEAD: u32 = 1 << 31;

/// A timer: its place in its slot's list, and the low half of its tick.
#[derive(Clone, Copy)]
struct Timer {
    next: u32,
    /// The timer before it, or the slot with [`IS_HEAD`], or [`NONE`] if it is not armed.
    prev: u32,
    tick: u32,
}

impl Timer {
    const IDLE: Self = Self { next: NONE, prev: NONE, tick: 0 };
}

/// One timer for each id, by deadline. Twelve bytes a timer.
pub struct Wheel {
    timers: Vec<Timer>,
    heads: [u32; SLOTS * LEVELS],
    occupied: [u64; LEVELS],
    /// The first tick that has not been expired.
    current: u64,
    armed_count: usize,
}

impl Wheel {
    /// The highest id that can be armed.
    pub const ID_MAX: u32 = IS_HEAD - 1;

    /// A wheel without timers, at `now`.
    pub fn new(now: Instant) -> Self {
        Self {
            timers: Vec::new(),
            heads: [NONE; SLOTS * LEVELS],
            occupied: [0; LEVELS],
            current: now.as_nanos() / NS_PER_TICK,
            armed_count: 0,
        }
    }

    /// How many timers are armed.
    pub const fn len(&self) -> usize {
        self.armed_count
    }

    /// Whether no timer is armed.
    pub const fn is_empty(&self) -> bool {
        self.armed_count == 0
    }

    /// Whether the timer of `id` is armed.
    pub fn is_armed(&self, id: u32) -> bool {
        self.timers.get(id as usize).is_some_and(|timer| timer.prev != NONE)
    }

    /// Arms the timer of `id` for `at`, or moves it there. [`Instant::FAR_FUTURE`] disarms it. The
    /// memory grows to the highest id seen; an id above [`Wheel::ID_MAX`] is not taken.
    pub fn arm(&mut self, id: u32, at: Instant) {
        if at == Instant::FAR_FUTURE || id > Self::ID_MAX {
            return self.disarm(id);
        }
        let tick = at.as_nanos().div_ceil(NS_PER_TICK).max(self.current);
        let tick = tick.min(self.current + HORIZON_TICKS);
        if self.is_armed(id) {
            if self.timers[id as usize].tick == tick as u32 {
                return;
            }
            self.unlink(id);
        } else {
            self.grow(id);
            self.armed_count += 1;
        }
        self.link(id, tick);
    }

    /// Disarms the timer of `id`; nothing happens if it is not armed.
    pub fn disarm(&mut self, id: u32) {
        if self.is_armed(id) {
            self.unlink(id);
            self.armed_count -= 1;
        }
    }

    /// Calls `fire` with each id whose time has come, and disarms it. The order within a call is not
    /// that of the deadlines.
    pub fn expire(&mut self, now: Instant, fire: &mut dyn FnMut(u32)) {
        let last = now.as_nanos() / NS_PER_TICK;
        while let Some((level, slot, start)) = self.first_slot()
            && start <= last
        {
            self.current = self.current.max(start);
            self.empty_slot(level, slot, fire);
        }
        self.current = self.current.max(last + 1);
    }

    /// No timer fires before this; `None` if none is armed. A lower bound: for a timer far ahead it is
    /// the start of its slot, and an `expire` then brings the timer closer.
    pub fn next_deadline(&self) -> Option<Instant> {
        let (_, _, start) = self.first_slot()?;
        Some(Instant::ZERO + Duration::from_nanos(NS_PER_TICK).saturating_mul(start.max(self.current)))
    }

    fn grow(&mut self, id: u32) {
        if id as usize >= self.timers.len() {
            self.timers.resize(id as usize + 1, Timer::IDLE);
        }
    }

    /// The occupied slot that starts first, as (level, slot of the level, first tick).
    fn first_slot(&self) -> Option<(usize, usize, u64)> {
        let mut first: Option<(usize, usize, u64)> = None;
        for level in (0..LEVELS).filter(|level| self.occupied[*level] != 0) {
            let shift = SLOT_BITS * level as u32;
            let base = self.current >> shift;
            let ahead = self.occupied[level].rotate_right((base % SLOTS as u64) as u32).trailing_zeros();
            let start = (base + u64::from(ahead)) << shift;
            if first.is_none_or(|(_, _, least)| start < least) {
                first = Some((level, (base as usize + ahead as usize) % SLOTS, start));
            }
        }
        first
    }

    /// Takes every timer out of a slot: fires it at level 0, else moves it to a lower level.
    fn empty_slot(&mut self, level: usize, slot: usize, fire: &mut dyn FnMut(u32)) {
        let mut id = core::mem::replace(&mut self.heads[level * SLOTS + slot], NONE);
        self.occupied[level] &= !(1 << slot);
        while id != NONE {
            let timer = core::mem::replace(&mut self.timers[id as usize], Timer::IDLE);
            if level == 0 {
                self.armed_count -= 1;
                fire(id);
            } else {
                let ahead = timer.tick.wrapping_sub(self.current as u32);
                self.link(id, self.current + u64::from(ahead));
            }
            id = timer.next;
        }
    }

    /// The slot for `tick`: the level is that of the highest bit in which it differs from now.
    fn slot_of(&self, tick: u64) -> (usize, usize) {
        let differs = (tick ^ self.current) | 1;
        let level = ((differs.ilog2() / SLOT_BITS) as usize).min(LEVELS - 1);
        (level, (tick >> (SLOT_BITS * level as u32)) as usize % SLOTS)
    }

    fn link(&mut self, id: u32, tick: u64) {
        let (level, slot) = self.slot_of(tick);
        let head = level * SLOTS + slot;
        let next = self.heads[head];
        self.timers[id as usize] = Timer { next, prev: IS_HEAD | head as u32, tick: tick as u32 };
        if next != NONE {
            self.timers[next as usize].prev = id;
        }
        self.heads[head] = id;
        self.occupied[level] |= 1 << slot;
    }

    fn unlink(&mut self, id: u32) {
        let Timer { next, prev, .. } = core::mem::replace(&mut self.timers[id as usize], Timer::IDLE);
        if next != NONE {
            self.timers[next as usize].prev = prev;
        }
        if prev & IS_HEAD == 0 {
            self.timers[prev as usize].next = next;
            return;
        }
        let head = (prev & !IS_HEAD) as usize;
        self.heads[head] = next;
        if next == NONE {
            self.occupied[head / SLOTS] &= !(1 << (head % SLOTS));
        }
    }
}

#[cfg(test)]
#[path = "wheel_tests.rs"]
mod tests;
