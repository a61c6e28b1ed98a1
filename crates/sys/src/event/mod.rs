//! Waiting: on descriptors, for a time, for another thread, for changes of files.
//!
//! Not an event loop. A worker that has nothing to do names what could give it something to do, and sleeps.

mod directory;
mod epoll;
mod inotify;
mod timer;

pub use directory::DirectoryWatch;
pub use epoll::Epoll;
pub use inotify::{Change, ChangeKind, TreeWatch, WatchError};
pub use timer::TimerFd;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use tidegate_base::Duration;

use crate::syscall::{check, check_fd, check_len};

/// What to wait for on a descriptor: bits of poll(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest(i16);

impl Interest {
    /// Something to read.
    pub const READ: Interest = Interest(libc::POLLIN);
    /// Room to write.
    pub const WRITE: Interest = Interest(libc::POLLOUT);
    /// Either.
    pub const BOTH: Interest = Interest(libc::POLLIN | libc::POLLOUT);
}

/// How many descriptors one wait may name: a worker's ports and its wake-up.
pub const POLL_COUNT_MAX: usize = 64;

/// Sleeps until one of `descriptors` is ready or `timeout` has passed (without one: for ever); returns how
/// many are ready. A signal ends the wait early with zero. Descriptors beyond [`POLL_COUNT_MAX`] are an error.
///
/// The kernel may sleep up to the thread's timer slack longer (50 us unless [`set_timer_slack`] says
/// otherwise). Needs no capability. Source: ppoll(2).
pub fn poll(descriptors: &[(BorrowedFd<'_>, Interest)], timeout: Option<Duration>) -> io::Result<usize> {
    let mut polled = [libc::pollfd { fd: -1, events: 0, revents: 0 }; POLL_COUNT_MAX];
    let slots = polled.get_mut(..descriptors.len()).ok_or(io::ErrorKind::InvalidInput)?;
    for (slot, (fd, interest)) in slots.iter_mut().zip(descriptors) {
        *slot = libc::pollfd { fd: fd.as_raw_fd(), events: interest.0, revents: 0 };
    }
    let time = timeout.map(timespec);
    let time = time.as_ref().map_or(std::ptr::null(), |time| &raw const *time);
    let count = slots.len() as libc::nfds_t;
    // SAFETY: `slots` holds `count` entries; `time` is null or lives for the length of the call.
    match check(unsafe { libc::ppoll(slots.as_mut_ptr(), count, time, std::ptr::null()) }) {
        Ok(ready) => Ok(ready.unsigned_abs() as usize),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
        Err(error) => Err(error),
    }
}

fn timespec(duration: Duration) -> libc::timespec {
    let ns = duration.as_nanos();
    libc::timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}

/// How much later than asked the kernel may wake the calling thread, to merge wake-ups.
///
/// Needs no capability. Source: PR_SET_TIMERSLACK(2const).
pub fn set_timer_slack(slack: Duration) -> io::Result<()> {
    // SAFETY: takes no pointers.
    check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack.as_nanos().max(1)) })?;
    Ok(())
}

/// A counter that one thread raises to wake another out of [`poll`].
#[derive(Debug)]
pub struct EventFd(OwnedFd);

impl EventFd {
    /// A counter at zero. Needs no capability. Source: eventfd(2).
    pub fn new() -> io::Result<EventFd> {
        // SAFETY: takes no pointers.
        check_fd(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) }).map(EventFd)
    }

    /// One that another process made and sent here; anything but an eventfd is an error. The other process may make it block at
    /// any time: ask [`poll`] before a call that must not.
    ///
    /// Needs no capability, but /proc. Source: proc_pid_fd(5).
    pub fn from_peer(fd: OwnedFd) -> io::Result<EventFd> {
        let kind = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()))?;
        if kind.as_os_str() != "anon_inode:[eventfd]" {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: takes no pointers.
        check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, libc::O_RDWR | libc::O_NONBLOCK) })?;
        Ok(EventFd(fd))
    }

    /// Makes it readable until [`clear`](Self::clear).
    pub fn signal(&self) -> io::Result<()> {
        let one = 1_u64.to_ne_bytes();
        // SAFETY: `one` is valid for reads of eight bytes.
        match check_len(unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) }) {
            // The counter is at its maximum: it is readable, which is all that was wanted.
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }

    /// Sets it to zero; returns how often it was signalled since the last time.
    pub fn clear(&self) -> io::Result<u64> {
        let mut count = [0; 8];
        // SAFETY: `count` is valid for writes of eight bytes.
        match check_len(unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) }) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(u64::from_ne_bytes(count)),
        }
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests;
