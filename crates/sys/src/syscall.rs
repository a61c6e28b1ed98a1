//! The convention of system calls turned into `io::Result`, and the few calls that several modules share.
//!
//! Not a wrapper of every call: a module calls `libc` itself and passes what came back through here.

use std::ffi::CString;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// What a system call returned: its value, or errno where it is negative.
pub(crate) fn check(returned: libc::c_int) -> io::Result<libc::c_int> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}

/// As [`check`], for calls that return a length.
pub(crate) fn check_len(returned: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(returned).map_err(|_| io::Error::last_os_error())
}

/// As [`check`], for calls that return a new file descriptor.
pub(crate) fn check_fd(returned: libc::c_int) -> io::Result<OwnedFd> {
    let fd = check(returned)?;
    // SAFETY: `returned` is what a call that opens a descriptor returned, which all callers pass, and not an error: the kernel
    // has just opened it for this process, and nobody else knows the number or will close it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// What a call that may not wait came to: nothing, if it would have waited or was interrupted.
pub(crate) fn or_later<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// socket(2), always close-on-exec.
pub(crate) fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: takes no pointers.
    check_fd(unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) })
}

/// setsockopt(2) with the bytes of `value`, a C structure or integer without padding.
pub(crate) fn set_option<T>(fd: BorrowedFd<'_>, level: i32, name: i32, value: &T) -> io::Result<()> {
    let len = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` is valid for reads of `len` bytes for the length of the call.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, (&raw const *value).cast(), len) })?;
    Ok(())
}

/// getsockopt(2) into a C structure, which the kernel may fill in part: the rest is zero.
///
/// # Safety
/// The caller owes that all-zero bytes are a valid `T`, and that so is what the kernel writes for this option over the first
/// of them, however many: it never writes more than a `T` has.
pub(crate) unsafe fn option<T>(fd: BorrowedFd<'_>, level: i32, name: i32) -> io::Result<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` is valid for writes of `len` bytes, and `len` for reads and writes, for the length of the call; the kernel
    // writes no more than `len` says.
    check(unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, value.as_mut_ptr().cast(), &mut len) })?;
    // SAFETY: all bytes are initialised, by zeros or by the kernel, and make a valid `T` either way, as the caller owes.
    Ok(unsafe { value.assume_init() })
}

/// A path or name as the kernel wants it; a NUL inside is refused as the kernel would refuse a bad name.
pub(crate) fn c_string(text: &str) -> io::Result<CString> {
    CString::new(text).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

/// The name of a network device in the fixed array of `ifreq`; longer than 15 bytes is refused.
pub(crate) fn device_name(name: &str) -> io::Result<[libc::c_char; libc::IFNAMSIZ]> {
    if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.contains('\0') {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let mut array = [0; libc::IFNAMSIZ];
    for (slot, byte) in array.iter_mut().zip(name.bytes()) {
        *slot = byte as libc::c_char;
    }
    Ok(array)
}

/// The text in a fixed, NUL-padded array that the kernel filled.
pub(crate) fn text(array: &[libc::c_char]) -> String {
    let bytes: Vec<u8> = array.iter().take_while(|&&byte| byte != 0).map(|&byte| byte as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
