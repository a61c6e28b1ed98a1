//! Where the owner of a stack finds its memif: a socket that nobody else can connect to.
//!
//! ```text
//!   mux.memif/SLOT/    root's; closed while the socket is made, then passable
//!              memif   the owner's, 0600
//! ```
//! Invariant: there is no moment at which another user could connect.

use crate::error::{Attempt, Result};
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

const CLOSED: u32 = 0o700;
/// Names below it can be used, not listed.
const PASSABLE: u32 = 0o711;
const OWNERS: u32 = 0o600;

/// A stack's directory. Dropped, it is gone.
#[derive(Debug)]
pub(crate) struct Door {
    directory: PathBuf,
}

impl Door {
    /// Makes the directory of `slot` below `root`, as if there had never been one.
    pub(crate) fn build(root: &Path, slot: u32) -> Result<Self> {
        let directory = root.join(slot.to_string());
        let made = fs::create_dir_all(root)
            .and_then(|()| fs::set_permissions(root, Permissions::from_mode(PASSABLE)))
            .and_then(|()| clear(&directory))
            .and_then(|()| DirBuilder::new().mode(CLOSED).create(&directory));
        made.attempting(|| format!("could not make {}", directory.display()))?;
        Ok(Self { directory })
    }

    /// Where the socket is to be made.
    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.join("memif")
    }

    /// Lets the owner in: the socket is there.
    pub(crate) fn open_for(&self, uid: u32) -> Result<()> {
        let socket = self.socket();
        let opened = fs::set_permissions(&socket, Permissions::from_mode(OWNERS))
            .and_then(|()| chown(&socket, Some(uid), None))
            .and_then(|()| fs::set_permissions(&self.directory, Permissions::from_mode(PASSABLE)));
        opened.attempting(|| format!("could not give {} to user {uid}", socket.display()))
    }
}

impl Drop for Door {
    /// What cannot be removed is found by the next one who makes it.
    fn drop(&mut self) {
        let _ = clear(&self.directory);
    }
}

fn clear(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
