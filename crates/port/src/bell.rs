//! How a thread that puts things on a ring wakes the one that takes them off.
//!
//! Invariant: after `hush`, whoever finds the ring empty is woken by the next `ring`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use tidegate_sys::event::EventFd;

/// Wakes the receiving end, at most once until it has looked.
#[derive(Debug)]
pub struct Bell {
    event: EventFd,
    rung: AtomicBool,
}

impl Bell {
    /// A bell that has not been rung. An error means that the process has no descriptors left.
    pub fn new() -> io::Result<Self> {
        Ok(Self { event: EventFd::new()?, rung: AtomicBool::new(false) })
    }

    /// Called after something was put on the ring; true if it took a system call.
    pub fn ring(&self) -> bool {
        let first = !self.rung.swap(true, Ordering::AcqRel);
        if first {
            // An eventfd that cannot be raised is closed, and then nobody waits for it.
            let _ = self.event.signal();
        }
        first
    }

    /// Called when the ring was found empty, so that the next thing rings again; true if it took a system
    /// call. Whoever rang before the last step here was not heard: look at the ring once more.
    pub fn hush(&self) -> bool {
        let rung = self.rung.load(Ordering::Relaxed);
        if rung {
            let _ = self.event.clear();
            self.rung.swap(false, Ordering::AcqRel);
        }
        rung
    }
}

impl AsFd for Bell {
    /// Readable once it has been rung.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}
