//! `Range: bytes=...` (RFC 9110 section 14).
//!
//! Invariant: the ranges that come out are inside the representation, not empty, in the order they were
//! asked for, and apart by at least one byte.

use arrayvec::ArrayVec;

/// The most ranges that are answered one by one; a request for more gets the whole
/// (RFC 9110 section 14.2: a server may ignore many small or overlapping ranges).
pub const RANGE_COUNT_MAX: usize = 16;

/// Bytes `start..end` of a representation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByteRange {
    /// The first byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
}

impl ByteRange {
    /// How many bytes.
    pub const fn len(&self) -> u64 {
        self.end - self.start
    }

    /// Whether no byte lies between the two.
    const fn touches(&self, other: &Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    fn union(&self, other: &Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Whether there are none; never so for a range that came out of [`parse`].
    pub const fn is_empty(&self) -> bool {
        self.start >= self.end
    }
}

/// What a `Range` field asks of a representation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ranges {
    /// It is malformed, in another unit, or too much: answered as if it were not there.
    Ignored,
    /// Well-formed, and nothing of it exists: 416.
    Unsatisfiable,
    /// These parts, at least one.
    Parts(ArrayVec<ByteRange, RANGE_COUNT_MAX>),
}

/// Reads a field value against a representation of `len` bytes.
pub fn parse(value: &[u8], len: u64) -> Ranges {
    let Some(set) = strip_unit(value) else { return Ranges::Ignored };
    let mut parts = ArrayVec::<ByteRange, RANGE_COUNT_MAX>::new();
    let mut spec_count = 0;
    for spec in set.split(|&b| b == b',').map(<[u8]>::trim_ascii).filter(|spec| !spec.is_empty()) {
        spec_count += 1;
        match parse_spec(spec, len) {
            None => return Ranges::Ignored,
            Some(range) if range.is_empty() => {}
            Some(range) if parts.try_push(range).is_ok() => {}
            Some(_) => return Ranges::Ignored,
        }
    }
    match (spec_count, parts.is_empty()) {
        (0, _) => Ranges::Ignored,
        (_, true) => Ranges::Unsatisfiable,
        (_, false) => Ranges::Parts(coalesce(parts)),
    }
}

// RFC 9110 section 14.1: unit names are case-insensitive.
fn strip_unit(value: &[u8]) -> Option<&[u8]> {
    let (unit, set) = value.split_at_checked(6)?;
    unit.eq_ignore_ascii_case(b"bytes=").then_some(set)
}

/// `None` for what is no range; an empty range for one that lies behind the end.
fn parse_spec(spec: &[u8], len: u64) -> Option<ByteRange> {
    let dash = spec.iter().position(|&b| b == b'-')?;
    let (first, last) = (&spec[..dash], &spec[dash + 1..]);
    if first.is_empty() {
        let suffix_len = number(last)?;
        return Some(ByteRange { start: len.saturating_sub(suffix_len), end: len });
    }
    let start = number(first)?;
    let last = if last.is_empty() { u64::MAX } else { number(last)? };
    // RFC 9110 section 14.1.1: invalid if the last position is below the first.
    (start <= last).then(|| ByteRange { start: start.min(len), end: last.saturating_add(1).min(len) })
}

/// A decimal number; one too large for a `u64` lies behind any end all the same.
fn number(digits: &[u8]) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let push = |n: u64, &d: &u8| n.saturating_mul(10).saturating_add(u64::from(d - b'0'));
    is_number.then(|| digits.iter().fold(0, push))
}

// RFC 9110 section 15.3.7.2: ranges that overlap or touch may be sent as one, otherwise in the order of
// the request.
fn coalesce(parts: ArrayVec<ByteRange, RANGE_COUNT_MAX>) -> ArrayVec<ByteRange, RANGE_COUNT_MAX> {
    let mut merged = ArrayVec::<ByteRange, RANGE_COUNT_MAX>::new();
    for mut part in parts {
        let mut place = merged.len();
        while let Some(at) = merged.iter().position(|other| part.touches(other)) {
            part = part.union(&merged.remove(at));
            place = place.min(at);
        }
        merged.insert(place, part);
    }
    merged
}
