//! Small numbers for things that workers keep tables of, so that a look-up is an index and not a hash.
//!
//! Invariant: no two indexes that exist at the same time are equal, and they stay below the most that ever
//! existed at once.

use std::sync::{Mutex, MutexGuard, PoisonError};

static FREED: Mutex<Indexes> = Mutex::new(Indexes { freed: Vec::new(), taken_count: 0 });

struct Indexes {
    freed: Vec<u32>,
    taken_count: u32,
}

fn indexes() -> MutexGuard<'static, Indexes> {
    FREED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number that is this value's alone as long as it lives.
#[derive(Debug)]
pub(crate) struct DenseIndex(u32);

impl DenseIndex {
    pub(crate) fn take() -> Self {
        let mut all = indexes();
        Self(all.freed.pop().unwrap_or_else(|| {
            all.taken_count += 1;
            all.taken_count - 1
        }))
    }

    #[inline]
    pub(crate) const fn as_usize(&self) -> usize {
        self.0 as usize
    }
}

impl Drop for DenseIndex {
    fn drop(&mut self) {
        indexes().freed.push(self.0);
    }
}
