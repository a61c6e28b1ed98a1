//! From a hash to the line of an entry: one cache line a look.
//!
//! ```text
//!   Bucket, 64 octets:  | 8 tags, 16 bits of the hash each | 8 lines | whether any went on |
//! ```
//! An entry is in the bucket that its hash names or, where that is full, in one of the next few; a bucket that
//! sent an entry further says so, so that a look ends at the first that did not. Its size is fixed when it is
//! made: growing would halt a worker for as long as it takes.
//!
//! Invariant: a line is in at most one place; an empty place has line zero, so lines are kept plus one.

use super::area;
use tidegate_sys::mem::Area;
use zerocopy::{FromZeros, KnownLayout};

/// Places in a bucket.
const WIDTH: usize = 8;
/// Buckets that a look goes through at most.
const REACH: usize = 4;
/// Of a hundred places, how many are meant to be taken.
const LOAD_PERCENT: usize = 60;

#[derive(FromZeros, KnownLayout)]
#[repr(C, align(64))]
struct Bucket {
    /// Four tags a word, the first in the low bits.
    tags: [u64; 2],
    lines: [u32; WIDTH],
    /// An entry that this bucket's hash names is further on, or once was.
    sent_on: bool,
}

impl Bucket {
    /// The top bit of each sixteen whose place has this tag; of a few others too, and of empty places: a
    /// candidate is looked at before it is believed.
    #[inline]
    const fn matches(&self, tag: u16) -> u128 {
        let [low, high] = self.tags;
        equal_lanes(low, tag) as u128 | (equal_lanes(high, tag) as u128) << 64
    }

    const fn set_tag(&mut self, place: usize, tag: u16) {
        let shift = 16 * (place % 4);
        let word = &mut self.tags[place / 4 % 2];
        *word = *word & !(0xffff << shift) | (tag as u64) << shift;
    }
}

/// The top bit of each sixteen of `lanes` that equal `tag`. Above one that does, a lane that differs by one may be
/// taken for equal.
#[inline]
const fn equal_lanes(lanes: u64, tag: u16) -> u64 {
    const EACH: u64 = 0x0001_0001_0001_0001;
    let difference = lanes ^ (tag as u64 * EACH);
    difference.wrapping_sub(EACH) & !difference & (0x8000 * EACH)
}

/// All buckets.
pub(crate) struct Index {
    buckets: Area<Bucket>,
    mask: usize,
}

impl Index {
    /// An index for about `entry_count` entries, or for as many as it can have in `byte_count_max` bytes.
    pub(crate) fn new(entry_count: usize, byte_count_max: usize) -> Self {
        let place_count = entry_count.max(1).saturating_mul(100) / LOAD_PERCENT;
        let bucket_count = place_count.div_ceil(WIDTH).next_power_of_two();
        let bucket_count_max = (byte_count_max / size_of::<Bucket>()).max(1).ilog2();
        let buckets = area(bucket_count.min(1 << bucket_count_max).max(REACH));
        Self { mask: buckets.len() - 1, buckets }
    }

    /// Bytes that it takes.
    pub(crate) fn byte_count(&self) -> usize {
        size_of_val(&*self.buckets)
    }

    /// Asks for the bucket of `hash`.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        tidegate_packet::prefetch(&self.buckets[self.home(hash)]);
    }

    /// The lines of entries that may have this hash.
    #[inline]
    pub(crate) fn candidates(&self, hash: u64) -> Candidates<'_> {
        let at = self.home(hash);
        let bucket = &self.buckets[at];
        Candidates { index: self, tag: tag(hash), at, hops: 0, bits: bucket.matches(tag(hash)) }
    }

    /// Notes that the entry at `line` has this hash. False if all places are taken.
    pub(crate) fn insert(&mut self, hash: u64, line: u32) -> bool {
        let home = self.home(hash);
        for hop in 0..REACH {
            let at = (home + hop) & self.mask;
            if let Some(place) = self.buckets[at].lines.iter().position(|line| *line == 0) {
                self.buckets[at].set_tag(place, tag(hash));
                self.buckets[at].lines[place] = line + 1;
                return true;
            }
            self.buckets[at].sent_on = true;
        }
        false
    }

    /// Forgets the entry at `line`.
    pub(crate) fn remove(&mut self, hash: u64, line: u32) {
        let home = self.home(hash);
        for hop in 0..REACH {
            let bucket = &mut self.buckets[(home + hop) & self.mask];
            if let Some(place) = bucket.lines.iter().position(|found| *found == line + 1) {
                bucket.lines[place] = 0;
                return;
            }
        }
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        hash as usize & self.mask
    }
}

/// The bits of a hash that choose no bucket.
#[inline]
const fn tag(hash: u64) -> u16 {
    (hash >> 48) as u16
}

/// A look under way.
pub(crate) struct Candidates<'a> {
    index: &'a Index,
    tag: u16,
    at: usize,
    hops: usize,
    bits: u128,
}

impl Iterator for Candidates<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        loop {
            while self.bits != 0 {
                let place = self.bits.trailing_zeros() as usize / 16;
                self.bits &= self.bits - 1;
                let line = self.index.buckets[self.at].lines[place % WIDTH];
                if line != 0 {
                    return Some(line - 1);
                }
            }
            self.hops += 1;
            if !self.index.buckets[self.at].sent_on || self.hops >= REACH {
                return None;
            }
            self.at = (self.at + 1) & self.index.mask;
            self.bits = self.index.buckets[self.at].matches(self.tag);
        }
    }
}
