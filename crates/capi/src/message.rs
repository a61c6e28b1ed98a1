//! Data in several pieces: `struct iovec`, `struct msghdr`.

use crate::abi::{iovec, msghdr, socklen_t, ssize_t};
use crate::address;
use crate::border::{Errno, bytes, bytes_mut, call};
use crate::sockets::{receive, send};
use crate::stacks::with;
use std::borrow::Cow;
use std::ffi::c_int;
use tidegate_sys::abi::{MSG_DONTWAIT, MSG_NOSIGNAL, MSG_PEEK, MSG_TRUNC};
use tidegate_sys::errno;

/// The most pieces of one call (UIO_MAXIOV).
const PIECE_COUNT_MAX: usize = 1024;

/// Refuses flags that would have to change something.
pub(crate) fn check_flags(flags: c_int) -> Result<(), Errno> {
    let known = MSG_PEEK | MSG_DONTWAIT | MSG_NOSIGNAL;
    if flags & !known == 0 { Ok(()) } else { Err(Errno(errno::EOPNOTSUPP)) }
}

/// Pieces to read from.
pub(crate) struct Gather<'a>(Vec<&'a [u8]>);

impl<'a> Gather<'a> {
    pub(crate) fn of(piece: &'a [u8]) -> Self {
        Self(vec![piece])
    }

    pub(crate) fn pieces(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        self.0.iter().copied()
    }

    pub(crate) fn joined(&self) -> Cow<'a, [u8]> {
        match self.0.as_slice() {
            [one] => Cow::Borrowed(one),
            many => Cow::Owned(many.concat()),
        }
    }
}

/// Pieces to write to.
pub(crate) struct Scatter<'a>(Vec<&'a mut [u8]>);

impl<'a> Scatter<'a> {
    pub(crate) fn of(piece: &'a mut [u8]) -> Self {
        Self(vec![piece])
    }

    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|piece| piece.len()).sum()
    }

    /// Fills the pieces in order, as far as they go; returns how many bytes they took.
    pub(crate) fn put(&mut self, mut data: &[u8]) -> usize {
        let before = data.len();
        for piece in &mut self.0 {
            let len = piece.len().min(data.len());
            piece[..len].copy_from_slice(&data[..len]);
            data = &data[len..];
        }
        before - data.len()
    }
}

/// The caller's pieces.
///
/// # Safety
/// `pieces` must be valid for reads of `count` of them, or be null.
unsafe fn list<'a>(pieces: *const iovec, count: usize) -> Result<&'a [iovec], Errno> {
    if count > PIECE_COUNT_MAX {
        return Err(Errno(errno::EINVAL));
    }
    if count == 0 {
        return Ok(&[]);
    }
    if pieces.is_null() || !pieces.is_aligned() {
        return Err(Errno(errno::EFAULT));
    }
    // SAFETY: neither null nor unaligned; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pieces, count) })
}

/// # Safety
/// As for [`list`], and each piece must be valid for reads.
unsafe fn gather<'a>(pieces: *const iovec, count: usize) -> Result<Gather<'a>, Errno> {
    // SAFETY: the caller's promise.
    let pieces = unsafe { list(pieces, count) }?;
    // SAFETY: the caller's promise.
    let piece = |piece: &iovec| unsafe { bytes(piece.iov_base.cast_const().cast(), piece.iov_len) };
    Ok(Gather(pieces.iter().map(piece).collect::<Result<_, _>>()?))
}

/// # Safety
/// As for [`list`], and each piece must be valid for writes, and overlap no other.
unsafe fn scatter<'a>(pieces: *const iovec, count: usize) -> Result<Scatter<'a>, Errno> {
    // SAFETY: the caller's promise.
    let pieces = unsafe { list(pieces, count) }?;
    // SAFETY: the caller's promise.
    let piece = |piece: &iovec| unsafe { bytes_mut(piece.iov_base.cast(), piece.iov_len) };
    Ok(Scatter(pieces.iter().map(piece).collect::<Result<_, _>>()?))
}

/// As tg_read, into `count` pieces.
///
/// # Safety
/// `pieces` must be valid for reads of `count` of them, and each piece for writes, none overlapping another.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_readv(stack: c_int, fd: c_int, pieces: *const iovec, count: c_int) -> ssize_t {
    call(|| {
        let count = usize::try_from(count).map_err(|_| Errno(errno::EINVAL))?;
        // SAFETY: the caller's promise.
        let mut to = unsafe { scatter(pieces, count) }?;
        with(stack, |stack| Ok(receive(stack, fd, &mut to, 0)?.len as ssize_t))
    })
}

/// As tg_write, from `count` pieces.
///
/// # Safety
/// `pieces` must be valid for reads of `count` of them, and each piece for reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_writev(stack: c_int, fd: c_int, pieces: *const iovec, count: c_int) -> ssize_t {
    call(|| {
        let count = usize::try_from(count).map_err(|_| Errno(errno::EINVAL))?;
        // SAFETY: the caller's promise.
        let from = unsafe { gather(pieces, count) }?;
        with(stack, |stack| send(stack, fd, &from, None))
    })
}

/// As tg_recvfrom, with a message; there is no ancillary data.
///
/// # Safety
/// `message` must be valid for reads and writes, and what it points to as recvmsg(2) wants it, or be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_recvmsg(stack: c_int, fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    call(|| {
        check_flags(flags)?;
        if message.is_null() || !message.is_aligned() {
            return Err(Errno(errno::EFAULT));
        }
        // SAFETY: neither null nor unaligned; the caller promises the rest.
        let message = unsafe { &mut *message };
        // SAFETY: the caller's promise.
        let mut to = unsafe { scatter(message.msg_iov, message.msg_iovlen) }?;
        let taken = with(stack, |stack| receive(stack, fd, &mut to, flags))?;
        let mut name_len: socklen_t = message.msg_namelen;
        match taken.peer {
            // SAFETY: the name is valid for writes of its length, as the caller promises.
            Some(peer) => unsafe { address::write(peer, message.msg_name.cast(), &mut name_len) }?,
            None => name_len = 0,
        }
        message.msg_namelen = name_len;
        message.msg_controllen = 0;
        message.msg_flags = if taken.whole > taken.len { MSG_TRUNC } else { 0 };
        Ok(taken.len as ssize_t)
    })
}

/// As tg_sendto, with a message; ancillary data is EINVAL.
///
/// # Safety
/// `message` must be valid for reads, and what it points to as sendmsg(2) wants it, or be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_sendmsg(
    stack: c_int,
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
) -> ssize_t {
    call(|| {
        check_flags(flags)?;
        if message.is_null() || !message.is_aligned() {
            return Err(Errno(errno::EFAULT));
        }
        // SAFETY: neither null nor unaligned; the caller promises the rest.
        let message = unsafe { &*message };
        if message.msg_controllen != 0 {
            return Err(Errno(errno::EINVAL));
        }
        // SAFETY: the caller's promise.
        let from = unsafe { gather(message.msg_iov, message.msg_iovlen) }?;
        let peer = if message.msg_name.is_null() {
            None
        } else {
            // SAFETY: the name is valid for reads of its length, as the caller promises.
            Some(unsafe { address::read(message.msg_name.cast_const().cast(), message.msg_namelen) }?)
        };
        with(stack, |stack| send(stack, fd, &from, peer))
    })
}
