//! Ready answers: the sections behind a question, found by that question.
//!
//! ```text
//!   key (name, type, DNSSEC wanted) --hash--> index: a bucket --line--> arena: an entry --> Sections, Sum
//! ```
//! It holds what the answer engine wrote, and is filled as questions come or from the zones beforehand
//! ([`crate::udp::beforehand`]). It belongs to one worker and to one generation of the zones: when they change, it is
//! emptied between two bursts.
//!
//! Not here: what an answer is (`answer`), and how it gets into a frame (`udp`).
//!
//! Invariant: the store never takes more than its budget, and what it gives is what was put in, octet by octet.

mod arena;
mod entry;
mod index;
mod joints;
mod key;
#[cfg(test)]
mod tests;

use arena::Arena;
pub(crate) use entry::Ready;
pub use entry::Sections;
use index::Index;
pub(crate) use joints::{Joints, write as write_common};
pub(crate) use key::{Key, NAME_LEN_MAX, NAME_WORD_COUNT_MAX, NameWords};
use std::alloc::{Layout, handle_alloc_error};
use tidegate_sys::mem::Area;
use zerocopy::FromZeros;

/// Sections longer than this are not kept: few answers are so long, and none goes over UDP unasked (RFC 9715).
pub(crate) const SECTIONS_LEN_MAX: usize = 4096;

/// How much a store may take, and how much is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreSize {
    /// Bytes at most, for entries and their index together; 16 KiB are the least.
    pub byte_count_max: usize,
    /// Entries expected: questions that have an answer worth keeping.
    pub entry_count: usize,
}

/// Bytes of a small entry.
const ENTRY_LEN: usize = 2 * entry::LINE_LEN;
/// Bytes of the index for an entry, if it is as large as it may be.
const PLACE_LEN: usize = 27;
/// Entries that are reckoned with at least: zones grow.
const ENTRY_COUNT_MIN: usize = 1 << 12;
/// What part of the budget is the index's at most.
const INDEX_SHARE: usize = 4;

impl StoreSize {
    /// For the answers to be had from `rrset_count` record sets, each with and without DNSSEC records, as many as
    /// fit `byte_count_max`.
    pub fn of_rrsets(byte_count_max: usize, rrset_count: usize) -> Self {
        let fitting_count = byte_count_max / (ENTRY_LEN + PLACE_LEN);
        let entry_count = rrset_count.saturating_mul(2).max(ENTRY_COUNT_MIN).min(fitting_count);
        Self { byte_count_max, entry_count }
    }

    /// Bytes that such answers from `rrset_count` record sets take, if they are small.
    pub(crate) const fn byte_count_of(rrset_count: usize) -> usize {
        rrset_count.saturating_mul(2 * ENTRY_LEN)
    }
}

/// How often a store did what, and what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreCounters {
    /// Entries now.
    pub entry_count: u64,
    /// Answers found.
    pub hit_count: u64,
    /// Questions without a ready answer.
    pub miss_count: u64,
    /// Entries made before anybody asked.
    pub filled_count: u64,
    /// Entries that gave way to others.
    pub evicted_count: u64,
    /// Answers that found no room.
    pub declined_count: u64,
    /// Bytes taken.
    pub byte_count: u64,
}

/// A worker's ready answers.
pub struct Store {
    size: StoreSize,
    index: Index,
    arena: Arena,
    /// The memory of what was thrown away, until all of it is given back.
    retired: Vec<Arena>,
    seed: u64,
    counters: StoreCounters,
}

impl Store {
    /// An empty store. `seed` is random and secret: whoever asks must not know which names collide.
    pub fn new(size: StoreSize, seed: u64) -> Self {
        let index = Index::new(size.entry_count, size.byte_count_max / INDEX_SHARE);
        let arena = Arena::new(size.byte_count_max.saturating_sub(index.byte_count()));
        Self { size, index, arena, retired: Vec::new(), seed, counters: StoreCounters::default() }
    }

    /// Throws everything away.
    pub(crate) fn clear(&mut self) {
        let Self { index, arena, .. } = Self::new(self.size, self.seed);
        self.index = index;
        self.retired.push(std::mem::replace(&mut self.arena, arena));
        self.counters.entry_count = 0;
    }

    /// Goes on with what `filled` holds, which is of the same zones and has the same seed.
    pub(crate) fn replace(&mut self, filled: Self) {
        let Self { size, index, arena, counters, .. } = filled;
        self.size = size;
        self.index = index;
        self.retired.push(std::mem::replace(&mut self.arena, arena));
        self.counters.entry_count = counters.entry_count;
        self.counters.filled_count += counters.filled_count;
    }

    /// Gives a piece of the memory back that [`Store::clear`] left.
    #[inline]
    pub(crate) fn shrink_retired(&mut self) {
        if let Some(arena) = self.retired.last_mut()
            && !arena.shrink()
        {
            self.retired.pop();
        }
    }

    /// Bytes that entries may take.
    pub(crate) fn entry_byte_count_max(&self) -> usize {
        self.arena.byte_count_max()
    }

    /// What it holds and did.
    pub fn counters(&self) -> StoreCounters {
        let byte_count = self.arena.byte_count() + self.index.byte_count();
        StoreCounters { byte_count: byte_count as u64, ..self.counters }
    }

    /// What keys of this store are hashed with.
    #[inline]
    pub(crate) const fn seed(&self) -> u64 {
        self.seed
    }

    /// First of three steps of a look: asks for the index's part.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        self.index.prefetch(hash);
    }

    /// Second step: asks for the entry, if there may be one.
    #[inline]
    pub(crate) fn prefetch_entry(&self, hash: u64) {
        if let Some(line) = self.index.candidates(hash).next() {
            let octets = self.arena.at(line);
            tidegate_packet::prefetch(octets);
            // Most entries end in their second line.
            tidegate_packet::prefetch(octets.get(entry::LINE_LEN..).unwrap_or(octets));
        }
    }

    /// Last step: the answer ready for `key`, whose name is `words`.
    #[inline]
    pub(crate) fn find(&mut self, key: &Key, words: &NameWords) -> Option<Ready<'_>> {
        let words = words.get(..key.word_count())?;
        let Some(line) = self.locate(key, words) else {
            self.counters.miss_count += 1;
            return None;
        };
        self.counters.hit_count += 1;
        entry::read(self.arena.at_mut(line), line)
    }

    /// The line of what the family of `key` has in common, if it is there.
    #[inline]
    pub(crate) fn locate_common(&mut self, key: &Key, words: &NameWords) -> Option<u32> {
        let line = self.locate(key, words.get(..key.word_count())?)?;
        self.counters.hit_count += 1;
        Some(line)
    }

    /// What begins in `line`, and how it is joined to a question.
    #[inline]
    pub(crate) fn common_at(&mut self, line: u32) -> Option<(Ready<'_>, Joints<'_>)> {
        let ready = entry::read(self.arena.at_mut(line), line)?;
        let (octets, joints) = Joints::split(ready.sections.octets)?;
        Some((Ready { sections: Sections { octets, ..ready.sections }, ..ready }, joints))
    }

    #[inline]
    fn locate(&self, key: &Key, words: &[u64]) -> Option<u32> {
        self.index.candidates(key.hash).find(|&line| entry::is_for(self.arena.at(line), key, words))
    }

    /// Keeps `sections` as the answer to `key`; the line it begins in. `None` if they are too long or room is short.
    pub(crate) fn insert(&mut self, key: &Key, words: &NameWords, sections: &Sections<'_>) -> Option<u32> {
        let words = words.get(..key.word_count())?;
        if sections.octets.len() > SECTIONS_LEN_MAX || self.locate(key, words).is_some() {
            return None;
        }
        let line = self.try_insert(key, words, sections);
        self.counters.entry_count += u64::from(line.is_some());
        self.counters.declined_count += u64::from(line.is_none());
        line
    }

    /// Keeps `sections` beforehand, in memory that nothing was in. False if there is none left.
    pub(crate) fn fill(&mut self, key: &Key, words: &NameWords, sections: &Sections<'_>) -> bool {
        let Some(words) = words.get(..key.word_count()) else { return false };
        if sections.octets.len() > SECTIONS_LEN_MAX || self.locate(key, words).is_some() {
            return true;
        }
        let line_count = entry::line_count(usize::from(key.name_len), sections.octets.len());
        let Some(line) = self.arena.alloc_unused(line_count) else { return false };
        let is_kept = self.put(line, key, words, sections).is_some();
        self.counters.entry_count += u64::from(is_kept);
        self.counters.filled_count += u64::from(is_kept);
        is_kept
    }

    fn try_insert(&mut self, key: &Key, words: &[u64], sections: &Sections<'_>) -> Option<u32> {
        let Self { index, arena, counters, .. } = self;
        let mut evict = |hash, line| {
            index.remove(hash, line);
            counters.evicted_count += 1;
            counters.entry_count -= 1;
        };
        let line_count = entry::line_count(usize::from(key.name_len), sections.octets.len());
        let line = arena.alloc(line_count, &mut evict)?;
        self.put(line, key, words, sections).map(|()| line)
    }

    /// Writes an entry to the lines from `line` on, which are its own.
    fn put(&mut self, line: u32, key: &Key, words: &[u64], sections: &Sections<'_>) -> Option<()> {
        let Self { index, arena, .. } = self;
        entry::write(arena.at_mut(line), key, words, sections)?;
        if !index.insert(key.hash, line) {
            arena.free(line);
            return None;
        }
        Some(())
    }
}

/// `count` zeroed values, or fewer, halved as often as it takes, if there are no addresses for so many.
fn area<T: FromZeros>(count: usize) -> Area<T> {
    let mut sizes = std::iter::successors(Some(count.max(1)), |size| Some(size / 2).filter(|size| *size > 0));
    sizes.find_map(|size| Area::zeroed(size).ok()).unwrap_or_else(|| handle_alloc_error(Layout::new::<T>()))
}
