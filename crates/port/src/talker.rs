//! A thread that holds conversations over a unix socket, one after the other: with whoever comes, or with the one that listens.
//!
//! ```text
//!   server   listen --> accept --> talk --> accept --> ...        a second peer meanwhile is the conversation's affair
//!   client   connect --> talk --> pause --> connect --> ...       20 ms, doubled up to 1 s while nobody can be talked to
//! ```
//! Invariant: the thread ends, and with it the conversation, before its [`Talker`] is gone.

use std::fmt::Display;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::JoinHandle;

use tidegate_base::Duration;
use tidegate_sys::event::{EventFd, Interest, poll};
use tidegate_sys::local_socket::{Connection, Listener, LocalSocketError, connect};

use crate::wake::is_signalled;

/// How long a client waits between two attempts, at first and at most.
const RETRY_MIN: Duration = Duration::from_millis(20);
const RETRY_MAX: Duration = Duration::from_millis(1000);

/// What is said over a connection.
pub(crate) trait Conversation: Send + Sync + 'static {
    type Channel: Connection + 'static;

    /// Signalled once, when it is time to end.
    fn stop(&self) -> &EventFd;

    /// Talks until that ends or `stop` is signalled, and minds who else knocks. Whether there was a link.
    fn talk(&self, channel: Self::Channel, others: Option<&Listener<Self::Channel>>) -> bool;

    /// There is nobody to talk to.
    fn note(&self, why: &dyn Display);

    /// Has a call of `talk` that waits for the peer return; `stop` is signalled.
    fn interrupt(&self) {}
}

/// How peers are met.
enum Door<C> {
    Listens(Listener<C>),
    Connects(String),
}

/// The thread; dropped, it ends.
#[derive(Debug)]
pub(crate) struct Talker<T: Conversation> {
    conversation: Arc<T>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Conversation> Talker<T> {
    /// Listens at `socket` if it is a server, and starts to talk.
    pub(crate) fn start<E: From<LocalSocketError>>(
        name: &str,
        socket: &str,
        is_server: bool,
        conversation: T,
        resources: impl FnOnce(io::Error) -> E,
    ) -> Result<Talker<T>, E> {
        let door = match is_server {
            true => Door::Listens(Listener::bind(socket)?),
            false => Door::Connects(socket.to_owned()),
        };
        let conversation = Arc::new(conversation);
        let theirs = Arc::clone(&conversation);
        let thread = std::thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || run(&*theirs, &door)).map_err(resources)?;
        Ok(Talker { conversation, thread: Some(thread) })
    }
}

impl<T: Conversation> Drop for Talker<T> {
    fn drop(&mut self) {
        let _ = self.conversation.stop().signal();
        self.conversation.interrupt();
        if let Some(thread) = self.thread.take() {
            // Nothing panics there; if it did, the panic was printed.
            let _ = thread.join();
        }
    }
}

fn run<T: Conversation>(conversation: &T, door: &Door<T::Channel>) {
    let (stop, mut pause) = (conversation.stop(), RETRY_MIN);
    loop {
        let others = match door {
            Door::Listens(listener) => Some(listener),
            Door::Connects(_) => None,
        };
        let channel = door.next(stop);
        let is_met = channel.is_ok();
        let was_up = match channel {
            Ok(None) => return,
            Ok(Some(channel)) => conversation.talk(channel, others),
            Err(error) => {
                conversation.note(&error);
                false
            }
        };
        pause = if was_up { RETRY_MIN } else { pause.saturating_mul(2).min(RETRY_MAX) };
        // A server waits for whoever comes next; where it cannot take one, others may close some descriptors.
        let is_over = if others.is_some() && is_met { is_signalled(stop) } else { !sleep(stop, pause) };
        if is_over {
            return;
        }
    }
}

/// Sleeps; false if it is time to end.
fn sleep(stop: &EventFd, time: Duration) -> bool {
    let _ = poll(&[(stop.as_fd(), Interest::READ)], Some(time));
    !is_signalled(stop)
}

impl<C: Connection> Door<C> {
    /// The next peer; none if it is time to end.
    fn next(&self, stop: &EventFd) -> Result<Option<C>, Box<dyn std::error::Error>> {
        let listener = match self {
            Door::Connects(socket) => return Ok(Some(connect(socket)?)),
            Door::Listens(listener) => listener,
        };
        loop {
            poll(&[(listener.as_fd(), Interest::READ), (stop.as_fd(), Interest::READ)], None)?;
            if is_signalled(stop) {
                return Ok(None);
            }
            if let Some(peer) = listener.try_accept()? {
                return Ok(Some(peer));
            }
        }
    }
}
