//! A stack that outlives the daemon: a thread claims slot and tuples back from each daemon that is started again.

use crate::client::{Attachment, ClientError};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tidegate_base::Duration;
use tidegate_sys::event::{EventFd, Interest, poll};

/// Time between two tries: many in the ten seconds that a daemon keeps what is not claimed back.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Keeps an attachment until it is dropped, or a daemon refuses to give it back.
#[derive(Debug)]
pub struct Keeper {
    stop: Arc<EventFd>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Keeps `attachment`, to a daemon whose socket is at `path`. Tuples are bound before: nothing else uses its channel.
    pub fn new(attachment: Attachment, path: &str) -> io::Result<Self> {
        let stop = Arc::new(EventFd::new()?);
        let (seen, path) = (Arc::clone(&stop), path.to_owned());
        let thread = thread::Builder::new().name("mux-keeper".into()).spawn(move || {
            // Without poll(2) nothing can be waited for: the attachment is given up.
            let _ = keep(attachment, &path, &seen);
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = self.stop.signal();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn keep(mut attachment: Attachment, path: &str, stop: &EventFd) -> io::Result<()> {
    loop {
        poll(&[(attachment.as_fd(), Interest::READ), (stop.as_fd(), Interest::READ)], None)?;
        if is_stopped(stop, Duration::ZERO)? {
            return Ok(());
        }
        while attachment.is_orphaned() {
            if let Err(ClientError::Refused(_)) = attachment.reattach(path) {
                return Ok(());
            }
            if is_stopped(stop, RETRY_INTERVAL)? {
                return Ok(());
            }
        }
    }
}

fn is_stopped(stop: &EventFd, within: Duration) -> io::Result<bool> {
    Ok(poll(&[(stop.as_fd(), Interest::READ)], Some(within))? > 0)
}
