//! Memory from the kernel, on huge pages where there are any: for frame pools ([`Mapping`], present from the start)
//! and for long tables ([`Area`], present as it is used).
//!
//! Not an allocator. A [`Mapping`] is no view of the memory either: it is an address range and the promise that it
//! stays mapped. Who may read or write which part of it, and when, is decided by whoever carves it up
//! (`tidegate-packet`), because the kernel writes to it as well once it is a UMEM.

mod area;
mod hugepage;

pub use area::Area;
pub use hugepage::{HUGE_PAGE_SIZE, HugePageError, RaisedLimit, allow_huge_pages, huge_pages_available};

use std::io;
use std::ptr::NonNull;

/// Memory could not be had.
#[derive(Debug, thiserror::Error)]
#[error("could not map {len} bytes of memory on {pages} pages: {source}; {hint}", hint = self.hint())]
pub struct MapError {
    /// How many bytes were wanted.
    pub len: usize,
    /// On which pages.
    pub pages: PageKind,
    /// What the kernel said.
    pub source: io::Error,
}

impl MapError {
    fn hint(&self) -> &'static str {
        match self.pages {
            PageKind::Huge => "raise vm.nr_overcommit_hugepages or use ordinary pages",
            PageKind::Ordinary => "ask for fewer frames",
        }
    }
}

/// The size of the pages beneath a [`Mapping`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// 2 MiB from the hugetlb pool: a pool of 32 Ki frames takes 32 TLB entries.
    Huge,
    /// 4 KiB, merged by the kernel where transparent huge pages are on.
    Ordinary,
}

impl PageKind {
    /// Bytes a page.
    pub fn size(self) -> usize {
        match self {
            PageKind::Huge => HUGE_PAGE_SIZE,
            PageKind::Ordinary => 4096,
        }
    }
}

impl std::fmt::Display for PageKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            PageKind::Huge => "2 MiB",
            PageKind::Ordinary => "4 KiB",
        })
    }
}

/// Anonymous memory of this process, zeroed, present, page aligned; unmapped when dropped.
///
/// ```text
///   base                                   base + len   (len: whole pages)
///    |<-------------- mapped ------------------>|
/// ```
/// Dropping it while the kernel holds it as a UMEM is sound: the kernel pins the pages on its own.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    len: usize,
    pages: PageKind,
    /// Dropped after the memory was given back.
    _raised: Option<RaisedLimit>,
}

// SAFETY: a mapping belongs to the process, not to a thread, and this type never reads or writes it.
unsafe impl Send for Mapping {}
// SAFETY: as above: shared references give out the address only.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// At least `len` bytes, on huge pages where there are enough of them, otherwise on ordinary ones:
    /// [`pages`](Self::pages) tells. Raises the limit of huge pages for as long as it lives, if it may
    /// ([`allow_huge_pages`]).
    ///
    /// Needs no capability; CAP_SYS_ADMIN, or rather root, to raise the limit. Source: mmap(2).
    pub fn anonymous(len: usize) -> Result<Mapping, MapError> {
        if len >= HUGE_PAGE_SIZE / 2 {
            // Without the right to raise the limit the attempt below tells whether there were enough.
            let raised = allow_huge_pages(len.div_ceil(HUGE_PAGE_SIZE)).unwrap_or_default();
            if let Ok(mut mapping) = Self::on(len, PageKind::Huge) {
                mapping._raised = raised;
                return Ok(mapping);
            }
        }
        Self::on(len, PageKind::Ordinary)
    }

    /// At least `len` bytes (one page at the least) on pages of the given kind, or an error.
    ///
    /// Needs no capability. Source: mmap(2), MAP_HUGETLB and MAP_POPULATE.
    pub fn on(len: usize, pages: PageKind) -> Result<Mapping, MapError> {
        let error = |source| MapError { len, pages, source };
        let rounded = len.max(1).checked_next_multiple_of(pages.size());
        let rounded = rounded.ok_or_else(|| error(io::Error::from_raw_os_error(libc::ENOMEM)))?;
        let base = map_anonymous(rounded, pages).map_err(error)?;
        let mapping = Mapping { base, len: rounded, pages, _raised: None };
        mapping.populate().map_err(error)?;
        Ok(mapping)
    }

    /// Makes all pages present now, so that the data path takes no page faults.
    fn populate(&self) -> io::Result<()> {
        let address = self.base.as_ptr().cast();
        if self.pages == PageKind::Ordinary {
            // SAFETY: the range is this mapping; the advice changes no content. Best effort.
            unsafe { libc::madvise(address, self.len, libc::MADV_HUGEPAGE) };
        }
        // SAFETY: the range is this mapping; prefaulting changes no content.
        let populated = unsafe { libc::madvise(address, self.len, libc::MADV_POPULATE_WRITE) };
        match crate::syscall::check(populated) {
            // Linux before 5.14: the pages come on first touch.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
            other => other.map(drop),
        }
    }

    /// The first byte; valid for reads and writes of [`len`](Self::len) bytes while this lives.
    pub fn as_ptr(&self) -> NonNull<u8> {
        self.base
    }

    /// Bytes mapped: whole pages.
    #[allow(clippy::len_without_is_empty)] // never empty: one page at the least
    pub fn len(&self) -> usize {
        self.len
    }

    /// What the memory lies on.
    pub fn pages(&self) -> PageKind {
        self.pages
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `map_anonymous` and is unmapped once, here.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

// SAFETY: `base` to `base + len` is mapped readable and writable, page aligned, until the drop; the address
// is given out by shared reference only to whoever owns the mapping, here the pool that it is handed to.
unsafe impl tidegate_packet::Memory for Mapping {
    fn base(&self) -> NonNull<u8> {
        self.base
    }
    fn size(&self) -> usize {
        self.len
    }
}

fn map_anonymous(len: usize, pages: PageKind) -> io::Result<NonNull<u8>> {
    let huge = match pages {
        PageKind::Huge => libc::MAP_HUGETLB | libc::MAP_HUGE_2MB,
        PageKind::Ordinary => 0,
    };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | huge;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a fresh mapping at an address of the kernel's choice touches no existing memory.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, -1, 0) };
    mapped(address)
}

/// What mmap(2) returned.
pub(crate) fn mapped(address: *mut libc::c_void) -> io::Result<NonNull<u8>> {
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(address.cast()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))
}

#[cfg(test)]
mod tests;
