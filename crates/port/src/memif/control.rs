//! The thread that talks to the peer, and what it shares with the ports.
//!
//! ```text
//!   control thread                                  port of queue n
//!   connect/accept, talk  --> slot n: link, epoch + 1 --> takes the link at its next rx or tx
//!   peer gone             --> slot n: none, epoch + 1 --> drops its link
//! ```
//! A change of a slot raises its event, so that a port asleep notices.

use std::fmt::Display;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidegate_sys::event::{EventFd, Interest, poll};
use tidegate_sys::local_socket::Listener;
use tidegate_sys::seqpacket::Channel;

use super::config::{MemifConfig, MemifError, MemifRole};
use super::link::Link;
use super::session::{Session, SessionEnd};
use super::{client, server};
use crate::talker::{Conversation, Talker};
use crate::wake::is_signalled;

/// What goes on with an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemifStatus {
    /// The peer's name, while there is one.
    pub peer: Option<String>,
    /// How often a link came up.
    pub connect_count: u64,
    /// Why the last link ended, or the last attempt failed.
    pub last_error: Option<String>,
}

/// Where a port finds its link.
#[derive(Debug)]
struct Slot {
    /// Rises with each change.
    epoch: AtomicU32,
    link: Mutex<Option<Link>>,
    /// Readable from a change until it is taken: both happen while `link` is locked.
    changed: EventFd,
}

/// What the thread shares with the ports.
#[derive(Debug)]
pub(super) struct Shared {
    slots: Vec<Slot>,
    status: Mutex<MemifStatus>,
    stop: EventFd,
}

/// The value, whatever a thread that panicked left there: it is replaced as a whole each time.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn new(queue_count: u16) -> io::Result<Shared> {
        let slot = || -> io::Result<Slot> {
            Ok(Slot { epoch: AtomicU32::new(0), link: Mutex::default(), changed: EventFd::new()? })
        };
        let slots = (0..queue_count).map(|_| slot()).collect::<io::Result<_>>()?;
        Ok(Shared { slots, status: Mutex::default(), stop: EventFd::new()? })
    }

    pub(super) fn status(&self) -> MemifStatus {
        lock(&self.status).clone()
    }

    /// Which link is the current one of a queue.
    #[inline]
    pub(super) fn epoch(&self, queue: usize) -> u32 {
        self.slots.get(queue).map_or(0, |slot| slot.epoch.load(Ordering::Acquire))
    }

    /// Takes a queue's link, if there is one, and says which it is. What changes afterwards is signalled anew.
    pub(super) fn take(&self, queue: usize) -> (u32, Option<Link>) {
        let Some(slot) = self.slots.get(queue) else { return (0, None) };
        let mut held = lock(&slot.link);
        let _ = slot.changed.clear();
        (slot.epoch.load(Ordering::Acquire), held.take())
    }

    pub(super) fn changed(&self, queue: usize) -> Option<&EventFd> {
        self.slots.get(queue).map(|slot| &slot.changed)
    }

    fn put(&self, slot: &Slot, link: Option<Link>) {
        let mut held = lock(&slot.link);
        *held = link;
        // An event at its maximum is readable, which is all that is wanted.
        let _ = slot.changed.signal();
        slot.epoch.fetch_add(1, Ordering::Release);
    }

    fn come_up(&self, links: Vec<Link>, peer: String) {
        let mut status = lock(&self.status);
        status.peer = Some(peer);
        status.connect_count += 1;
        drop(status);
        for (slot, link) in self.slots.iter().zip(links) {
            self.put(slot, Some(link));
        }
    }

    fn go_down(&self, why: &dyn Display) {
        let mut status = lock(&self.status);
        status.last_error = Some(why.to_string());
        if status.peer.take().is_some() {
            drop(status);
            self.slots.iter().for_each(|slot| self.put(slot, None));
        }
    }
}

/// Ends the thread, and the link with it, when the last port goes.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) shared: Arc<Shared>,
    _talker: Talker<Interface>,
}

impl Control {
    /// Listens if it is a server, and starts to talk.
    pub(super) fn start(config: MemifConfig) -> Result<Control, MemifError> {
        let socket = config.socket.clone();
        let resources = |source| MemifError::Resources { socket: socket.clone(), source };
        let shared = Arc::new(Shared::new(config.queue_count).map_err(resources)?);
        let is_server = config.role == MemifRole::Server;
        let interface = Interface { shared: Arc::clone(&shared), config };
        let talker = Talker::start("memif", &socket, is_server, interface, resources)?;
        Ok(Control { shared, _talker: talker })
    }
}

/// What is said about an interface.
#[derive(Debug)]
struct Interface {
    shared: Arc<Shared>,
    config: MemifConfig,
}

impl Conversation for Interface {
    type Channel = Channel;

    fn stop(&self) -> &EventFd {
        &self.shared.stop
    }

    fn note(&self, why: &dyn Display) {
        self.shared.go_down(why);
    }

    /// One link from its first message to its end.
    fn talk(&self, channel: Channel, others: Option<&Listener<Channel>>) -> bool {
        let session = Session { channel, stop: &self.shared.stop };
        let connected = self.connect(&session);
        let was_up = connected.is_ok();
        let Err(end) = connected.and_then(|()| self.watch(&session, others));
        session.say_goodbye(&end);
        self.shared.go_down(&end);
        was_up
    }
}

impl Interface {
    fn connect(&self, session: &Session<'_>) -> Result<(), SessionEnd> {
        let (links, peer) = match self.config.role {
            MemifRole::Server => server::accept(session, &self.config)?,
            MemifRole::Client => client::connect(session, &self.config)?,
        };
        self.shared.come_up(links, peer);
        Ok(())
    }

    /// Waits for the end of a link. Other clients are sent away meanwhile.
    fn watch(
        &self,
        session: &Session<'_>,
        others: Option<&Listener<Channel>>,
    ) -> Result<std::convert::Infallible, SessionEnd> {
        loop {
            let stop = (self.shared.stop.as_fd(), Interest::READ);
            let peer = (session.channel.as_fd(), Interest::READ);
            match others {
                Some(listener) => poll(&[stop, peer, (listener.as_fd(), Interest::READ)], None)?,
                None => poll(&[stop, peer], None)?,
            };
            if is_signalled(&self.shared.stop) {
                return Err(SessionEnd::Stopped);
            }
            if let Some((message, _)) = session.try_receive()? {
                return Err(SessionEnd::Unexpected { wanted: "disconnect", found: message.name() });
            }
            if let Some(channel) = others.and_then(|listener| listener.try_accept().ok().flatten()) {
                Session { channel, stop: session.stop }.say_goodbye(&SessionEnd::Taken);
            }
        }
    }
}
