//! The border to C: errors become `errno`, panics an error, pointers are looked at before they are used.

use std::ffi::CStr;
use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tidegate_socket::Error;
use tidegate_sys::errno;

/// Why a call failed, as C has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Errno(pub(crate) i32);

impl From<Error> for Errno {
    fn from(error: Error) -> Self {
        Self(error.number())
    }
}

/// What a call returns where it failed.
pub(crate) trait Failure {
    const FAILED: Self;
}

impl Failure for i32 {
    const FAILED: Self = -1;
}

impl Failure for isize {
    const FAILED: Self = -1;
}

impl Failure for i64 {
    const FAILED: Self = -1;
}

impl<T> Failure for *const T {
    const FAILED: Self = std::ptr::null();
}

/// Runs a call; where it fails or panics, sets `errno` and returns what says so.
pub(crate) fn call<T: Failure>(work: impl FnOnce() -> Result<T, Errno>) -> T {
    let outcome = catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Errno(errno::EIO)));
    outcome.unwrap_or_else(|Errno(number)| {
        errno::set(number);
        T::FAILED
    })
}

/// The bytes that the caller named.
///
/// # Safety
/// Unless it is null, `data` must be valid for reads of `len` bytes for as long as the result is used.
pub(crate) unsafe fn bytes<'a>(data: *const u8, len: usize) -> Result<&'a [u8], Errno> {
    if len == 0 {
        return Ok(&[]);
    }
    check(data, len)?;
    // SAFETY: not null and not too long; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(data, len) })
}

/// The bytes that the caller named, to be written.
///
/// # Safety
/// Unless it is null, `data` must be valid for reads and writes of `len` bytes, and nobody else may use them, for as long as the
/// result is used.
pub(crate) unsafe fn bytes_mut<'a>(data: *mut u8, len: usize) -> Result<&'a mut [u8], Errno> {
    if len == 0 {
        return Ok(&mut []);
    }
    check(data, len)?;
    // SAFETY: not null and not too long; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts_mut(data, len) })
}

fn check(data: *const u8, len: usize) -> Result<(), Errno> {
    if data.is_null() {
        return Err(Errno(errno::EFAULT));
    }
    if isize::try_from(len).is_err() { Err(Errno(errno::EINVAL)) } else { Ok(()) }
}

/// Writes `value` where the caller wants it, if anywhere.
///
/// # Safety
/// Unless it is null, `place` must be valid for a write of a `T`.
pub(crate) unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: not null; the rest is the caller's promise. C may have it anywhere.
        unsafe { place.write_unaligned(value) };
    }
}

/// The value that the caller named.
///
/// # Safety
/// Unless it is null, `place` must be valid for a read of a `T`, all of whose bit patterns are valid.
pub(crate) unsafe fn get<T>(place: *const T) -> Result<T, Errno> {
    if place.is_null() {
        return Err(Errno(errno::EFAULT));
    }
    // SAFETY: not null; the rest is the caller's promise.
    Ok(unsafe { place.read_unaligned() })
}

/// The text that the caller named.
///
/// # Safety
/// Unless it is null, `text` must be a C string for as long as the result is used.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> Result<&'a str, Errno> {
    if text.is_null() {
        return Err(Errno(errno::EFAULT));
    }
    // SAFETY: not null; the rest is the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Errno(errno::EINVAL))
}
