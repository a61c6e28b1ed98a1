//! What a table is written into: words that others read at the same time.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::layout::{PAGE_LEN, PAGE_WORDS};

/// Pages of 64 KiB of zeroed words, shared with readers who see each word whole.
///
/// Whoever writes a table is alone in that. Readers write too, but only numbers of hits, and zeros over generations and tickets.
pub trait Memory {
    /// How many pages there are.
    fn page_count(&self) -> usize;

    /// The word at `at`, 0 where there is none. What was written before it was is seen behind this (acquire).
    fn load(&self, at: usize) -> u64;

    /// Puts a word at `at`, if there is a place; behind all that was written before (release).
    fn store(&self, at: usize, word: u64);

    /// Puts `new` at `at` if `old` is there; whether it was. In one order with what readers put there.
    fn replace(&self, at: usize, old: u64, new: u64) -> bool;

    /// Waits until no reader uses what was found in the table before; false where that cannot be known.
    fn quiesce(&self) -> bool;
}

/// Memory of this process alone: for tables that are made before they have a place, and for tests.
#[derive(Debug)]
pub struct HeapMemory {
    words: Vec<AtomicU64>,
}

impl HeapMemory {
    /// So many pages of zeros.
    pub fn new(page_count: usize) -> Self {
        let mut words = Vec::new();
        words.resize_with(page_count * PAGE_WORDS, AtomicU64::default);
        Self { words }
    }

    /// Bytes held.
    pub fn byte_count(&self) -> usize {
        self.words.len() / PAGE_WORDS * PAGE_LEN
    }
}

impl Memory for HeapMemory {
    fn page_count(&self) -> usize {
        self.words.len() / PAGE_WORDS
    }

    #[inline]
    fn load(&self, at: usize) -> u64 {
        self.words.get(at).map_or(0, |word| word.load(Ordering::Acquire))
    }

    #[inline]
    fn store(&self, at: usize, word: u64) {
        if let Some(place) = self.words.get(at) {
            place.store(word, Ordering::Release);
        }
    }

    fn replace(&self, at: usize, old: u64, new: u64) -> bool {
        self.words
            .get(at)
            .is_some_and(|place| place.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_ok())
    }

    /// Its readers borrow it, and none of them keeps a place that it found.
    fn quiesce(&self) -> bool {
        true
    }
}

impl<M: Memory + ?Sized> Memory for &M {
    fn page_count(&self) -> usize {
        (**self).page_count()
    }
    fn load(&self, at: usize) -> u64 {
        (**self).load(at)
    }
    fn store(&self, at: usize, word: u64) {
        (**self).store(at, word);
    }
    fn replace(&self, at: usize, old: u64, new: u64) -> bool {
        (**self).replace(at, old, new)
    }
    fn quiesce(&self) -> bool {
        (**self).quiesce()
    }
}
