//! A table in the kernel's memory.

use tidegate_bpf::OffloadTable;

use crate::memory::Memory;

impl Memory for OffloadTable {
    fn page_count(&self) -> usize {
        Self::page_count(self)
    }

    #[inline]
    fn load(&self, at: usize) -> u64 {
        Self::load(self, at)
    }

    #[inline]
    fn store(&self, at: usize, word: u64) {
        Self::store(self, at, word);
    }

    fn replace(&self, at: usize, old: u64, new: u64) -> bool {
        Self::replace(self, at, old, new)
    }

    /// Where the kernel refuses to wait, what rests is not used again: the table fills up, and says so.
    fn quiesce(&self) -> bool {
        Self::quiesce(self).is_ok()
    }
}
