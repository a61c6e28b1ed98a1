//! Where a pool's bytes live.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// A block of memory that a pool may carve into chunks.
///
/// # Safety
/// `base()` must point to `size()` readable and writable bytes, aligned to 4096, that stay at that
/// address and are touched by nobody else for as long as the value lives.
pub unsafe trait Memory: Send {
    /// The first byte.
    fn base(&self) -> NonNull<u8>;
    /// How many bytes there are.
    fn size(&self) -> usize;
}

/// A zeroed block from the heap, for tests and for pools that no kernel shares.
pub struct HeapMemory {
    base: NonNull<u8>,
    layout: Layout,
}

const PAGE_LEN: usize = 4096;

impl HeapMemory {
    /// `size` bytes (at least one), aligned to a page.
    pub fn new(size: usize) -> Self {
        let Ok(layout) = Layout::from_size_align(size.max(1), PAGE_LEN) else {
            handle_alloc_error(Layout::new::<u8>())
        };
        // SAFETY: the layout's size is at least one byte.
        let block = unsafe { alloc_zeroed(layout) };
        let Some(base) = NonNull::new(block) else { handle_alloc_error(layout) };
        Self { base, layout }
    }
}

impl Drop for HeapMemory {
    fn drop(&mut self) {
        // SAFETY: `base` came from `alloc_zeroed` with this very layout and is freed once.
        unsafe { dealloc(self.base.as_ptr(), self.layout) }
    }
}

// SAFETY: the block is owned by this value alone; moving the value to a thread moves the ownership.
unsafe impl Send for HeapMemory {}

// SAFETY: `new` allocated `layout.size()` bytes at `base`, aligned to a page; only `drop` frees them.
unsafe impl Memory for HeapMemory {
    fn base(&self) -> NonNull<u8> {
        self.base
    }
    fn size(&self) -> usize {
        self.layout.size()
    }
}
