//! A number that one thread counts and others read.
//!
//! Not a shared counter: with two writers counts would be lost. Each worker has its own, and who shows them adds
//! them up.

use core::sync::atomic::{AtomicU64, Ordering};

/// A number that one thread adds to and others read.
#[derive(Default, Debug)]
pub struct Tally(AtomicU64);

impl Tally {
    /// Adds `n`. A load and a store, no locked instruction: there is one writer.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    /// The number now.
    #[inline]
    pub fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
