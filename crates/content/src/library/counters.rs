//! What the loader did, for whoever wants to see it.

use std::sync::atomic::{AtomicU64, Ordering};

/// How often the loader did what, and how much it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LibraryCounters {
    /// Variants loaded into memory.
    pub loaded_count: u64,
    /// Variants opened to be streamed.
    pub streamed_count: u64,
    /// Loads that failed.
    pub failed_count: u64,
    /// Requests that found the loader's queue full.
    pub refused_count: u64,
    /// Variants forgotten for want of memory.
    pub evicted_count: u64,
    /// Catalogues published because the tree changed.
    pub reloaded_count: u64,
    /// Times the tree could not be watched; changes may have been seen late.
    pub watch_failed_count: u64,
    /// Bytes in memory now.
    pub held_bytes: u64,
    /// Files and directories known now.
    pub entry_count: u64,
}

/// The same, as it is being counted.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) loaded: AtomicU64,
    pub(crate) streamed: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) evicted: AtomicU64,
    pub(crate) reloaded: AtomicU64,
    pub(crate) watch_failed: AtomicU64,
}

impl Tally {
    pub(crate) fn read(&self, held_bytes: u64, entry_count: u64) -> LibraryCounters {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LibraryCounters {
            loaded_count: read(&self.loaded),
            streamed_count: read(&self.streamed),
            failed_count: read(&self.failed),
            refused_count: read(&self.refused),
            evicted_count: read(&self.evicted),
            reloaded_count: read(&self.reloaded),
            watch_failed_count: read(&self.watch_failed),
            held_bytes,
            entry_count,
        }
    }
}

/// Counts one more.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
