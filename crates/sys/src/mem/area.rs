//! A long table in memory of its own: zero at first, present as far as it was touched, on huge pages where the
//! kernel has them to give.
//!
//! ```text
//!   base                                                    base + len
//!    |<-- touched: present -->|<-- never touched: no memory -->|
//! ```
//! A table that is looked up at random meets a TLB miss beside each cache miss. Huge pages (transparent ones: no
//! limit to raise, none to run out of) do away with most of them.
//!
//! Not for frames: those are lent to the kernel, and must all be present ([`Mapping`](super::Mapping)).

use super::{HUGE_PAGE_SIZE, MapError, PageKind, map_anonymous};
use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use zerocopy::FromZeros;

/// `count` values of `T`, in memory that is theirs alone.
///
/// Invariant: `base` is aligned for `T`, and `len` bytes from it on, which is room for `count` values, are mapped
/// until the drop, and readable and writable by the owner alone.
pub struct Area<T> {
    base: NonNull<T>,
    count: usize,
    len: usize,
}

// SAFETY: an area owns its memory as a box does, so it may go where its values may.
unsafe impl<T: Send> Send for Area<T> {}
// SAFETY: a shared reference gives out shared references to the values only.
unsafe impl<T: Sync> Sync for Area<T> {}

impl<T: FromZeros> Area<T> {
    /// `count` zeroed values. Memory is taken as they are touched; from half a huge page on, by huge pages.
    ///
    /// Needs no capability. Source: mmap(2), madvise(2).
    pub fn zeroed(count: usize) -> Result<Self, MapError> {
        const { assert!(align_of::<T>() <= 4096 && size_of::<T>() > 0 && !std::mem::needs_drop::<T>()) };
        let byte_count = count.checked_mul(size_of::<T>());
        let is_long = byte_count.is_some_and(|byte_count| byte_count >= HUGE_PAGE_SIZE / 2);
        let step = if is_long { HUGE_PAGE_SIZE } else { PageKind::Ordinary.size() };
        let len = byte_count.and_then(|byte_count| byte_count.max(1).checked_next_multiple_of(step));
        let error =
            |source| MapError { len: byte_count.unwrap_or(usize::MAX), pages: PageKind::Ordinary, source };
        let len = len.ok_or_else(|| error(io::Error::from_raw_os_error(libc::ENOMEM)))?;
        let base = if is_long { map_aligned(len) } else { map_anonymous(len, PageKind::Ordinary) };
        Ok(Self { base: base.map_err(error)?.cast(), count, len })
    }
}

impl<T> Area<T> {
    /// Gives the memory of the values from `count` on back, as far as it is whole pages; they are no more.
    pub fn truncate(&mut self, count: usize) {
        if count >= self.count {
            return;
        }
        self.count = count;
        let page = if self.len >= HUGE_PAGE_SIZE { HUGE_PAGE_SIZE } else { PageKind::Ordinary.size() };
        // The last page stays until the drop, so that there is always something mapped.
        let kept = (count * size_of::<T>()).max(1).next_multiple_of(page);
        if kept < self.len {
            // SAFETY: the range is this area's, whole pages, and beyond the values that are left.
            unsafe { libc::munmap(self.base.as_ptr().byte_add(kept).cast(), self.len - kept) };
            self.len = kept;
        }
    }
}

impl<T> Deref for Area<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the invariant: `count` values are mapped, and of zeros or written since by safe code. A type that
        // is `FromZeros`, which `zeroed` asks for, is sound with zeros.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.count) }
    }
}

impl<T> DerefMut for Area<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; `&mut self` makes the borrow exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.count) }
    }
}

impl<T> Drop for Area<T> {
    fn drop(&mut self) {
        // SAFETY: the range is this area's, and unmapped once, here; its values have nothing to drop (`zeroed`).
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// `len` bytes, whole huge pages, at the beginning of one, with the advice to use them.
fn map_aligned(len: usize) -> io::Result<NonNull<u8>> {
    let wide = len.checked_add(HUGE_PAGE_SIZE).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
    let start = map_anonymous(wide, PageKind::Ordinary)?;
    let before = start.align_offset(HUGE_PAGE_SIZE);
    // SAFETY: all within the mapping just made: what lies before the first whole huge page, what lies behind the
    // last, both of which nobody has; and advice about the rest, which changes no content and may fail.
    unsafe {
        let base = start.add(before);
        if before > 0 {
            libc::munmap(start.as_ptr().cast(), before);
        }
        if before < HUGE_PAGE_SIZE {
            libc::munmap(base.add(len).as_ptr().cast(), HUGE_PAGE_SIZE - before);
        }
        libc::madvise(base.as_ptr().cast(), len, libc::MADV_HUGEPAGE);
        Ok(base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_zero_and_keep_what_is_written() {
        for count in [0, 1, 1000, 1 << 19] {
            let mut area = Area::<u64>::zeroed(count).unwrap();
            assert_eq!(area.len(), count);
            assert!(area.iter().all(|value| *value == 0));
            if let Some(last) = area.last_mut() {
                *last = 7;
                assert_eq!(area[count - 1], 7);
            }
        }
    }

    #[test]
    fn a_long_one_begins_with_a_huge_page() {
        let area = Area::<[u8; 64]>::zeroed(100_000).unwrap();
        assert_eq!(area.as_ptr() as usize % HUGE_PAGE_SIZE, 0);
    }

    #[test]
    fn what_is_cut_off_is_given_back_and_the_rest_stays() {
        let mut area = Area::<u64>::zeroed(3 << 18).unwrap();
        area.fill(9);
        area.truncate(1 << 18);
        assert!(area.len() == 1 << 18 && area.iter().all(|value| *value == 9));
        assert_eq!(area.len, 2 << 20);
        area.truncate(0);
        assert!(area.is_empty());
        area.truncate(1);
        assert!(area.is_empty());
    }

    #[test]
    fn too_much_is_an_error() {
        assert!(Area::<u64>::zeroed(usize::MAX / 4).is_err());
        assert!(Area::<u8>::zeroed(usize::MAX - 5000).is_err());
    }
}
