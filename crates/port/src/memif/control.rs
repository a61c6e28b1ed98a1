//! The thread that talks to the peer, and what it shares with the ports.
//!
//! ```text
//!   control thread                                  port of queue n
//!   connect/accept, talk  --> slot n: link, epoch + 1 --> takes the link at its next rx or tx
//!   peer gone             --> slot n: none, epoch + 1 --> drops its link
//! ```
//! A change of a slot raises its event, or that of the link that ends, so that a port asleep notices.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tidegate_base::Duration;
use tidegate_sys::event::{EventFd, Interest, poll};
use tidegate_sys::seqpacket::{Channel, Listener};

use super::config::{MemifConfig, MemifError, MemifRole};
use super::link::Link;
use super::session::{Session, SessionEnd};
use super::{client, server};
use crate::wake::{is_ready, is_signalled};

/// How long a client waits between two attempts, at first and at most.
const RETRY_MIN: Duration = Duration::from_millis(20);
const RETRY_MAX: Duration = Duration::from_millis(1000);

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
    /// What the current link's port may sleep on.
    sleeps_on: Mutex<Option<Arc<EventFd>>>,
    /// What a port without a link sleeps on.
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
            Ok(Slot {
                epoch: AtomicU32::new(0),
                link: Mutex::default(),
                sleeps_on: Mutex::default(),
                changed: EventFd::new()?,
            })
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

    /// Takes a queue's link, if there is one.
    pub(super) fn take(&self, queue: usize) -> Option<Link> {
        let slot = self.slots.get(queue)?;
        // Cleared first: what changes afterwards is signalled again.
        let _ = slot.changed.clear();
        lock(&slot.link).take()
    }

    pub(super) fn changed(&self, queue: usize) -> Option<&EventFd> {
        self.slots.get(queue).map(|slot| &slot.changed)
    }

    fn put(&self, slot: &Slot, link: Option<Link>) {
        let sleeps_on = link.as_ref().map(|link| Arc::clone(link.receiver.event()));
        *lock(&slot.link) = link;
        slot.epoch.fetch_add(1, Ordering::Release);
        let before = std::mem::replace(&mut *lock(&slot.sleeps_on), sleeps_on);
        // Events at their maximum are readable, which is all that is wanted.
        let _ = slot.changed.signal();
        if let Some(event) = before.filter(|event| is_ready(event, Interest::WRITE)) {
            let _ = event.signal();
        }
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

    fn go_down(&self, why: &SessionEnd) {
        let mut status = lock(&self.status);
        status.last_error = Some(why.to_string());
        if status.peer.take().is_some() {
            drop(status);
            self.slots.iter().for_each(|slot| self.put(slot, None));
        }
    }

    /// Sleeps; false if it is time to end.
    fn sleep(&self, time: Duration) -> bool {
        let _ = poll(&[(self.stop.as_fd(), Interest::READ)], Some(time));
        !is_signalled(&self.stop)
    }
}

/// Ends the thread, and the link with it, when the last port goes.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Control {
    /// Listens if it is a server, and starts to talk.
    pub(super) fn start(config: MemifConfig) -> Result<Control, MemifError> {
        let socket = config.socket.clone();
        let resources = |source| MemifError::Resources { socket: socket.clone(), source };
        let listener = match config.role {
            MemifRole::Server => Some(Listener::bind(&config.socket)?),
            MemifRole::Client => None,
        };
        let shared = Arc::new(Shared::new(config.queue_count).map_err(resources)?);
        let talker = Talker { shared: Arc::clone(&shared), config, listener };
        let thread = std::thread::Builder::new().name("memif".into());
        let thread = thread.spawn(move || talker.run()).map_err(resources)?;
        Ok(Control { shared, thread: Some(thread) })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = self.shared.stop.signal();
        if let Some(thread) = self.thread.take() {
            // Nothing panics there; if it did, the panic was printed.
            let _ = thread.join();
        }
    }
}

struct Talker {
    shared: Arc<Shared>,
    config: MemifConfig,
    listener: Option<Listener>,
}

impl Talker {
    fn run(self) {
        let mut pause = RETRY_MIN;
        loop {
            let before = self.shared.status().connect_count;
            let end = self.next_channel().and_then(|channel| self.talk(channel));
            let Err(end) = end;
            self.shared.go_down(&end);
            if matches!(end, SessionEnd::Stopped) {
                return;
            }
            let was_up = self.shared.status().connect_count > before;
            pause = if was_up { RETRY_MIN } else { pause.saturating_mul(2).min(RETRY_MAX) };
            // A server waits for the next client; it needs no pause.
            if self.listener.is_none() && !self.shared.sleep(pause) {
                return;
            }
        }
    }

    /// The next client, or a connection to the server.
    fn next_channel(&self) -> Result<Channel, SessionEnd> {
        let Some(listener) = &self.listener else { return Ok(Channel::connect(&self.config.socket)?) };
        loop {
            poll(&[(listener.as_fd(), Interest::READ), (self.shared.stop.as_fd(), Interest::READ)], None)?;
            if is_signalled(&self.shared.stop) {
                return Err(SessionEnd::Stopped);
            }
            match listener.try_accept() {
                Ok(Some(channel)) => return Ok(channel),
                Ok(None) => {}
                // Out of descriptors, say: others may close some.
                Err(error) => {
                    self.shared.go_down(&SessionEnd::Io(error));
                    self.shared.sleep(RETRY_MAX);
                }
            }
        }
    }

    /// One link from its first message to its end.
    fn talk(&self, channel: Channel) -> Result<std::convert::Infallible, SessionEnd> {
        let session = Session { channel, stop: &self.shared.stop };
        let end = self.connect(&session).and_then(|()| self.watch(&session));
        if let Err(end) = &end {
            session.say_goodbye(end);
        }
        end
    }

    fn connect(&self, session: &Session<'_>) -> Result<(), SessionEnd> {
        let (links, peer) = match self.config.role {
            MemifRole::Server => server::accept(session, &self.config)?,
            MemifRole::Client => client::connect(session, &self.config)?,
        };
        self.shared.come_up(links, peer);
        Ok(())
    }

    /// Waits for the end of a link. Other clients are sent away meanwhile.
    fn watch(&self, session: &Session<'_>) -> Result<std::convert::Infallible, SessionEnd> {
        loop {
            let stop = (self.shared.stop.as_fd(), Interest::READ);
            let peer = (session.channel.as_fd(), Interest::READ);
            match &self.listener {
                Some(listener) => poll(&[stop, peer, (listener.as_fd(), Interest::READ)], None)?,
                None => poll(&[stop, peer], None)?,
            };
            if is_signalled(&self.shared.stop) {
                return Err(SessionEnd::Stopped);
            }
            if let Some((message, _)) = session.try_receive()? {
                return Err(SessionEnd::Unexpected { wanted: "disconnect", found: message.name() });
            }
            if let Some(channel) =
                self.listener.as_ref().and_then(|listener| listener.try_accept().ok().flatten())
            {
                Session { channel, stop: session.stop }.say_goodbye(&SessionEnd::Taken);
            }
        }
    }
}
