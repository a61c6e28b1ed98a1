//! Why a library or a file of it cannot be had.

use std::io;
use std::path::PathBuf;

/// A library could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The root cannot be read.
    #[error("cannot serve {root}: {source}; name a directory that this user may read", root = root.display())]
    Root {
        /// Which.
        root: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The loader's thread or its means of being woken could not be made.
    #[error("cannot start the loader: {0}; raise the limit on threads or open files")]
    Loader(io::Error),
}

/// A file could not be loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoadError {
    /// It is not there any more.
    #[error("the file is gone")]
    Gone,
    /// This user may not read it, or it leads out of the root.
    #[error("the file may not be read")]
    Denied,
    /// It was being rewritten at each attempt.
    #[error("the file keeps changing")]
    Unsettled,
    /// The process has as many files open as it may.
    #[error("too many files are open; raise the limit on open files")]
    Exhausted,
    /// Reading failed otherwise.
    #[error("the file cannot be read: {0}")]
    Failed(io::ErrorKind),
}

/// EMFILE and ENFILE of errno(3), the same on each architecture of Linux; `io::ErrorKind` has no name for
/// them.
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;
/// EXDEV: openat2(2) would have left the root.
const EXDEV: i32 = 18;
/// ELOOP: more links than the kernel follows.
const ELOOP: i32 = 40;

impl From<io::Error> for LoadError {
    fn from(error: io::Error) -> Self {
        match (error.raw_os_error(), error.kind()) {
            (Some(EMFILE | ENFILE), _) => Self::Exhausted,
            (Some(EXDEV | ELOOP), _) | (_, io::ErrorKind::PermissionDenied) => Self::Denied,
            (_, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Self::Gone,
            (_, kind) => Self::Failed(kind),
        }
    }
}
