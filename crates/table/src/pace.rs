//! Paces flows by rate: each flow's items leave one by one, the next when the last has had its time on a wire of
//! the flow's rate.
//!
//! ```text
//!   slots    [ ][f3][ ][ ][f1 f7][ ] ...     a calendar of 65,536 slots, a flow stands in one at most
//!   flow     f1: departure, remainder, rate    -> [item]->[item]->[item]   its queue, bounded
//! ```
//!
//! A departure is the one before plus `len / rate`, and what the division leaves is carried to the next, so that a
//! flow that always has something to send is never off by more than a nanosecond, however long it runs. It counts
//! from when an item was due, not from when `poll` was called: a late poll is made up for. A flow that had nothing
//! to send starts anew, without a burst. Every call is O(1) an item; occupied slots are found by their bits.
//!
//! Not `base::Wheel`: that one has ticks of a millisecond and fires all that is due at once, in any order.
//!
//! Invariant: no item leaves before its departure; it leaves in the first `poll` at or after the slot in which
//! its departure lies is over.

use core::num::NonZeroU64;
use thiserror::Error;
use tidegate_base::{Duration, Instant};

const SLOT_COUNT: usize = 1 << 16;
const WORD_COUNT: usize = SLOT_COUNT / 64;
const SUMMARY_COUNT: usize = WORD_COUNT / 64;
/// Bits times nanoseconds a second: what a byte costs at one bit a second.
const NS_PER_BYTE_AT_1_BIT_PER_S: u64 = 8 * 1_000_000_000;
/// No flow, or no item.
const NONE: u32 = u32::MAX;

/// How much a pacer holds.
#[derive(Clone, Copy, Debug)]
pub struct PacerLimits {
    /// Flows, numbered from 0.
    pub flow_count: usize,
    /// Items that wait, of all flows together.
    pub queued_max: usize,
    /// Items that wait, of one flow.
    pub queued_max_a_flow: usize,
    /// How fine departures are told apart. The calendar reaches 65,535 slots ahead; what leaves later is looked at
    /// when that is over.
    pub slot: Duration,
}

/// Why a pacer does not do something.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PaceError {
    /// Slots without a length.
    #[error("slots of no length: give one of about 1 us")]
    Slot,
    /// More flows or items than can be numbered.
    #[error("{count} flows or items: a pacer takes {}", u32::MAX - 1)]
    TooMany {
        /// How many were asked for.
        count: usize,
    },
    /// A flow's number that is not below the limit.
    #[error("no flow {flow}: the pacer has {count}, numbered from 0")]
    NoSuchFlow {
        /// The flow.
        flow: u32,
        /// How many there are.
        count: usize,
    },
    /// A flow whose rate was never set.
    #[error("flow {flow} has no rate: set it first")]
    NoRate {
        /// The flow.
        flow: u32,
    },
    /// A flow's queue is full.
    #[error("flow {flow} has {max} items waiting, as many as it may")]
    FlowFull {
        /// The flow.
        flow: u32,
        /// The limit.
        max: usize,
    },
    /// All queues together are full.
    #[error("{max} items wait, as many as may")]
    Full {
        /// The limit.
        max: usize,
    },
}

/// An item that was not taken, and why.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused<T> {
    /// The item.
    pub item: T,
    /// Why not.
    pub why: PaceError,
}

#[derive(Clone)]
struct Flow {
    rate: Option<NonZeroU64>,
    /// When the first item may leave.
    departure: Instant,
    /// What the last division left, in byte costs at one bit a second; below the rate.
    remainder: u64,
    /// The first and last item that wait.
    first: u32,
    last: u32,
    queued: u32,
    /// The flow behind it in its slot.
    next: u32,
    is_in_slot: bool,
}

impl Flow {
    const IDLE: Self = Self {
        rate: None,
        departure: Instant::ZERO,
        remainder: 0,
        first: NONE,
        last: NONE,
        queued: 0,
        next: NONE,
        is_in_slot: false,
    };

    /// An item of `len` bytes has left: the next may leave when it has had its time.
    #[inline]
    fn advance(&mut self, len: u32) {
        let Some(rate) = self.rate else { return };
        let cost = u64::from(len).saturating_mul(NS_PER_BYTE_AT_1_BIT_PER_S).saturating_add(self.remainder);
        self.departure += Duration::from_nanos(cost / rate);
        self.remainder = cost % rate;
    }
}

struct Waiting<T> {
    item: Option<T>,
    len: u32,
    next: u32,
}

#[derive(Clone, Copy)]
struct Slot {
    first: u32,
    last: u32,
}

/// Items of type `T` that wait until their flow may send.
pub struct Pacer<T> {
    flows: Vec<Flow>,
    waiting: Vec<Waiting<T>>,
    /// The first unused place in `waiting`, linked through `next`.
    free: u32,
    slots: Box<[Slot]>,
    /// A bit for each slot with a flow in it, and a bit for each word with a bit.
    occupied: Box<[u64; WORD_COUNT]>,
    summary: [u64; SUMMARY_COUNT],
    /// The tick that was polled last. A tick is a slot's length; tick `t` has slot `t % 65,536`.
    current: u64,
    queued: usize,
    in_slots: usize,
    limits: PacerLimits,
}

impl<T> Pacer<T> {
    /// A pacer without items. Its memory is all made here.
    pub fn new(limits: PacerLimits) -> Result<Self, PaceError> {
        if limits.slot == Duration::ZERO {
            return Err(PaceError::Slot);
        }
        for count in [limits.flow_count, limits.queued_max] {
            if count >= NONE as usize {
                return Err(PaceError::TooMany { count });
            }
        }
        let next = |index: usize| if index + 1 < limits.queued_max { index as u32 + 1 } else { NONE };
        let waiting = (0..limits.queued_max).map(|index| Waiting { item: None, len: 0, next: next(index) });
        Ok(Self {
            flows: vec![Flow::IDLE; limits.flow_count],
            waiting: waiting.collect(),
            free: if limits.queued_max == 0 { NONE } else { 0 },
            slots: vec![Slot { first: NONE, last: NONE }; SLOT_COUNT].into_boxed_slice(),
            occupied: Box::new([0; WORD_COUNT]),
            summary: [0; SUMMARY_COUNT],
            current: 0,
            queued: 0,
            in_slots: 0,
            limits,
        })
    }

    /// How many items wait.
    pub const fn len(&self) -> usize {
        self.queued
    }

    /// Whether nothing waits.
    pub const fn is_empty(&self) -> bool {
        self.queued == 0
    }

    /// How many items of `flow` wait.
    pub fn queued(&self, flow: u32) -> usize {
        self.flows.get(flow as usize).map_or(0, |flow| flow.queued as usize)
    }

    /// A flow's rate, if it has one.
    pub fn rate(&self, flow: u32) -> Option<NonZeroU64> {
        self.flows.get(flow as usize)?.rate
    }

    /// Sets a flow's rate, from the item on that leaves after the one under way.
    pub fn set_rate(&mut self, flow: u32, bits_per_s: NonZeroU64) -> Result<(), PaceError> {
        let count = self.flows.len();
        let state = self.flows.get_mut(flow as usize).ok_or(PaceError::NoSuchFlow { flow, count })?;
        state.rate = Some(bits_per_s);
        state.remainder = 0;
        Ok(())
    }

    /// Queues `item` of `len` bytes. It leaves at once, in the next `poll`, if its flow has had time for those before.
    #[inline]
    pub fn enqueue(&mut self, flow: u32, item: T, len: u32, now: Instant) -> Result<(), Refused<T>> {
        if let Some(why) = self.why_not(flow) {
            return Err(Refused { item, why });
        }
        self.append(flow, item, len);
        let state = &mut self.flows[flow as usize];
        if !state.is_in_slot {
            if state.departure < now {
                (state.departure, state.remainder) = (now, 0);
            }
            if self.in_slots == 0 {
                self.current = self.current.max(self.tick(now));
            }
            self.schedule(flow, now);
        }
        Ok(())
    }

    /// Hands out what may leave at `now`, `budget` items at most, in the order of their slots. Returns how many.
    pub fn poll(&mut self, now: Instant, budget: usize, emit: &mut dyn FnMut(u32, T)) -> usize {
        let last = self.tick(now);
        let mut emitted = 0;
        while let Some(tick) = self.first_tick()
            && tick <= last
        {
            self.current = tick;
            if emitted == budget {
                return emitted;
            }
            let flow = self.take_first(tick as usize % SLOT_COUNT);
            emitted += usize::from(self.depart(flow, now, emit));
        }
        self.current = self.current.max(last);
        emitted
    }

    /// Nothing leaves before this; `None` if nothing waits.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.first_tick().map(|tick| Instant::ZERO + self.limits.slot.saturating_mul(tick))
    }

    /// All items that wait, in no order, to be changed.
    pub fn items_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.waiting.iter_mut().filter_map(|place| place.item.as_mut())
    }

    /// Throws out what waits of `flow`, each to `gone`.
    pub fn clear(&mut self, flow: u32, gone: &mut dyn FnMut(T)) {
        while self.flows.get(flow as usize).is_some_and(|state| state.queued != 0) {
            if let Some((item, _)) = self.pop(flow) {
                gone(item);
            }
        }
    }

    #[inline]
    fn why_not(&self, flow: u32) -> Option<PaceError> {
        let PacerLimits { queued_max, queued_max_a_flow, .. } = self.limits;
        let Some(state) = self.flows.get(flow as usize) else {
            return Some(PaceError::NoSuchFlow { flow, count: self.flows.len() });
        };
        if state.rate.is_none() {
            return Some(PaceError::NoRate { flow });
        }
        if state.queued as usize >= queued_max_a_flow {
            return Some(PaceError::FlowFull { flow, max: queued_max_a_flow });
        }
        (self.free == NONE).then_some(PaceError::Full { max: queued_max })
    }

    /// Puts an item behind the others of its flow. There is room.
    #[inline]
    fn append(&mut self, flow: u32, item: T, len: u32) {
        let at = self.free;
        let place = &mut self.waiting[at as usize];
        self.free = place.next;
        *place = Waiting { item: Some(item), len, next: NONE };
        let state = &mut self.flows[flow as usize];
        match state.queued {
            0 => state.first = at,
            _ => self.waiting[state.last as usize].next = at,
        }
        state.last = at;
        state.queued += 1;
        self.queued += 1;
    }

    /// Takes the first item of a flow, and its length.
    #[inline]
    fn pop(&mut self, flow: u32) -> Option<(T, u32)> {
        let state = &mut self.flows[flow as usize];
        let at = state.first;
        let place = self.waiting.get_mut(at as usize)?;
        let item = place.item.take()?;
        let len = place.len;
        state.first = core::mem::replace(&mut place.next, self.free);
        state.queued -= 1;
        self.free = at;
        self.queued -= 1;
        Some((item, len))
    }

    /// Lets a flow that was taken from its slot send an item, if it may, and puts it into its next slot.
    #[inline]
    fn depart(&mut self, flow: u32, now: Instant, emit: &mut dyn FnMut(u32, T)) -> bool {
        if self.flows[flow as usize].queued == 0 {
            return false;
        }
        let may_leave = self.flows[flow as usize].departure <= now;
        if may_leave && let Some((item, len)) = self.pop(flow) {
            self.flows[flow as usize].advance(len);
            emit(flow, item);
        }
        if self.flows[flow as usize].queued != 0 {
            self.schedule(flow, now);
        }
        may_leave
    }

    /// Puts a flow into the slot of its departure, or into the last that the calendar has.
    #[inline]
    fn schedule(&mut self, flow: u32, now: Instant) {
        let departure = self.flows[flow as usize].departure;
        let slot_ns = self.limits.slot.as_nanos();
        let tick = match departure <= now {
            true => departure.as_nanos() / slot_ns,
            false => departure.as_nanos().div_ceil(slot_ns),
        };
        let slot = tick.clamp(self.current, self.current + SLOT_COUNT as u64 - 1) as usize % SLOT_COUNT;
        let state = &mut self.flows[flow as usize];
        (state.next, state.is_in_slot) = (NONE, true);
        match self.slots[slot].last {
            NONE => self.slots[slot].first = flow,
            before => self.flows[before as usize].next = flow,
        }
        self.slots[slot].last = flow;
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.summary[slot / 4096] |= 1 << (slot / 64 % 64);
        self.in_slots += 1;
    }

    /// Takes the first flow from an occupied slot.
    #[inline]
    fn take_first(&mut self, slot: usize) -> u32 {
        let flow = self.slots[slot].first;
        let state = &mut self.flows[flow as usize];
        state.is_in_slot = false;
        self.slots[slot].first = state.next;
        self.in_slots -= 1;
        if state.next == NONE {
            self.slots[slot].last = NONE;
            self.occupied[slot / 64] &= !(1 << (slot % 64));
            if self.occupied[slot / 64] == 0 {
                self.summary[slot / 4096] &= !(1 << (slot / 64 % 64));
            }
        }
        flow
    }

    #[inline]
    fn tick(&self, at: Instant) -> u64 {
        at.as_nanos() / self.limits.slot.as_nanos()
    }

    /// The first tick from the current one on whose slot is occupied.
    #[inline]
    fn first_tick(&self) -> Option<u64> {
        let start = self.current as usize % SLOT_COUNT;
        let slot = self.first_occupied(start).or_else(|| self.first_occupied(0))?;
        Some(self.current + (slot.wrapping_sub(start) % SLOT_COUNT) as u64)
    }

    /// The first occupied slot from `start` on, without turning round.
    #[inline]
    fn first_occupied(&self, start: usize) -> Option<usize> {
        let bits = self.occupied[start / 64] & (u64::MAX << (start % 64));
        if bits != 0 {
            return Some(start / 64 * 64 + bits.trailing_zeros() as usize);
        }
        let word = start / 64 + 1;
        let mut part = word / 64;
        let mut marks = self.summary.get(part)? & (u64::MAX << (word % 64));
        while marks == 0 {
            part += 1;
            marks = *self.summary.get(part)?;
        }
        let word = part * 64 + marks.trailing_zeros() as usize;
        Some(word * 64 + self.occupied[word].trailing_zeros() as usize)
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
