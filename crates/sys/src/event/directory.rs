//! Watching single directories, not what lies below them: for files that are known by name.
//!
//! Which of them changed is for whoever knows them to find out: their directory entries tell.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::WatchError;
use crate::syscall::{check, check_fd, check_len};

/// What may make a name stand for other content. A file that is still being written is reported when its writer
/// closes it; links, when they are made or turned.
const MASK: u32 = libc::IN_CREATE
    | libc::IN_CLOSE_WRITE
    | libc::IN_MOVED_FROM
    | libc::IN_MOVED_TO
    | libc::IN_DELETE
    | libc::IN_ONLYDIR;

/// A watch on any number of directories.
#[derive(Debug)]
pub struct DirectoryWatch {
    inotify: OwnedFd,
}

impl DirectoryWatch {
    /// A watch on nothing yet. Needs no capability. Source: inotify(7).
    pub fn new() -> io::Result<DirectoryWatch> {
        // SAFETY: takes no pointers.
        let inotify = check_fd(unsafe { libc::inotify_init1(libc::IN_CLOEXEC | libc::IN_NONBLOCK) })?;
        Ok(DirectoryWatch { inotify })
    }

    /// Watches `directory` as well; once, however often it is named. Needs the right to read it.
    pub fn add(&self, directory: &Path) -> Result<(), WatchError> {
        let add = || {
            let path = CString::new(directory.as_os_str().as_bytes())?;
            // SAFETY: `path` is a C string that lives for the length of the call.
            check(unsafe { libc::inotify_add_watch(self.inotify.as_raw_fd(), path.as_ptr(), MASK) })
        };
        add().map(drop).map_err(|source| WatchError { path: directory.to_owned(), source })
    }

    /// Whether anything changed since the last call; does not wait.
    pub fn take_changes(&self) -> io::Result<bool> {
        let mut buffer = [0_u8; 16 << 10];
        let mut has_changed = false;
        loop {
            // SAFETY: `buffer` is valid for writes of its length.
            let read =
                unsafe { libc::read(self.inotify.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
            match check_len(read) {
                Ok(0) => return Ok(has_changed),
                Ok(_) => has_changed = true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(has_changed),
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for DirectoryWatch {
    /// Readable when something has changed.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn files_that_come_change_or_turn_are_reported_and_deeper_ones_are_not() {
        let root = std::env::temp_dir().join(format!("tidegate-directory-watch-{}", std::process::id()));
        fs::create_dir_all(root.join("below")).expect("a temporary directory");
        let watch = DirectoryWatch::new().expect("inotify");
        watch.add(&root).expect("it is there");
        assert!(!watch.take_changes().expect("readable"));
        fs::write(root.join("zone"), "one").expect("written");
        assert!(watch.take_changes().expect("readable"));
        fs::write(root.join("below/zone"), "one").expect("written");
        assert!(!watch.take_changes().expect("readable"));
        fs::rename(root.join("below/zone"), root.join("zone")).expect("moved");
        assert!(watch.take_changes().expect("readable"));
        assert!(
            watch.add(Path::new("/absent")).expect_err("it is not there").to_string().contains("/absent")
        );
        fs::remove_dir_all(&root).expect("its own");
    }
}
