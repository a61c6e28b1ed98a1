//! What kind of file system a path is in.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::syscall::check;

/// linux/magic.h.
const BPF_FS_MAGIC: u32 = 0xcafe_4a11;

/// Whether `path`, which must exist, is in a bpf file system.
///
/// Needs the right to search its directories. Source: statfs(2).
pub fn is_bpf(path: &Path) -> io::Result<bool> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut found = MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: `path` is a C string, and `found` has room for what the kernel writes; both outlive the call.
    check(unsafe { libc::statfs(path.as_ptr(), found.as_mut_ptr()) })?;
    // SAFETY: plain integers, for which zero is valid, and what the kernel wrote over them.
    let found = unsafe { found.assume_init() };
    Ok(found.f_type as u32 == BPF_FS_MAGIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_file_systems_are_none_and_a_missing_path_is_an_error() {
        assert!(!is_bpf(Path::new("/proc")).unwrap());
        assert_eq!(is_bpf(Path::new("/proc/absent")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
