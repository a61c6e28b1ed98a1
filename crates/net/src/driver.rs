//! The task that carries a stack's frames.

use crate::net::Shared;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Weak};
use tidegate_base::Duration;
use tidegate_sys::event::{self, Interest};
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

/// Starts it; it ends with the last owner of `shared`.
pub(crate) fn spawn(descriptor: OwnedFd, work: Arc<Notify>, shared: Weak<Shared>) -> io::Result<()> {
    // Deprecated for descriptors that somebody else could close; this one is owned, and the way without this crate's
    // forbidden `unsafe`.
    #[allow(deprecated)]
    let descriptor = AsyncFd::with_interest(descriptor, tokio::io::Interest::READABLE)?;
    tokio::spawn(async move {
        if let Err(error) = drive(&descriptor, &work, &shared).await
            && let Some(shared) = shared.upgrade()
        {
            shared.fail(&error);
        }
    });
    Ok(())
}

async fn drive(descriptor: &AsyncFd<OwnedFd>, work: &Notify, shared: &Weak<Shared>) -> io::Result<()> {
    loop {
        tokio::select! {
            // What became readable before is looked at below; what does later is told anew.
            guard = descriptor.readable() => guard?.clear_ready(),
            () = work.notified() => {}
        }
        loop {
            let Some(stack) = shared.upgrade() else { return Ok(()) };
            let received = stack.round();
            drop(stack);
            // Tasks first: what they answer shares the next round. They are told of what is still there by nobody else.
            if !received && !is_readable(descriptor.get_ref())? {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
}

/// Whether the descriptor is readable now.
fn is_readable(descriptor: &OwnedFd) -> io::Result<bool> {
    Ok(event::poll(&[(descriptor.as_fd(), Interest::READ)], Some(Duration::ZERO))? > 0)
}
