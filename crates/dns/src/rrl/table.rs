//! The buckets of a rate limit, shared by the workers of a server.
//!
//! ```text
//!   | tag of the hash, 24 bits | when the bucket is full again, 40 bits, in ticks of 64 ns |      eight a cache line
//! ```
//! A bucket that runs out is empty of what the time to `full` is worth (GCRA). Taking a token is one exchange
//! of one word; what is refused writes nothing, so a flood that hits all workers has them read one line
//! together and write it no more often than its limit says.
//!
//! Workers read their clocks once a round, so that one may come with a time before that of the token taken last. An
//! empty bucket then seems to be full later than a bucket could be; it is empty all the same. Times wrap after 19 hours:
//! what seems to be full later than [`LAG_TICKS`] explain, is full.
//!
//! Invariant: the table has its size from the start. A new bucket takes the place of the fullest one of its set:
//! who is being limited is forgotten last.

use std::sync::atomic::{AtomicU64, Ordering};
use tidegate_base::Instant;

/// Buckets of a set: as many as fit a cache line.
const WAYS: usize = 8;
/// Nanoseconds of a tick.
const TICK_NS: u64 = 64;
const TIME_BITS: u32 = 40;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;
/// How far one worker's time may be behind another's: longer than a thread is kept from its processor.
const LAG_TICKS: u64 = 2_000_000_000 / TICK_NS;
/// How often a worker tries while others change the same bucket.
const TRIES: usize = 8;

/// So many tokens a second, of which a full bucket has one second's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rate {
    /// Ticks until a token is back; 0: no limit.
    token: u64,
    /// Ticks until an empty bucket is full.
    bucket: u64,
}

impl Rate {
    /// 0 is no limit. Rounded so that it is never exceeded, but that no limit is below one token a tick.
    pub(super) fn per_second(count: u32) -> Self {
        let token = match u64::from(count) {
            0 => 0,
            count => (1_000_000_000 / TICK_NS).div_ceil(count),
        };
        Self { token, bucket: token * u64::from(count) }
    }

    pub(super) const fn is_limit(self) -> bool {
        self.token != 0
    }
}

/// A set of buckets.
#[repr(align(64))]
#[derive(Default)]
struct Set([AtomicU64; WAYS]);

/// All buckets.
pub(super) struct Table(Box<[Set]>);

impl Table {
    /// With at least `bucket_count` full buckets.
    pub(super) fn new(bucket_count: usize) -> Self {
        let set_count = bucket_count.div_ceil(WAYS).clamp(1, 1 << 30).next_power_of_two();
        Self((0..set_count).map(|_| Set::default()).collect())
    }

    /// Takes a token from the bucket of `hash`; false if there is none.
    #[inline]
    pub(super) fn take(&self, now: Instant, hash: u64, rate: Rate) -> bool {
        // The low bits say which set, the high ones which of its buckets.
        let (tag, now) = (hash & !TIME_MASK, (now.as_nanos() / TICK_NS) & TIME_MASK);
        let Set(set) = &self.0[hash as usize & (self.0.len() - 1)];
        for _ in 0..TRIES {
            let (bucket, seen) = find(set, tag, now);
            let debt = if seen & !TIME_MASK == tag { debt(seen, now, rate.bucket + LAG_TICKS) } else { 0 };
            if debt + rate.token > rate.bucket {
                return false;
            }
            let next = tag | ((now + debt + rate.token) & TIME_MASK);
            if bucket.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return true;
            }
        }
        // Others take from it at the same moment, again and again: nothing is lost with this one.
        false
    }
}

/// The bucket with that tag, or the fullest one, and what it held.
#[inline]
fn find(set: &[AtomicU64; WAYS], tag: u64, now: u64) -> (&AtomicU64, u64) {
    let held = set.each_ref().map(|bucket| bucket.load(Ordering::Relaxed));
    let way = held
        .iter()
        .position(|held| held & !TIME_MASK == tag)
        .unwrap_or_else(|| (0..WAYS).min_by_key(|way| debt(held[*way], now, TIME_MASK / 2)).unwrap_or(0));
    (&set[way], held[way])
}

/// Ticks until the bucket is full; what would be more than `debt_max` is none.
#[inline]
const fn debt(held: u64, now: u64, debt_max: u64) -> u64 {
    let debt = held.wrapping_sub(now) & TIME_MASK;
    if debt <= debt_max { debt } else { 0 }
}
