//! The allocator of our programs: the system's, with the advice to lay what is long on huge pages.
//!
//! ```text
//!   block                                               block + len
//!    | ... |<- huge page ->|<- huge page ->| ... |          advice for the whole ones only
//! ```
//! Tables of routes and flows are boxes and vectors of many MiB, read at random: on small pages each read meets a TLB
//! miss beside the cache miss. Transparent huge pages have no limit to raise and none to run out of; where the kernel has
//! none to give, memory is as it was. What is shorter than two of them is left alone.

use crate::mem::HUGE_PAGE_SIZE;
use std::alloc::{GlobalAlloc, Layout, System};

/// Blocks of fewer bytes may well hold no whole huge page.
const LONG: usize = 2 * HUGE_PAGE_SIZE;

/// The system's allocator, with that advice: for a program's `#[global_allocator]`.
///
/// Needs no capability. Source: malloc(3), madvise(2).
pub struct Heap;

// SAFETY: every block is the system's allocator's, given out and taken back unchanged; advice changes no content.
unsafe impl GlobalAlloc for Heap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the same.
        advised(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the same.
        advised(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, len: usize) -> *mut u8 {
        // SAFETY: the caller's promise is the same, and the block is the system's.
        advised(unsafe { System.realloc(block, layout, len) }, len)
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is the same, and the block is the system's.
        unsafe { System.dealloc(block, layout) }
    }
}

#[inline]
fn advised(block: *mut u8, len: usize) -> *mut u8 {
    if len >= LONG && !block.is_null() {
        advise(block, len);
    }
    block
}

/// Of a block, which was just given out.
#[cold]
fn advise(block: *mut u8, len: usize) {
    let before = block.align_offset(HUGE_PAGE_SIZE);
    let whole = len.saturating_sub(before) / HUGE_PAGE_SIZE * HUGE_PAGE_SIZE;
    if whole > 0 {
        // SAFETY: the range is inside the block; advice changes no content, and that it fails changes nothing.
        unsafe { libc::madvise(block.wrapping_add(before).cast(), whole, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(len: usize) -> Layout {
        Layout::from_size_align(len, 16).unwrap()
    }

    #[test]
    fn blocks_of_all_lengths_keep_what_is_written_as_they_grow() {
        for len in [1, 4096, LONG - 1, LONG, 5 * LONG + 4711] {
            // SAFETY: layouts are those of the blocks, which are written and read inside only, and freed once.
            unsafe {
                let block = Heap.alloc_zeroed(layout(len));
                assert!(!block.is_null() && block.add(len - 1).read() == 0);
                block.add(len - 1).write(7);
                let grown = Heap.realloc(block, layout(len), 3 * len);
                assert_eq!(grown.add(len - 1).read(), 7);
                Heap.dealloc(grown, layout(3 * len));
            }
        }
    }

    #[test]
    fn a_long_block_is_marked_for_huge_pages() {
        // SAFETY: as above.
        unsafe {
            let block = Heap.alloc(layout(8 * LONG));
            let middle = block.add(4 * LONG).addr();
            assert!(
                flags_at(middle).split_whitespace().any(|flag| flag == "hg"),
                "no advice: {}",
                flags_at(middle)
            );
            Heap.dealloc(block, layout(8 * LONG));
        }
    }

    /// The kernel's flags of the mapping in which `address` is (proc_pid_smaps(5)).
    fn flags_at(address: usize) -> String {
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut is_in = false;
        for line in smaps.lines() {
            if let Some((start, rest)) = line.split_once('-')
                && let Ok(start) = usize::from_str_radix(start, 16)
                && let Some(Ok(end)) = rest.split(' ').next().map(|end| usize::from_str_radix(end, 16))
            {
                is_in = (start..end).contains(&address);
            }
            if is_in && let Some(flags) = line.strip_prefix("VmFlags:") {
                return flags.to_owned();
            }
        }
        String::new()
    }
}
