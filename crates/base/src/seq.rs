//! TCP sequence numbers: 32 bits that wrap, compared by the sign of their distance.
//!
//! RFC 9293 section 3.4. The order is only meaningful between numbers less than 2^31 apart, so this
//! type is `PartialEq` but deliberately not `Ord`: use [`SeqNumber::before`] and its kin.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A sequence number modulo 2^32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SeqNumber(pub u32);

impl SeqNumber {
    /// Whether this number lies before `other` (SND.UNA < SEG.ACK and the like).
    pub const fn before(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// Whether this number lies before `other` or is it.
    pub const fn at_or_before(self, other: Self) -> bool {
        !other.before(self)
    }

    /// Whether this number lies after `other`.
    pub const fn after(self, other: Self) -> bool {
        other.before(self)
    }

    /// Whether this number lies after `other` or is it.
    pub const fn at_or_after(self, other: Self) -> bool {
        !self.before(other)
    }

    /// Bytes from `earlier` up to this number, modulo 2^32.
    pub const fn since(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// The later of the two.
    pub const fn max(self, other: Self) -> Self {
        if self.before(other) { other } else { self }
    }

    /// The earlier of the two.
    pub const fn min(self, other: Self) -> Self {
        if other.before(self) { other } else { self }
    }
}

impl Add<u32> for SeqNumber {
    type Output = Self;
    fn add(self, n: u32) -> Self {
        Self(self.0.wrapping_add(n))
    }
}

impl AddAssign<u32> for SeqNumber {
    fn add_assign(&mut self, n: u32) {
        *self = *self + n;
    }
}

impl Sub<u32> for SeqNumber {
    type Output = Self;
    fn sub(self, n: u32) -> Self {
        Self(self.0.wrapping_sub(n))
    }
}

/// The signed distance: negative where the left number lies before the right one.
impl Sub for SeqNumber {
    type Output = i32;
    fn sub(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }
}

impl fmt::Debug for SeqNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seq:{}", self.0)
    }
}

#[cfg(test)]
#[path = "seq_tests.rs"]
mod tests;
