//! Time and sleep for a worker, from the kernel.
//!
//! Invariant: a wake-up that comes at any moment ends the sleep that is under way, or the next one.

use crate::worker::Environment;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tidegate_base::Instant;
use tidegate_sys::event::{self, EventFd, Interest, POLL_COUNT_MAX};

/// What another thread holds to end a worker's sleep.
#[derive(Clone)]
pub struct Waker(Arc<Alarm>);

struct Alarm {
    fd: EventFd,
    /// Set after `fd` was signalled, so that who sees it set can clear `fd`.
    raised: AtomicBool,
}

impl Waker {
    /// An alarm that is not raised.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(Alarm { fd: EventFd::new()?, raised: AtomicBool::new(false) })))
    }

    /// Ends the sleep. A worker that is awake notices nothing.
    pub fn wake(&self) {
        // An event counter refuses only what would overflow it, and then it is raised anyway.
        let _ = self.0.fd.signal();
        self.0.raised.store(true, Ordering::Release);
    }

    fn rearm(&self) {
        if self.0.raised.swap(false, Ordering::Acquire) {
            let _ = self.0.fd.clear();
        }
    }
}

/// The kernel's clock, and ppoll(2).
pub struct KernelEnvironment {
    waker: Waker,
}

impl KernelEnvironment {
    /// The environment of the worker that `waker` wakes.
    pub fn new(waker: Waker) -> Self {
        Self { waker }
    }
}

impl Environment for KernelEnvironment {
    fn now(&mut self) -> Instant {
        tidegate_sys::clock::now()
    }

    fn sleep(&mut self, fds: &[BorrowedFd<'_>], deadline: Option<Instant>) {
        let alarm = self.waker.0.fd.as_fd();
        let mut awaited = [(alarm, Interest::READ); POLL_COUNT_MAX];
        let count = fds.len().min(POLL_COUNT_MAX - 1);
        for (slot, fd) in awaited[1..].iter_mut().zip(fds) {
            *slot = (*fd, Interest::READ);
        }
        let timeout = deadline.map(|deadline| deadline.since(tidegate_sys::clock::now()));
        // A failed wait is a short one: the worker looks again.
        let _ = event::poll(&awaited[..=count], timeout);
        self.waker.rearm();
    }
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
