//! Waiting on any number of descriptors: for servers, not for workers, which have few and use [`super::poll`]. A set is a
//! descriptor itself, which loops of others can wait on.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use crate::syscall::{check, check_fd};

/// Descriptors told of by one wait; the others come with the next.
const READY_COUNT_MAX: usize = 64;

/// A set of descriptors, each with a number of the caller's.
///
/// Needs no capability. Source: epoll(7).
#[derive(Debug)]
pub struct Epoll(OwnedFd);

impl Epoll {
    /// An empty set.
    pub fn new() -> io::Result<Epoll> {
        // SAFETY: takes no pointers.
        check_fd(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }).map(Epoll)
    }

    /// Waits for something to read on `fd`, or its end, too. `fd` must be removed before it is closed if it has
    /// duplicates.
    pub fn add(&self, fd: BorrowedFd<'_>, key: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: key };
        let (set, fd) = (self.0.as_raw_fd(), fd.as_raw_fd());
        // SAFETY: `event` lives for the length of the call.
        check(unsafe { libc::epoll_ctl(set, libc::EPOLL_CTL_ADD, fd, &raw mut event) })?;
        Ok(())
    }

    /// Waits for it no more.
    pub fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let nothing = std::ptr::null_mut();
        // SAFETY: no event is read when a descriptor is removed.
        check(unsafe { libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_DEL, fd.as_raw_fd(), nothing) })?;
        Ok(())
    }

    /// Sleeps until some descriptors are ready, and appends their numbers to `ready`; a signal ends it with none.
    pub fn wait(&self, ready: &mut Vec<u64>) -> io::Result<()> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; READY_COUNT_MAX];
        let (first, count) = (events.as_mut_ptr(), events.len() as i32);
        // SAFETY: `events` has room for `count` entries.
        match check(unsafe { libc::epoll_wait(self.0.as_raw_fd(), first, count, -1) }) {
            Ok(count) => {
                ready.extend(events.iter().take(count.unsigned_abs() as usize).map(|event| event.u64))
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl AsFd for Epoll {
    /// Readable while one of its descriptors is ready.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EventFd, Interest, poll};
    use std::os::fd::AsFd;
    use tidegate_base::Duration;

    #[test]
    fn those_that_are_ready_are_told_by_their_numbers() {
        let (epoll, events) = (Epoll::new().unwrap(), [(); 100].map(|()| EventFd::new().unwrap()));
        for (event, key) in events.iter().zip(0..) {
            epoll.add(event.as_fd(), key).unwrap();
        }
        events[70].signal().unwrap();
        events[99].signal().unwrap();
        let mut ready = Vec::new();
        epoll.wait(&mut ready).unwrap();
        ready.sort_unstable();
        assert_eq!(ready, [70, 99]);
        epoll.remove(events[70].as_fd()).unwrap();
        ready.clear();
        epoll.wait(&mut ready).unwrap();
        assert_eq!(ready, [99]);
    }

    #[test]
    fn a_set_is_ready_while_one_of_it_is() {
        let (set, one, other) = (Epoll::new().unwrap(), EventFd::new().unwrap(), EventFd::new().unwrap());
        let is_ready = || poll(&[(set.as_fd(), Interest::READ)], Some(Duration::ZERO)).unwrap() == 1;
        set.add(one.as_fd(), 1).unwrap();
        set.add(other.as_fd(), 2).unwrap();
        assert!(!is_ready());
        other.signal().unwrap();
        assert!(is_ready());
        other.clear().unwrap();
        assert!(!is_ready());
        assert!(set.add(one.as_fd(), 1).is_err(), "it is in it already");
    }
}
