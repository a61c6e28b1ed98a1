//! A timer as a descriptor, for event loops.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use tidegate_base::Instant;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::event::{Interest, poll};
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
}
