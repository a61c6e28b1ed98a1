//! Waiting: for some sockets (poll), for whichever is ready (as epoll's), or in a loop of the caller's, on a descriptor.
//!
//! The stack's lock is not held while a thread sleeps: others may call meanwhile, and wake it by what they write.

use crate::abi::pollfd;
use crate::border::{Errno, call};
use crate::frames::socket;
use crate::stacks::{Engine, Shared, Stack, find, with, with_host};
use std::ffi::{c_int, c_short};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{MutexGuard, PoisonError};
use tidegate_base::{Duration, Instant};
use tidegate_socket::Readiness;
use tidegate_sys::abi::{POLLERR, POLLHUP, POLLIN, POLLNVAL, POLLOUT, POLLRDHUP};
use tidegate_sys::event::{Interest, poll};
use tidegate_sys::{clock, errno};

/// A socket that is ready.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct tg_event {
    /// Which.
    pub socket: c_int,
    /// For what: POLLIN, POLLOUT, POLLERR, POLLHUP, POLLRDHUP.
    pub events: c_short,
}

fn bits(readiness: Readiness) -> c_short {
    let bit = |of: Readiness, bit: c_short| if readiness.has(of) { bit } else { 0 };
    bit(Readiness::READABLE, POLLIN)
        | bit(Readiness::WRITABLE, POLLOUT)
        | bit(Readiness::ERROR, POLLERR)
        | bit(Readiness::HANGUP, POLLHUP)
        | bit(Readiness::PEER_CLOSED, POLLRDHUP)
}

/// A time limit in milliseconds as an instant; negative: none.
fn until(timeout_ms: c_int) -> Instant {
    match u64::try_from(timeout_ms) {
        Ok(ms) => clock::now() + Duration::from_millis(ms),
        Err(_) => Instant::FAR_FUTURE,
    }
}

fn lock(shared: &Shared) -> Result<MutexGuard<'_, Stack>, Errno> {
    shared.stack.lock().map_err(|_| Errno(errno::EIO))
}

/// Runs rounds until `look` finds something, or the time is over. A stack without a port does not wait.
fn wait(
    stack: c_int,
    timeout_ms: c_int,
    mut look: impl FnMut(&mut Stack) -> Result<c_int, Errno>,
) -> Result<c_int, Errno> {
    let shared = find(stack)?;
    let until = until(timeout_ms);
    let mut stack = lock(&shared)?;
    loop {
        let due = match &mut stack.engine {
            Engine::Frames(host) => {
                let now = host.now();
                host.poll(now);
                return look(&mut stack);
            }
            Engine::Running(runtime) => {
                runtime.poll();
                runtime.next_deadline().unwrap_or(Instant::FAR_FUTURE)
            }
        };
        let count = look(&mut stack)?;
        let now = clock::now();
        if count > 0 || now >= until {
            return Ok(count);
        }
        let due = due.min(until);
        if due <= now {
            continue;
        }
        stack.sleeper_count += 1;
        drop(stack);
        let outcome = sleep(&shared, due, now);
        stack = shared.stack.lock().unwrap_or_else(PoisonError::into_inner);
        stack.sleeper_count -= 1;
        outcome?;
    }
}

fn sleep(shared: &Shared, due: Instant, now: Instant) -> Result<(), Errno> {
    let Some(fd) = &shared.fd else { return Ok(()) };
    let time = (due != Instant::FAR_FUTURE).then(|| due.since(now));
    poll(&[(fd.as_fd(), Interest::READ)], time)
        .map(drop)
        .map_err(|error| Errno(error.raw_os_error().unwrap_or(errno::EIO)))
}

/// Waits until one of `count` sockets is ready for what its `events` ask, or `timeout_ms` milliseconds have passed (negative:
/// for ever), and runs the stack meanwhile. Returns how many are ready, or -1: EBADF, EFAULT, EINVAL. A stack without a port
/// does not wait.
///
/// # Safety
/// `sockets` must be valid for reads and writes of `count` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_poll(
    stack: c_int,
    sockets: *mut pollfd,
    count: usize,
    timeout_ms: c_int,
) -> c_int {
    call(|| {
        if count > 0 && (sockets.is_null() || !sockets.is_aligned()) {
            return Err(Errno(errno::EFAULT));
        }
        if count > 1 << 20 {
            return Err(Errno(errno::EINVAL));
        }
        let entries: &mut [pollfd] = if count == 0 {
            &mut []
        } else {
            // SAFETY: neither null nor unaligned nor too long; the rest is the caller's promise.
            unsafe { std::slice::from_raw_parts_mut(sockets, count) }
        };
        wait(stack, timeout_ms, |stack| {
            Ok(entries.iter_mut().map(|entry| c_int::from(look_at(stack, entry))).sum())
        })
    })
}

/// Fills in what an entry's socket is ready for; true if that is something.
fn look_at(stack: &mut Stack, entry: &mut pollfd) -> bool {
    entry.revents = 0;
    if entry.fd < 0 {
        return false;
    }
    let readiness =
        socket(entry.fd).and_then(|id| with_host!(stack, host => host.readiness(id).map_err(Errno::from)));
    let always = POLLERR | POLLHUP;
    entry.revents = readiness.map_or(POLLNVAL, |readiness| bits(readiness) & (entry.events | always));
    entry.revents != 0
}

/// Waits until sockets are ready, or `timeout_ms` milliseconds have passed (negative: for ever), and runs the stack meanwhile.
/// Fills up to `count` of `events` and returns how many, or -1: EBADF, EFAULT, EINVAL. A socket is named once for what came:
/// accept, read or write until EAGAIN. A stack without a port does not wait.
///
/// # Safety
/// `events` must be valid for writes of `count` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_wait(
    stack: c_int,
    events: *mut tg_event,
    count: c_int,
    timeout_ms: c_int,
) -> c_int {
    call(|| {
        let count = usize::try_from(count).ok().filter(|count| *count > 0).ok_or(Errno(errno::EINVAL))?;
        if events.is_null() || !events.is_aligned() {
            return Err(Errno(errno::EFAULT));
        }
        wait(stack, timeout_ms, |stack| {
            with_host!(stack, host => {
                let mut found = 0;
                while found < count && let Some((id, readiness)) = host.next_event() {
                    let event = tg_event { socket: id.number(), events: bits(readiness) };
                    // SAFETY: within the `count` entries that the caller promises, and aligned.
                    unsafe { events.add(found).write(event) };
                    found += 1;
                }
                Ok(found as c_int)
            })
        })
    })
}

/// A descriptor for poll, select or epoll, readable whenever tg_run has something to do; tg_wait with a timeout of 0 then tells
/// which sockets are ready. It is the stack's: do not close it. -1: EBADF, EOPNOTSUPP (a stack without a port).
#[unsafe(no_mangle)]
pub extern "C" fn tg_fd(stack: c_int) -> c_int {
    call(|| {
        let shared = find(stack)?;
        let fd = shared.fd.as_ref().ok_or(Errno(errno::EOPNOTSUPP))?.as_raw_fd();
        with(stack, |stack| {
            if let Engine::Running(runtime) = &mut stack.engine {
                runtime.watch();
            }
            Ok(fd)
        })
    })
}
