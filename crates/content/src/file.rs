//! A file too large to hold in memory, read as it is sent.
//!
//! Read with pread(2), not mapped: a file that is truncated while it is mapped kills the process on the next
//! access (SIGBUS), and web roots are rewritten by people with editors. A short read is just an error, and a
//! read of 64 KiB costs one system call for some 45 segments.
//!
//! Invariant: bytes that are handed out are those of the version that was opened. After each read the file's
//! size and time of change are compared with the opened ones; a file that was rewritten in place is broken
//! from then on, and a response that needs it ends there. (A file replaced by rename(2) is another inode: the
//! open one stays whole.)

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tidegate_sys::file::will_need;

/// How many bytes of a stream pass between two hints to the kernel.
const ADVICE_LEN: u64 = 1 << 20;

/// An open file of a fixed version.
#[derive(Debug)]
pub(crate) struct StreamedFile {
    file: File,
    id: u64,
    version: Version,
    broken: AtomicBool,
}

/// What changes when a file is written to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Version {
    size: u64,
    changed_secs: i64,
    changed_nanos: i64,
}

impl Version {
    fn of(file: &File) -> io::Result<Self> {
        let meta = file.metadata()?;
        Ok(Self { size: meta.size(), changed_secs: meta.mtime(), changed_nanos: meta.mtime_nsec() })
    }
}

impl StreamedFile {
    pub(crate) fn new(file: File) -> io::Result<Self> {
        static OPENED_COUNT: AtomicU64 = AtomicU64::new(0);
        let id = OPENED_COUNT.fetch_add(1, Ordering::Relaxed);
        Ok(Self { version: Version::of(&file)?, file, id, broken: AtomicBool::new(false) })
    }

    /// How many bytes it had when it was opened.
    pub(crate) const fn len(&self) -> u64 {
        self.version.size
    }

    /// Tells this open file from every other one of the process.
    pub(crate) const fn id(&self) -> u64 {
        self.id
    }

    /// Whether it still is what was opened, as far as has been noticed.
    pub(crate) fn is_intact(&self) -> bool {
        !self.broken.load(Ordering::Relaxed)
    }

    /// Fills `out` with the bytes from `offset` on. False, now and ever after, if the file has changed.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) -> bool {
        let is_good = self.is_intact()
            && self.file.read_exact_at(out, offset).is_ok()
            && Version::of(&self.file).is_ok_and(|now| now == self.version);
        if is_good {
            self.advise(offset, out.len() as u64);
        } else {
            self.broken.store(true, Ordering::Relaxed);
        }
        is_good
    }

    /// Has the kernel fetch what comes next from disk, at the start and each time a stream enters another
    /// stretch, so that a worker seldom waits for a disk.
    fn advise(&self, offset: u64, len: u64) {
        let end = offset + len;
        if offset == 0 || offset / ADVICE_LEN != end / ADVICE_LEN {
            will_need(&self.file, end, 2 * ADVICE_LEN);
        }
    }
}
