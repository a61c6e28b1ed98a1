//! Where a daemon pins what is to outlive it: a directory in a bpf file system that it has alone.
//!
//! Invariant: while a [`PinRoot`] lives, no other process has one of that directory; the kernel gives it up with its process.
//! So what is found pinned there is nobody's.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use tidegate_bpf::{PinDirectory, PinError};
use tidegate_sys::file_system;

/// Why a directory is not to be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PinRootError {
    /// What is pinned must be in a file system of the kernel's for that.
    #[error(
        "{} is in no bpf file system, and what outlives the daemon is pinned in one: type mount -t bpf bpf /sys/fs/bpf, or \
         name a directory in one with --pins (`ip netns exec` hides it: enter with nsenter --net=/run/netns/NAME)",
        .0.display()
    )]
    NoBpf(PathBuf),
    /// Another daemon has it.
    #[error(
        "another daemon has what is pinned in {}: stop that one, or give this one a directory of its own with --pins",
        .0.display()
    )]
    Taken(PathBuf),
    /// The file system refused.
    #[error(
        "could not use {} for pins: {source}; it takes root, and no name there has a dot",
        path.display()
    )]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// What the kernel returned.
        source: io::Error,
    },
}

/// The directory.
#[derive(Debug)]
pub(crate) struct PinRoot {
    path: PathBuf,
    /// Locked (flock(2)).
    _held: File,
}

impl PinRoot {
    /// Takes the directory, which is made if it is missing.
    pub(crate) fn claim(path: PathBuf) -> Result<Self, PinRootError> {
        let unusable = |source| PinRootError::Unusable { path: path.clone(), source };
        let absolute = std::path::absolute(&path).map_err(unusable)?;
        // Looked at first, so that nothing is made in another file system.
        let existing = absolute.ancestors().find(|it| it.exists()).unwrap_or(Path::new("/"));
        if !file_system::is_bpf(existing).map_err(unusable)? {
            return Err(PinRootError::NoBpf(path));
        }
        fs::create_dir_all(&absolute).map_err(unusable)?;
        let held = File::open(&absolute).map_err(unusable)?;
        match held.try_lock() {
            Ok(()) => Ok(Self { path: absolute, _held: held }),
            Err(TryLockError::WouldBlock) => Err(PinRootError::Taken(path)),
            Err(TryLockError::Error(source)) => Err(unusable(source)),
        }
    }

    /// Where what is on the device `name` is pinned.
    pub(crate) fn of(&self, name: &str) -> Result<PinDirectory, PinError> {
        PinDirectory::under(&self.path, name)
    }
}
