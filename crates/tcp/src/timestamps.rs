//! Timestamp values (RFC 7323) and how they compare.

use tidegate_base::{Instant, SeqNumber};

/// A timestamp value as what it behaves like: it wraps, and is older or newer by the sign of the
/// distance (RFC 7323 section 5.2).
pub(crate) const fn stamp(value: u32) -> SeqNumber {
    SeqNumber(value)
}

/// The clock by which the age of TS.Recent is kept, in seconds.
pub(crate) const fn clock_secs(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000_000) as u32
}
