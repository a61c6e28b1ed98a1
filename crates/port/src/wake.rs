//! Events that another process signals or is signalled by.

use std::os::fd::AsFd;

use tidegate_base::Duration;
use tidegate_sys::event::{EventFd, Interest, poll};

/// Whether the event can be read or written without waiting. It came from the peer or went to it, so that it may have been made
/// to block.
pub(crate) fn is_ready(event: &EventFd, interest: Interest) -> bool {
    poll(&[(event.as_fd(), interest)], Some(Duration::ZERO)).is_ok_and(|count| count == 1)
}

/// Whether the event was signalled since it was last cleared.
pub(crate) fn is_signalled(event: &EventFd) -> bool {
    is_ready(event, Interest::READ)
}

/// Signals a peer's event, unless that would wait; returns how many system calls it took.
pub(crate) fn tell(event: &EventFd) -> u64 {
    1 + u64::from(is_ready(event, Interest::WRITE) && event.signal().is_ok())
}

/// Clears an event that a peer signals, unless that would wait; returns how many system calls it took.
pub(crate) fn hush(event: &EventFd) -> u64 {
    1 + u64::from(is_ready(event, Interest::READ) && event.clear().is_ok())
}

/// After how many empty looks a signal that came late is taken away, so that nobody is woken by it for ever.
pub(crate) const LOOKS_PER_HUSH: u32 = 32;
