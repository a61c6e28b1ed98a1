//! A file that can be asked for, in each coding it has, and what of it is in memory.
//!
//! ```text
//!                 request           loaded
//!      unloaded ----------> queued ---------> loaded (full answer, 304 answer)
//!          ^                                     |
//!          +------- evicted, memory short -------+
//! ```
//!
//! A document stands for one version of its files. When one changes, the catalogue gets a new document; who
//! holds the old one, or what was loaded of it, keeps it whole.

use super::encoding::Encoding;
use crate::prepared::Prepared;
use arc_swap::ArcSwapOption;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a file's directory entry says of a version of it: where its validators come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileMeta {
    /// Bytes in it.
    pub size: u64,
    /// When its content changed last, in seconds since 1970-01-01 00:00 UTC.
    pub modified_secs: i64,
    /// And nanoseconds in that second.
    pub modified_nanos: u32,
    /// The file's number in its file system.
    pub inode: u64,
}

impl FileMeta {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            size: metadata.size(),
            modified_secs: metadata.mtime(),
            modified_nanos: metadata.mtime_nsec() as u32,
            inode: metadata.ino(),
        }
    }
}

/// A variant in memory, or open to be streamed.
#[derive(Debug)]
pub struct Loaded {
    /// The version that was loaded; it may be newer than what the catalogue knew.
    pub meta: FileMeta,
    /// The answer with the body.
    pub full: Arc<Prepared>,
    /// The answer to whoever has this version already (RFC 9110 section 15.4.5).
    pub not_modified: Arc<Prepared>,
}

/// One coding of a document.
#[derive(Debug)]
pub struct Variant {
    /// Which.
    pub encoding: Encoding,
    /// Its file as it was when it was found.
    pub meta: FileMeta,
    loaded: ArcSwapOption<Loaded>,
    was_used: AtomicBool,
}

impl Variant {
    pub(crate) fn new(encoding: Encoding, meta: FileMeta) -> Self {
        Self { encoding, meta, loaded: ArcSwapOption::empty(), was_used: AtomicBool::new(false) }
    }

    /// What is loaded of it and still whole. Counts as a use.
    #[inline]
    pub fn loaded(&self) -> Option<Arc<Loaded>> {
        let loaded = self.loaded.load_full().filter(|loaded| loaded.full.is_intact());
        // Written only where it changes: the flag's cache line is shared between workers.
        if loaded.is_some() && !self.was_used.load(Ordering::Relaxed) {
            self.was_used.store(true, Ordering::Relaxed);
        }
        loaded
    }

    pub(crate) fn set_loaded(&self, loaded: Arc<Loaded>) {
        self.loaded.store(Some(loaded));
    }

    /// Forgets what is loaded, unless it was used since it was last asked this or is under way now: then
    /// forgetting it would free nothing. True if it forgot.
    pub(crate) fn try_forget(&self) -> bool {
        let is_idle = |loaded: &Arc<Loaded>| Arc::strong_count(&loaded.full) == 1;
        let was_used = self.was_used.swap(false, Ordering::Relaxed);
        let may_go = !was_used && self.loaded.load().as_ref().is_none_or(is_idle);
        if may_go {
            self.loaded.store(None);
        }
        may_go
    }
}

/// A file and the precompressed ones beside it.
#[derive(Debug)]
pub struct Document {
    path: Box<[u8]>,
    variants: Box<[Variant]>,
}

impl Document {
    /// `variants` holds at least the one that is not encoded, and that one first.
    pub(crate) fn new(path: Box<[u8]>, variants: Box<[Variant]>) -> Self {
        Self { path, variants }
    }

    /// Its path below the root, without a leading slash.
    pub const fn path(&self) -> &[u8] {
        &self.path
    }

    /// The codings it has, the plain one first.
    pub const fn variants(&self) -> &[Variant] {
        &self.variants
    }

    /// The variant in that coding.
    pub fn variant(&self, encoding: Encoding) -> Option<&Variant> {
        self.variants.iter().find(|v| v.encoding == encoding)
    }

    /// Whether the files that were found now are those it was made of.
    pub(crate) fn is_same(&self, found: &[Variant]) -> bool {
        let key = |v: &Variant| (v.encoding, v.meta);
        self.variants.iter().map(key).eq(found.iter().map(key))
    }
}
