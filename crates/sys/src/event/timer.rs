//! A timer and a set of descriptors, each as a descriptor: what an event loop of others waits on.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use tidegate_base::Instant;

use super::Interest;
use crate::syscall::{check, check_fd};

/// A timer, readable from its time on until it is set again.
#[derive(Debug)]
pub struct TimerFd(OwnedFd);

impl TimerFd {
    /// A timer that is not set. Needs no capability. Source: timerfd_create(2).
    pub fn new() -> io::Result<TimerFd> {
        // SAFETY: takes no pointers.
        let fd = check_fd(unsafe {
            libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC | libc::TFD_NONBLOCK)
        })?;
        Ok(TimerFd(fd))
    }

    /// Sets it to `at`, a time of [`clock::now`](crate::clock::now), or to never; what it was set to before is forgotten.
    pub fn set(&self, at: Option<Instant>) -> io::Result<()> {
        // Zero would mean never.
        let ns = at.map_or(0, |at| at.as_nanos().max(1));
        let it_value =
            libc::timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        let spec = libc::itimerspec { it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
        // SAFETY: `spec` is valid for reads for the length of the call; the old value is not asked for.
        check(unsafe {
            libc::timerfd_settime(self.0.as_raw_fd(), libc::TFD_TIMER_ABSTIME, &spec, std::ptr::null_mut())
        })?;
        Ok(())
    }
}

impl AsFd for TimerFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A set of descriptors, readable while one of them is ready. Which, whoever added them finds out.
#[derive(Debug)]
pub struct EpollSet(OwnedFd);

impl EpollSet {
    /// A set of none. Needs no capability. Source: epoll(7).
    pub fn new() -> io::Result<EpollSet> {
        // SAFETY: takes no pointers.
        check_fd(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }).map(EpollSet)
    }

    /// Adds a descriptor, which leaves the set when it is closed everywhere. One that is in it already is an error.
    pub fn add(&self, fd: BorrowedFd<'_>, interest: Interest) -> io::Result<()> {
        let mut event = libc::epoll_event { events: u32::from(interest.0.unsigned_abs()), u64: 0 };
        let (set, fd) = (self.0.as_raw_fd(), fd.as_raw_fd());
        // SAFETY: `event` is valid for reads for the length of the call. The bits of poll(2) are those of epoll.
        check(unsafe { libc::epoll_ctl(set, libc::EPOLL_CTL_ADD, fd, &raw mut event) })?;
        Ok(())
    }
}

impl AsFd for EpollSet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::event::{EventFd, poll};
    use tidegate_base::Duration;

    fn is_ready(fd: BorrowedFd<'_>) -> bool {
        poll(&[(fd, Interest::READ)], Some(Duration::ZERO)).unwrap() == 1
    }

    #[test]
    fn a_timer_is_readable_from_its_time_until_it_is_set_again() {
        let timer = TimerFd::new().unwrap();
        timer.set(Some(Instant::ZERO)).unwrap();
        assert!(is_ready(timer.as_fd()), "a time that is past");
        timer.set(Some(clock::now() + Duration::from_secs(3600))).unwrap();
        assert!(!is_ready(timer.as_fd()));
        timer.set(None).unwrap();
        assert!(!is_ready(timer.as_fd()));
    }

    #[test]
    fn a_set_is_ready_while_one_of_it_is() {
        let (set, one, other) = (EpollSet::new().unwrap(), EventFd::new().unwrap(), EventFd::new().unwrap());
        set.add(one.as_fd(), Interest::READ).unwrap();
        set.add(other.as_fd(), Interest::READ).unwrap();
        assert!(!is_ready(set.as_fd()));
        other.signal().unwrap();
        assert!(is_ready(set.as_fd()));
        other.clear().unwrap();
        assert!(!is_ready(set.as_fd()));
        assert!(set.add(one.as_fd(), Interest::READ).is_err(), "it is in it already");
    }
}
