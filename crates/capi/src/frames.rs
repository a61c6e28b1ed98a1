//! The layer of frames: the caller owns the loop, the frames and the time.
//!
//! ```text
//!   frame --tg_tcp_input--> status: new connection | new data | room | peer closed | closed
//!             tg_tcp_data, tg_tcp_consume, tg_tcp_output, tg_tcp_close
//!   frame <--tg_frame_out-- until there is none;  tg_run at tg_deadline
//! ```

use crate::abi::{sockaddr, socklen_t, ssize_t};
use crate::address;
use crate::border::{Errno, bytes, bytes_mut, call, put};
use crate::stacks::{Engine, Stack, with, with_host};
use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use tidegate_base::Instant;
use tidegate_packet::{Frame, HeapMemory, Pool, PoolError};
use tidegate_socket::{Error, Host, Readiness, SocketId};
use tidegate_stack::Egress;
use tidegate_sys::errno;

/// Frames in the pool of a stack without a port, and bytes of each.
const FRAME_COUNT: usize = 2048;
const CHUNK_SIZE: usize = 4096;
/// The longest packet that fits one with its headers.
pub(crate) const MTU_MAX: usize = 3600;
/// Frames that may wait to be carried away.
const SENT_COUNT_MAX: usize = 1024;

/// Nothing of note.
pub const TG_NOTHING: c_int = 0;
/// A connection was opened: by a peer, with a listener, or by tg_tcp_connect.
pub const TG_NEW_CONNECTION: c_int = 1;
/// Bytes arrived: tg_tcp_data has them.
pub const TG_NEW_DATA: c_int = 2;
/// There is room again for bytes that tg_tcp_output did not take.
pub const TG_NEW_ROOM: c_int = 3;
/// The peer will send no more; what is written is still sent.
pub const TG_PEER_CLOSED: c_int = 4;
/// The connection is over, or could not be opened; SO_ERROR says why. Close it.
pub const TG_CLOSED: c_int = 5;

/// Frames that wait to be carried away.
pub(crate) struct Outbox {
    pool: Pool,
    sent: VecDeque<Frame>,
}

impl Outbox {
    pub(crate) fn new() -> Result<Self, PoolError> {
        let memory = HeapMemory::new(FRAME_COUNT * CHUNK_SIZE);
        Ok(Self { pool: Pool::new(Box::new(memory), CHUNK_SIZE)?, sent: VecDeque::new() })
    }

    fn first_len(&self) -> Option<usize> {
        self.sent.front().map(Frame::len)
    }

    /// Copies the next frame into `buffer`, which has room for it.
    fn take(&mut self, buffer: &mut [u8]) -> usize {
        let Some(frame) = self.sent.pop_front() else { return 0 };
        let len = frame.len();
        buffer[..len].copy_from_slice(frame.data());
        self.pool.free(frame);
        len
    }
}

impl Egress for Outbox {
    fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }
    fn room(&mut self) -> usize {
        SENT_COUNT_MAX.saturating_sub(self.sent.len())
    }
    fn send(&mut self, frame: Frame) {
        self.sent.push_back(frame);
    }
}

fn frames(stack: &mut Stack) -> Result<&mut Host<Outbox>, Errno> {
    match &mut stack.engine {
        Engine::Frames(host) => Ok(host),
        Engine::Running(_) => Err(Errno(errno::EOPNOTSUPP)),
    }
}

pub(crate) fn socket(number: c_int) -> Result<SocketId, Errno> {
    SocketId::of_number(number).ok_or(Errno(errno::EBADF))
}

/// The next thing of note, with its socket.
fn next_status<E: Egress>(host: &mut Host<E>) -> (c_int, c_int) {
    while let Some((id, readiness)) = host.next_event() {
        if host.is_listener(id) == Ok(true) {
            if let Ok((accepted, _)) = host.accept(id) {
                return (TG_NEW_CONNECTION, accepted.number());
            }
            continue;
        }
        let has_bytes = host.peek(id).is_ok_and(|bytes| !bytes.is_empty());
        let status = if has_bytes {
            TG_NEW_DATA
        } else if readiness.has_any(Readiness::ERROR | Readiness::HANGUP) {
            TG_CLOSED
        } else if readiness.has(Readiness::PEER_CLOSED) {
            TG_PEER_CLOSED
        } else if host.info(id).is_ok_and(|info| info.acked_len == 0 && info.unsent_len == 0) {
            TG_NEW_CONNECTION
        } else {
            TG_NEW_ROOM
        };
        return (status, id.number());
    }
    (TG_NOTHING, -1)
}

/// Takes a received Ethernet frame of `len` bytes at the time `now_ns` (nanoseconds of a clock that never goes back). Returns
/// what it came to, TG_NOTHING to TG_CLOSED, with the connection in `connection` (unless that is NULL); there may be more:
/// tg_tcp_next. -1: EBADF, EFAULT, EINVAL, EMSGSIZE, ENOBUFS, EOPNOTSUPP.
///
/// # Safety
/// `frame` must be valid for reads of `len` bytes, `connection` for a write, or be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_tcp_input(
    stack: c_int,
    frame: *const c_void,
    len: usize,
    now_ns: u64,
    connection: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { tg_frame_in(stack, frame, len, now_ns) } {
        // SAFETY: the caller's promise.
        0 => unsafe { tg_tcp_next(stack, connection) },
        failed => failed,
    }
}

/// Takes a frame as tg_tcp_input does, and leaves what it came to for tg_wait and tg_poll. Returns 0, or -1.
///
/// # Safety
/// `frame` must be valid for reads of `len` bytes, or be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_frame_in(stack: c_int, frame: *const c_void, len: usize, now_ns: u64) -> c_int {
    call(|| {
        // SAFETY: the caller's promise.
        let data = unsafe { bytes(frame.cast(), len) }?;
        with(stack, |stack| {
            let host = frames(stack)?;
            let pool = host.egress().pool();
            let mut frame = pool.alloc().ok_or(Errno(errno::ENOBUFS))?;
            if !frame.extend(data) {
                pool.free(frame);
                return Err(Errno(errno::EMSGSIZE));
            }
            host.input(Instant::from_nanos(now_ns), frame);
            Ok(0)
        })
    })
}

/// The next thing of note, as from tg_tcp_input, until that is TG_NOTHING.
///
/// # Safety
/// `connection` must be valid for a write, or be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_tcp_next(stack: c_int, connection: *mut c_int) -> c_int {
    call(|| {
        let (status, socket) = with(stack, |stack| with_host!(stack, host => Ok(next_status(host))))?;
        // SAFETY: the caller's promise.
        unsafe { put(connection, socket) };
        Ok(status)
    })
}

/// Listens at `addr`, with at most `backlog` connections waiting. Returns the listener, for tg_close, or -1.
///
/// # Safety
/// `addr` must be valid for reads of `len` bytes, or be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_tcp_listen(
    stack: c_int,
    addr: *const sockaddr,
    len: socklen_t,
    backlog: c_int,
) -> c_int {
    call(|| {
        // SAFETY: the caller's promise.
        let local = unsafe { address::read(addr, len) }?;
        with(stack, |stack| {
            with_host!(stack, host => {
                let id = host.stream_socket()?;
                let done = host.bind(id, local).and_then(|()| host.listen(id, backlog.max(1) as usize));
                or_close(host, id, done)
            })
        })
    })
}

/// Begins to open a connection to `addr`; TG_NEW_CONNECTION says that it is open. Returns it, or -1.
///
/// # Safety
/// `addr` must be valid for reads of `len` bytes, or be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_tcp_connect(stack: c_int, addr: *const sockaddr, len: socklen_t) -> c_int {
    call(|| {
        // SAFETY: the caller's promise.
        let peer = unsafe { address::read(addr, len) }?;
        with(stack, |stack| {
            with_host!(stack, host => {
                let id = host.stream_socket()?;
                let begun = match host.connect(id, peer) {
                    Err(Error::InProgress) => Ok(()),
                    other => other,
                };
                or_close(host, id, begun)
            })
        })
    })
}

fn or_close<E: Egress>(host: &mut Host<E>, id: SocketId, done: Result<(), Error>) -> Result<c_int, Errno> {
    match done {
        Ok(()) => Ok(id.number()),
        Err(error) => {
            let _ = host.close(id);
            Err(error.into())
        }
    }
}

/// Adds `len` bytes to what a connection sends; they are copied. Returns how many were taken, or -1 (EAGAIN, EPIPE, ...).
///
/// # Safety
/// `data` must be valid for reads of `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_tcp_output(
    stack: c_int,
    connection: c_int,
    data: *const c_void,
    len: usize,
) -> ssize_t {
    call(|| {
        // SAFETY: the caller's promise.
        let data = unsafe { bytes(data.cast(), len) }?;
        with(stack, |stack| with_host!(stack, host => Ok(host.write(socket(connection)?, data)? as ssize_t)))
    })
}

/// Copies up to `len` received bytes, which stay where they are. Returns how many, 0 at the end, or -1 (EAGAIN, ECONNRESET, ...).
///
/// # Safety
/// `data` must be valid for writes of `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_tcp_peek(
    stack: c_int,
    connection: c_int,
    data: *mut c_void,
    len: usize,
) -> ssize_t {
    call(|| {
        // SAFETY: the caller's promise.
        let buffer = unsafe { bytes_mut(data.cast(), len) }?;
        with(stack, |stack| {
            with_host!(stack, host => {
                let received = host.peek(socket(connection)?)?;
                let len = received.len().min(buffer.len());
                buffer[..len].copy_from_slice(&received[..len]);
                Ok(len as ssize_t)
            })
        })
    })
}

/// The received bytes where they are, `len` of them; good until the next call on this stack. NULL, with errno EAGAIN: none now;
/// with errno 0: the end. tg_tcp_consume takes away what was used.
///
/// # Safety
/// `len` must be valid for a write. No other thread may use the stack while the bytes are used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_tcp_data(stack: c_int, connection: c_int, len: *mut usize) -> *const u8 {
    call(|| {
        if len.is_null() {
            return Err(Errno(errno::EFAULT));
        }
        let (data, count) = with(stack, |stack| {
            with_host!(stack, host => {
                let received = host.peek(socket(connection)?)?;
                if received.is_empty() { Err(Errno(0)) } else { Ok((received.as_ptr(), received.len())) }
            })
        })?;
        // SAFETY: the caller's promise.
        unsafe { put(len, count) };
        Ok(data)
    })
}

/// Takes the first `len` received bytes away: as many more may arrive. Returns 0, or -1 (EBADF).
#[unsafe(no_mangle)]
pub extern "C" fn tg_tcp_consume(stack: c_int, connection: c_int, len: usize) -> c_int {
    call(|| {
        with(stack, |stack| {
            with_host!(stack, host => {
                let id = socket(connection)?;
                host.readiness(id)?;
                host.consume(id, len);
                Ok(0)
            })
        })
    })
}

/// Closes a connection or a listener: what was written is still sent. Returns 0, or -1 (EBADF).
#[unsafe(no_mangle)]
pub extern "C" fn tg_tcp_close(stack: c_int, connection: c_int) -> c_int {
    crate::sockets::tg_close(stack, connection)
}

/// Copies the next frame to send into `frame`, at the time of the last tg_tcp_input or tg_run. Returns its length, 0 if there
/// is none, or -1: EMSGSIZE, with the frame kept, if `size` is too small.
///
/// # Safety
/// `frame` must be valid for writes of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_frame_out(stack: c_int, frame: *mut c_void, size: usize) -> ssize_t {
    call(|| {
        // SAFETY: the caller's promise.
        let buffer = unsafe { bytes_mut(frame.cast(), size) }?;
        with(stack, |stack| {
            let host = frames(stack)?;
            if host.egress().first_len().is_none() {
                host.poll(host.now());
            }
            match host.egress().first_len() {
                Some(len) if len > buffer.len() => Err(Errno(errno::EMSGSIZE)),
                _ => Ok(host.egress().take(buffer) as ssize_t),
            }
        })
    })
}

/// One round: timers, and what was written. A stack on a port also receives and sends, and knows the time by itself. Returns
/// 0, or -1 (EBADF, EIO).
#[unsafe(no_mangle)]
pub extern "C" fn tg_run(stack: c_int, now_ns: u64) -> c_int {
    call(|| {
        with(stack, |stack| {
            match &mut stack.engine {
                Engine::Frames(host) => host.poll(Instant::from_nanos(now_ns)),
                Engine::Running(runtime) => drop(runtime.poll()),
            }
            Ok(0)
        })
    })
}

/// When tg_run is due even if no frame arrives, in nanoseconds of the caller's clock (of CLOCK_MONOTONIC for a stack on a
/// port); 0: now; INT64_MAX: never. -1: EBADF.
#[unsafe(no_mangle)]
pub extern "C" fn tg_deadline(stack: c_int) -> i64 {
    call(|| {
        with(stack, |stack| {
            let due = match &mut stack.engine {
                Engine::Frames(host) => host.next_deadline(),
                Engine::Running(runtime) => runtime.next_deadline(),
            };
            Ok(due.map_or(i64::MAX, |due| i64::try_from(due.as_nanos()).unwrap_or(i64::MAX)))
        })
    })
}

/// Records the link address of the neighbour, or of the gateway to the host, at `addr`, so that it is not asked for. Returns
/// 0, or -1 (EBADF, EFAULT, EINVAL).
///
/// # Safety
/// `addr` must be valid for reads of `len` bytes and `mac` of six, or be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_set_neighbour(
    stack: c_int,
    addr: *const sockaddr,
    len: socklen_t,
    mac: *const u8,
) -> c_int {
    call(|| {
        // SAFETY: the caller's promise.
        let peer = unsafe { address::read(addr, len) }?;
        // SAFETY: the caller's promise.
        let mac: [u8; 6] = unsafe { crate::border::get(mac.cast()) }?;
        with(stack, |stack| {
            with_host!(stack, host => host.set_neighbour(peer.ip(), tidegate_wire::MacAddr(mac)));
            Ok(0)
        })
    })
}
