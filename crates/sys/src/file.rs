//! Opening files that a remote peer named, and reading large ones ahead of need.
//!
//! A path that is checked first and opened then can be changed in between. Here the kernel itself refuses to
//! leave the directory, at each step of the walk, links included.
//!
//! Invariant: a file that [`Directory::open`] returns lay below the directory while it was opened.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::syscall::check_fd;

/// A directory beyond which nothing is opened.
#[derive(Debug)]
pub struct Directory {
    fd: OwnedFd,
    real: PathBuf,
}

impl Directory {
    /// Opens the directory at `path`; links in `path` itself are followed.
    ///
    /// Needs the right to read and search it. Source: open(2), O_DIRECTORY.
    pub fn new(path: impl AsRef<Path>) -> io::Result<Directory> {
        let real = path.as_ref().canonicalize()?;
        let c_path = CString::new(real.as_os_str().as_bytes())?;
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
        // SAFETY: `c_path` is a C string that lives for the length of the call.
        let fd = check_fd(unsafe { libc::open(c_path.as_ptr(), flags) })?;
        Ok(Directory { fd, real })
    }

    /// Its path, links resolved, as it was when it was opened.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// Opens the file at `path` below for reading. Links are followed as long as they stay inside, also
    /// absolute ones. What leads outside is `EXDEV` or `PermissionDenied`; a pipe does not block.
    ///
    /// Source: openat2(2), RESOLVE_BENEATH.
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let path = path.as_ref();
        match self.open_beneath(path, 0) {
            // RESOLVE_BENEATH refuses any absolute link: see where it leads, and go there without links.
            Err(error) if error.raw_os_error() == Some(libc::EXDEV) => {
                let real = self.real.join(path).canonicalize()?;
                let inside = real.strip_prefix(&self.real).map_err(|_| error)?;
                self.open_beneath(inside, libc::RESOLVE_NO_SYMLINKS)
            }
            other => other,
        }
    }

    fn open_beneath(&self, path: &Path, resolve: u64) -> io::Result<File> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: `open_how` is plain integers; zero is "nothing asked for".
        let mut how: libc::open_how = unsafe { std::mem::zeroed() };
        how.flags = (libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY) as u64;
        how.resolve = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_MAGICLINKS | resolve;
        // SAFETY: `path` is a C string and `how` a structure of the length given; both outlive the call.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_openat2,
                self.fd.as_raw_fd(),
                path.as_ptr(),
                &raw const how,
                size_of::<libc::open_how>(),
            )
        };
        check_fd(fd as libc::c_int).map(File::from)
    }
}

/// Tells the kernel that `len` bytes of a file from `offset` on will be read soon, so that it fetches them
/// from disk meanwhile. Best effort, does not wait. Source: posix_fadvise(2), POSIX_FADV_WILLNEED.
pub fn will_need(file: &File, offset: u64, len: u64) {
    let as_off = |n: u64| libc::off_t::try_from(n).unwrap_or(libc::off_t::MAX);
    // SAFETY: takes no pointers; the advice changes no content.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), as_off(offset), as_off(len), libc::POSIX_FADV_WILLNEED) };
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
