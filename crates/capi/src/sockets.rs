//! BSD's socket calls. What each does is in its manual page of the section 2 or 3; described here is what differs: nothing
//! blocks, and SIGPIPE is never raised.

use crate::abi::{AF_INET, AF_INET6, sockaddr, socklen_t, ssize_t};
use crate::address;
use crate::border::{Errno, bytes, bytes_mut, call, put};
use crate::frames::socket;
use crate::message::{Gather, Scatter, check_flags};
use crate::stacks::{Stack, with, with_host};
use std::ffi::{c_int, c_void};
use std::net::SocketAddr;
use tidegate_socket::Shutdown;
use tidegate_sys::abi::{
    IPPROTO_TCP, IPPROTO_UDP, MSG_PEEK, SHUT_RD, SHUT_RDWR, SHUT_WR, SOCK_CLOEXEC, SOCK_DGRAM, SOCK_NONBLOCK,
    SOCK_STREAM,
};
use tidegate_sys::errno;

/// Opens a socket: AF_INET or AF_INET6, SOCK_STREAM or SOCK_DGRAM (with or without SOCK_NONBLOCK and SOCK_CLOEXEC, which change
/// nothing). Which addresses it can have, the stack says. -1: EBADF, EAFNOSUPPORT, EPROTONOSUPPORT, EMFILE.
#[unsafe(no_mangle)]
pub extern "C" fn tg_socket(stack: c_int, domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    call(|| {
        if domain != AF_INET && domain != AF_INET6 {
            return Err(Errno(errno::EAFNOSUPPORT));
        }
        let is_stream = match (kind & !(SOCK_NONBLOCK | SOCK_CLOEXEC), protocol) {
            (SOCK_STREAM, 0 | IPPROTO_TCP) => true,
            (SOCK_DGRAM, 0 | IPPROTO_UDP) => false,
            _ => return Err(Errno(errno::EPROTONOSUPPORT)),
        };
        with(stack, |stack| {
            with_host!(stack, host => {
                let id = if is_stream { host.stream_socket()? } else { host.datagram_socket()? };
                Ok(id.number())
            })
        })
    })
}

/// Names the socket's own address and port. -1: EBADF, EFAULT, EINVAL, EADDRINUSE, EADDRNOTAVAIL.
///
/// # Safety
/// `addr` must be valid for reads of `len` bytes, or be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_bind(stack: c_int, fd: c_int, addr: *const sockaddr, len: socklen_t) -> c_int {
    call(|| {
        // SAFETY: the caller's promise.
        let local = unsafe { address::read(addr, len) }?;
        with(
            stack,
            |stack| with_host!(stack, host => host.bind(socket(fd)?, local).map(|()| 0).map_err(Errno::from)),
        )
    })
}

/// Accepts connections, of which at most `backlog` wait; more are not answered, and ask again. -1: EBADF, EINVAL, EADDRINUSE,
/// EOPNOTSUPP, EDESTADDRREQ (it has no address).
#[unsafe(no_mangle)]
pub extern "C" fn tg_listen(stack: c_int, fd: c_int, backlog: c_int) -> c_int {
    call(|| {
        let backlog = usize::try_from(backlog).unwrap_or(1);
        with(
            stack,
            |stack| with_host!(stack, host => host.listen(socket(fd)?, backlog).map(|()| 0).map_err(Errno::from)),
        )
    })
}

/// The next connection that waits, its peer's address in `addr`. -1: EBADF, EINVAL, EAGAIN.
///
/// # Safety
/// `len` must be valid for reads and writes, and `addr` for writes of as many bytes as it says, or one of them be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_accept(
    stack: c_int,
    fd: c_int,
    addr: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    call(|| {
        let (accepted, peer) =
            with(stack, |stack| with_host!(stack, host => host.accept(socket(fd)?).map_err(Errno::from)))?;
        // SAFETY: the caller's promise.
        unsafe { address::write(peer, addr, len) }?;
        Ok(accepted.number())
    })
}

/// Begins to open a connection; the socket becomes writable when it is open. For datagrams it names the peer. -1: EINPROGRESS
/// (of a stream, always at first), EALREADY, EISCONN, ECONNREFUSED, ETIMEDOUT, EBADF, EFAULT, EINVAL, ...
///
/// # Safety
/// `addr` must be valid for reads of `len` bytes, or be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_connect(stack: c_int, fd: c_int, addr: *const sockaddr, len: socklen_t) -> c_int {
    call(|| {
        // SAFETY: the caller's promise.
        let peer = unsafe { address::read(addr, len) }?;
        with(
            stack,
            |stack| with_host!(stack, host => host.connect(socket(fd)?, peer).map(|()| 0).map_err(Errno::from)),
        )
    })
}

/// Gives a socket up; its number is not used again soon. What was written is still sent, unless something that arrived was not
/// read or it lingers for no time: then the peer gets a reset. -1: EBADF.
#[unsafe(no_mangle)]
pub extern "C" fn tg_close(stack: c_int, fd: c_int) -> c_int {
    call(|| {
        with(
            stack,
            |stack| with_host!(stack, host => host.close(socket(fd)?).map(|()| 0).map_err(Errno::from)),
        )
    })
}

/// Ends one direction or both: SHUT_RD, SHUT_WR, SHUT_RDWR. -1: EBADF, EINVAL, ENOTCONN.
#[unsafe(no_mangle)]
pub extern "C" fn tg_shutdown(stack: c_int, fd: c_int, how: c_int) -> c_int {
    call(|| {
        let how = match how {
            SHUT_RD => Shutdown::Read,
            SHUT_WR => Shutdown::Write,
            SHUT_RDWR => Shutdown::Both,
            _ => return Err(Errno(errno::EINVAL)),
        };
        with(
            stack,
            |stack| with_host!(stack, host => host.shutdown(socket(fd)?, how).map(|()| 0).map_err(Errno::from)),
        )
    })
}

/// The socket's own address. -1: EBADF.
///
/// # Safety
/// As for tg_accept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_getsockname(
    stack: c_int,
    fd: c_int,
    addr: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    call(|| {
        let local = with(
            stack,
            |stack| with_host!(stack, host => host.local_addr(socket(fd)?).map_err(Errno::from)),
        )?;
        // SAFETY: the caller's promise.
        unsafe { address::write(local, addr, len) }?;
        Ok(0)
    })
}

/// The peer's address. -1: EBADF, ENOTCONN.
///
/// # Safety
/// As for tg_accept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_getpeername(
    stack: c_int,
    fd: c_int,
    addr: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    call(|| {
        let peer =
            with(stack, |stack| with_host!(stack, host => host.peer_addr(socket(fd)?).map_err(Errno::from)))?;
        // SAFETY: the caller's promise.
        unsafe { address::write(peer, addr, len) }?;
        Ok(0)
    })
}

/// What a read took: bytes, and who sent them.
pub(crate) struct Taken {
    pub(crate) len: usize,
    /// How long the datagram was, where it was cut.
    pub(crate) whole: usize,
    pub(crate) peer: Option<SocketAddr>,
}

/// Reads into the caller's pieces.
pub(crate) fn receive(
    stack: &mut Stack,
    fd: c_int,
    to: &mut Scatter<'_>,
    flags: c_int,
) -> Result<Taken, Errno> {
    let id = socket(fd)?;
    with_host!(stack, host => {
        if host.is_datagram(id)? {
            if flags & MSG_PEEK != 0 {
                return Err(Errno(errno::EOPNOTSUPP));
            }
            let mut whole_datagram = vec![0; to.len().min(usize::from(u16::MAX))];
            let (whole, peer) = host.receive_from(id, &mut whole_datagram)?;
            let len = to.put(&whole_datagram[..whole.min(whole_datagram.len())]);
            return Ok(Taken { len, whole, peer: Some(peer) });
        }
        let received = host.peek(id)?;
        let len = to.put(received);
        if flags & MSG_PEEK == 0 {
            host.consume(id, len);
        }
        Ok(Taken { len, whole: len, peer: None })
    })
}

/// Writes the caller's pieces; a datagram as one.
pub(crate) fn send(
    stack: &mut Stack,
    fd: c_int,
    from: &Gather<'_>,
    peer: Option<SocketAddr>,
) -> Result<ssize_t, Errno> {
    let id = socket(fd)?;
    with_host!(stack, host => {
        if host.is_datagram(id)? {
            return Ok(host.send_to(id, &from.joined(), peer)? as ssize_t);
        }
        let mut written = 0;
        for piece in from.pieces() {
            match host.write(id, piece) {
                Ok(len) if len == piece.len() => written += len,
                Ok(len) => return Ok((written + len) as ssize_t),
                Err(_) if written > 0 => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(written as ssize_t)
    })
}

/// Reads up to `len` bytes. 0: the end. -1: EAGAIN, EBADF, ENOTCONN, ECONNRESET, ETIMEDOUT, EFAULT.
///
/// # Safety
/// `data` must be valid for writes of `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_read(stack: c_int, fd: c_int, data: *mut c_void, len: usize) -> ssize_t {
    // SAFETY: the caller's promise.
    unsafe { tg_recv(stack, fd, data, len, 0) }
}

/// Writes up to `len` bytes; what a round writes is sent together, by the next tg_run, tg_poll or tg_wait. -1: EAGAIN, EBADF,
/// ENOTCONN, EPIPE, ECONNRESET, EFAULT.
///
/// # Safety
/// `data` must be valid for reads of `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_write(stack: c_int, fd: c_int, data: *const c_void, len: usize) -> ssize_t {
    // SAFETY: the caller's promise.
    unsafe { tg_send(stack, fd, data, len, 0) }
}

/// As tg_read. Flags: MSG_PEEK (of streams); MSG_DONTWAIT and MSG_NOSIGNAL change nothing; others are EOPNOTSUPP.
///
/// # Safety
/// `data` must be valid for writes of `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_recv(
    stack: c_int,
    fd: c_int,
    data: *mut c_void,
    len: usize,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the caller's promise; no address is asked for.
    unsafe { tg_recvfrom(stack, fd, data, len, flags, std::ptr::null_mut(), std::ptr::null_mut()) }
}

/// As tg_write, with flags as for tg_recv.
///
/// # Safety
/// `data` must be valid for reads of `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_send(
    stack: c_int,
    fd: c_int,
    data: *const c_void,
    len: usize,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the caller's promise; no address is named.
    unsafe { tg_sendto(stack, fd, data, len, flags, std::ptr::null(), 0) }
}

/// As tg_recv, with the sender's address: of a datagram, or the peer's.
///
/// # Safety
/// `data` must be valid for writes of `len` bytes; the others as for tg_accept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_recvfrom(
    stack: c_int,
    fd: c_int,
    data: *mut c_void,
    len: usize,
    flags: c_int,
    addr: *mut sockaddr,
    addr_len: *mut socklen_t,
) -> ssize_t {
    call(|| {
        check_flags(flags)?;
        // SAFETY: the caller's promise.
        let mut to = Scatter::of(unsafe { bytes_mut(data.cast(), len) }?);
        let taken = with(stack, |stack| receive(stack, fd, &mut to, flags))?;
        match taken.peer {
            // SAFETY: the caller's promise.
            Some(peer) => unsafe { address::write(peer, addr, addr_len) }?,
            // As the kernel has it for streams: no address.
            // SAFETY: the caller's promise.
            None => unsafe { put(addr_len, 0) },
        }
        Ok(taken.len as ssize_t)
    })
}

/// As tg_send, for a datagram to the address `addr`, or to the connected peer where that is NULL. -1 also: EDESTADDRREQ,
/// EMSGSIZE.
///
/// # Safety
/// `data` must be valid for reads of `len` bytes and `addr` of `addr_len` bytes, or be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_sendto(
    stack: c_int,
    fd: c_int,
    data: *const c_void,
    len: usize,
    flags: c_int,
    addr: *const sockaddr,
    addr_len: socklen_t,
) -> ssize_t {
    call(|| {
        check_flags(flags)?;
        // SAFETY: the caller's promise.
        let from = Gather::of(unsafe { bytes(data.cast(), len) }?);
        // SAFETY: the caller's promise.
        let peer = if addr.is_null() { None } else { Some(unsafe { address::read(addr, addr_len) }?) };
        with(stack, |stack| send(stack, fd, &from, peer))
    })
}

/// Bytes that may be read, and bytes that were written and are not acknowledged (SIOCINQ, SIOCOUTQ). -1: EBADF, ENOTCONN.
///
/// # Safety
/// `unread` and `unacknowledged` must be valid for a write, or be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_buffered(
    stack: c_int,
    fd: c_int,
    unread: *mut usize,
    unacknowledged: *mut usize,
) -> c_int {
    call(|| {
        let (received, sent) =
            with(stack, |stack| with_host!(stack, host => host.buffered(socket(fd)?).map_err(Errno::from)))?;
        // SAFETY: the caller's promise.
        unsafe { put(unread, received) };
        // SAFETY: the caller's promise.
        unsafe { put(unacknowledged, sent as usize) };
        Ok(0)
    })
}
