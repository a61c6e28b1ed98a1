//! Internet checksum arithmetic (RFC 1071), whole and incremental (RFC 1624).
//!
//! A [`Sum`] is a ones' complement sum that is not yet folded or inverted. Sums add: the sum of a
//! packet is the sum of its parts, which is why a payload's sum can be computed once, when the
//! response is prepared, and a header's added when it is sent. A part that starts at an odd offset
//! contributes its bytes swapped ([`Sum::at_offset`]).
//!
//! Invariant: `Sum` holds a value congruent, modulo 0xffff, to the big-endian 16-bit words' sum.

use core::ops::{Add, AddAssign};

/// An unfolded ones' complement sum of big-endian 16-bit words.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Sum(u32);

impl Sum {
    /// The sum of nothing.
    pub const ZERO: Self = Self(0);

    /// The sum of `bytes`, the first of them at an even offset. An odd last byte is padded with zero.
    #[inline]
    pub fn of(bytes: &[u8]) -> Self {
        Self(u32::from(fold64(sum_native(bytes)).swap_bytes_if_little()))
    }

    /// The sum of one 16-bit word in host order.
    pub const fn of_u16(word: u16) -> Self {
        Self(word as u32)
    }

    /// The sum of one 32-bit word in host order.
    pub const fn of_u32(word: u32) -> Self {
        Self((word >> 16) + (word & 0xffff))
    }

    /// This sum as it counts when its bytes start at `offset` of the packet (RFC 1071 section 2 (B)).
    pub const fn at_offset(self, offset: usize) -> Self {
        if offset & 1 == 0 { self } else { Self(self.fold().swap_bytes() as u32) }
    }

    /// The sum folded into 16 bits.
    pub const fn fold(self) -> u16 {
        let once = (self.0 >> 16) + (self.0 & 0xffff);
        ((once >> 16) + (once & 0xffff)) as u16
    }

    /// The checksum field: the complement of the folded sum.
    pub const fn finish(self) -> u16 {
        !self.fold()
    }

    /// The checksum field of a UDP datagram, where zero means "none" and is sent as all ones (RFC 768).
    pub const fn finish_udp(self) -> u16 {
        match self.finish() {
            0 => 0xffff,
            sum => sum,
        }
    }

    /// Whether a packet whose parts, checksum field included, give this sum is intact.
    pub const fn is_valid(self) -> bool {
        self.fold() == 0xffff
    }

    /// This sum without a part that had the sum `part`.
    #[must_use]
    pub const fn without(self, part: Self) -> Self {
        Self(self.fold() as u32 + !part.fold() as u32)
    }
}

impl Add for Sum {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        let (sum, carry) = self.0.overflowing_add(other.0);
        // The carry is worth 2^32, which is 1 modulo 0xffff.
        Self(sum.wrapping_add(carry as u32))
    }
}

impl AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// The checksum field `check` after one 16-bit word it covers went from `old` to `new`
/// (RFC 1624 equation 3).
pub const fn update(check: u16, old: u16, new: u16) -> u16 {
    Sum((!check as u32) + (!old as u32) + new as u32).finish()
}

/// The sum of native-endian words, as 64-bit partial sums: byte order is put right once at the end.
#[inline]
fn sum_native(bytes: &[u8]) -> u64 {
    let mut lanes = [0u64; 4];
    let mut blocks = bytes.chunks_exact(16);
    for block in &mut blocks {
        // Four independent 32-bit lanes: the compiler turns this into vector adds.
        for (lane, word) in lanes.iter_mut().zip(block.chunks_exact(4)) {
            *lane += u64::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
        }
    }
    lanes.iter().sum::<u64>() + sum_tail(blocks.remainder())
}

/// The sum of fewer than sixteen bytes: eight, four, two and one, as many of them as there are.
#[inline]
fn sum_tail(mut bytes: &[u8]) -> u64 {
    let mut sum = 0;
    if let Some((word, rest)) = bytes.split_first_chunk::<8>() {
        let word = u64::from_ne_bytes(*word);
        sum += (word >> 32) + (word & 0xffff_ffff);
        bytes = rest;
    }
    if let Some((word, rest)) = bytes.split_first_chunk::<4>() {
        sum += u64::from(u32::from_ne_bytes(*word));
        bytes = rest;
    }
    if let Some((word, rest)) = bytes.split_first_chunk::<2>() {
        sum += u64::from(u16::from_ne_bytes(*word));
        bytes = rest;
    }
    match bytes {
        [last, ..] => sum + u64::from(u16::from_ne_bytes([*last, 0])),
        [] => sum,
    }
}

/// A 64-bit sum folded into 16 bits.
#[inline]
const fn fold64(sum: u64) -> Folded {
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    Folded(sum as u16)
}

/// A folded sum whose bytes are in memory order.
struct Folded(u16);

impl Folded {
    const fn swap_bytes_if_little(self) -> u16 {
        self.0.to_be()
    }
}

#[cfg(test)]
#[path = "checksum_tests.rs"]
mod tests;
