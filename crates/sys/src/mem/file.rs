//! A file mapped for reading, for content too large to keep in memory.
//!
//! No `&[u8]` of it is ever handed out: another process may write to the file at any moment, and a Rust
//! reference promises that nobody does. Bytes leave by copying, and what is copied is whatever the file held
//! then. Invariant: a copy never reaches beyond the length that the file had when it was mapped.
//!
//! A file that is *truncated* while it is mapped raises SIGBUS on access to what is gone (mmap(2)). Replace
//! served files by rename(2), as every good deployment does, and this cannot happen.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// A file could not be mapped.
#[derive(Debug, thiserror::Error)]
#[error("could not map {path} for reading: {source}; it must be a regular, readable file", path = path.display())]
pub struct FileMapError {
    /// Which file.
    pub path: PathBuf,
    /// What the kernel said.
    pub source: io::Error,
}

/// A regular file, mapped read-only and shared with the page cache; unmapped when dropped.
#[derive(Debug)]
pub struct FileMap {
    /// Dangling where `len` is zero: mmap(2) refuses empty mappings.
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread, and is only ever read.
unsafe impl Send for FileMap {}
// SAFETY: as above; concurrent copies out of it do not disturb each other.
unsafe impl Sync for FileMap {}

impl FileMap {
    /// Maps the file at `path` whole.
    ///
    /// Needs the right to read it. Source: mmap(2).
    pub fn open(path: impl AsRef<Path>) -> Result<FileMap, FileMapError> {
        let path = path.as_ref();
        File::open(path)
            .and_then(|file| Self::of(&file))
            .map_err(|source| FileMapError { path: path.to_owned(), source })
    }

    /// Maps an open regular file whole; the file may be closed afterwards.
    pub fn of(file: &File) -> io::Result<FileMap> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let len = usize::try_from(metadata.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        if len == 0 {
            return Ok(FileMap { base: NonNull::dangling(), len });
        }
        // SAFETY: a fresh mapping at an address of the kernel's choice touches no existing memory.
        let address = unsafe {
            libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        Ok(FileMap { base: super::mapped(address)?, len })
    }

    /// Bytes in the file when it was mapped.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the file was empty when it was mapped.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies what the file holds from `offset` on into `destination`; returns how many bytes that were,
    /// fewer than asked at the end of the file.
    #[inline]
    pub fn copy_to(&self, offset: usize, destination: &mut [u8]) -> usize {
        let count = destination.len().min(self.len.saturating_sub(offset));
        if count == 0 {
            return 0;
        }
        // SAFETY: `offset + count <= len`, so the source lies in the mapping; a private `&mut` cannot
        // overlap it, since the mapping is never lent out. A racing writer changes which bytes are copied,
        // never where.
        unsafe {
            std::ptr::copy_nonoverlapping(self.base.as_ptr().add(offset), destination.as_mut_ptr(), count);
        }
        count
    }

    /// Tells the kernel that `len` bytes from `offset` on will be read soon, so that it fetches them from
    /// disk meanwhile. Best effort. Source: madvise(2), MADV_WILLNEED.
    pub fn will_need(&self, offset: usize, len: usize) {
        let start = offset.min(self.len) & !4095;
        let len = len.min(self.len - start);
        if len > 0 {
            // SAFETY: the range lies in the mapping and starts on a page; the advice changes no content.
            unsafe { libc::madvise(self.base.as_ptr().add(start).cast(), len, libc::MADV_WILLNEED) };
        }
    }
}

impl Drop for FileMap {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: the range was mapped by `of` and is unmapped once, here.
            unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
        }
    }
}
