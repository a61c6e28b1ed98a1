//! The thread that talks to the front end, and what it shares with the ports.
//!
//! ```text
//!   control thread                                       port of queue pair n
//!   ring of n changes --> slot n: locked, ends replaced  --> in a round that finds it locked: no link
//!                         epoch + 1                      --> looks at its next rx or tx what there is now
//!   front end gone    --> slots: no ends, epoch + 1
//!   memory gone     <--     `gone` signalled             <-- found a page missing
//! ```
//! A port holds its slot's lock while it works on the rings, and only tries for it: the control thread may wait for a port, which
//! is at a batch at most, and no port waits. So a ring that was taken back is touched by nobody any more.

use std::fmt::Display;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use tidegate_base::Duration;
use tidegate_sys::event::{EventFd, Interest, poll};
use tidegate_sys::local_socket::Listener;
use vhost::vhost_user::BackendReqHandler;

use super::config::{VhostUserConfig, VhostUserError, VhostUserRole};
use super::device::Device;
use super::receiver::Receiver;
use super::sender::Sender;
use crate::talker::{Conversation, Talker};
use crate::wake::{is_ready, is_signalled};

/// What goes on with a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VhostUserStatus {
    /// Whether a front end is there.
    pub is_connected: bool,
    /// How many were there so far.
    pub connect_count: u64,
    /// The features that the front end took last, bits of virtio.
    pub features: u64,
    /// Why the last one went, or what is wrong with this one.
    pub last_error: Option<String>,
}

/// What a queue pair runs on: as much as the front end has started.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub(super) receiver: Option<Receiver>,
    pub(super) sender: Option<Sender>,
}

/// Where a port finds its ends.
#[derive(Debug)]
struct Slot {
    /// Rises with each change.
    epoch: AtomicU32,
    ends: Mutex<Ends>,
    /// What a port without a receiver sleeps on.
    changed: EventFd,
}

/// What the thread shares with the ports.
#[derive(Debug)]
pub(super) struct Shared {
    slots: Vec<Slot>,
    status: Mutex<VhostUserStatus>,
    stop: EventFd,
    /// A port found the front end's memory gone.
    gone: EventFd,
    /// The connection that is read from, to end a read.
    current: Mutex<Option<UnixStream>>,
}

/// The value, whatever a thread that panicked left there: it is replaced as a whole each time.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn new(queue_count: u16) -> io::Result<Shared> {
        let slot = || -> io::Result<Slot> {
            Ok(Slot { epoch: AtomicU32::new(0), ends: Mutex::default(), changed: EventFd::new()? })
        };
        Ok(Shared {
            slots: (0..queue_count).map(|_| slot()).collect::<io::Result<_>>()?,
            status: Mutex::default(),
            stop: EventFd::new()?,
            gone: EventFd::new()?,
            current: Mutex::default(),
        })
    }

    pub(super) fn queue_count(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn status(&self) -> VhostUserStatus {
        lock(&self.status).clone()
    }

    pub(super) fn note(&self, what: String) {
        lock(&self.status).last_error = Some(what);
    }

    pub(super) fn agree(&self, features: u64) {
        lock(&self.status).features = features;
    }

    /// Which ends are the current ones of a queue pair.
    #[inline]
    pub(super) fn epoch(&self, queue: usize) -> u32 {
        self.slots.get(queue).map_or(0, |slot| slot.epoch.load(Ordering::Acquire))
    }

    /// A queue pair's ends, unless they are just being changed.
    #[inline]
    pub(super) fn try_ends(&self, queue: usize) -> Option<MutexGuard<'_, Ends>> {
        match self.slots.get(queue)?.ends.try_lock() {
            Ok(ends) => Some(ends),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    pub(super) fn changed(&self, queue: usize) -> Option<&EventFd> {
        self.slots.get(queue).map(|slot| &slot.changed)
    }

    /// Ends the connection, whose memory is no longer there.
    pub(super) fn report_gone(&self) {
        // An event at its maximum is readable, which is all that is wanted.
        let _ = self.gone.signal();
    }

    /// Puts another receiver in place of a queue pair's; returns the one before, which nobody has any more.
    pub(super) fn put_receiver(&self, queue: usize, receiver: Option<Receiver>) -> Option<Receiver> {
        let slot = self.slots.get(queue)?;
        let mut ends = lock(&slot.ends);
        let before = std::mem::replace(&mut ends.receiver, receiver);
        let has_changed = before.is_some() || ends.receiver.is_some();
        drop(ends);
        if has_changed {
            slot.tell(before.as_ref().map(|before| &**before.kick()));
        }
        before
    }

    /// The same for the sender.
    pub(super) fn put_sender(&self, queue: usize, sender: Option<Sender>) -> Option<Sender> {
        let slot = self.slots.get(queue)?;
        let mut ends = lock(&slot.ends);
        let before = std::mem::replace(&mut ends.sender, sender);
        let kick = ends.receiver.as_ref().map(|receiver| Arc::clone(receiver.kick()));
        let has_changed = before.is_some() || ends.sender.is_some();
        drop(ends);
        if has_changed {
            slot.tell(kick.as_deref());
        }
        before
    }

    fn come_up(&self, stream: UnixStream) {
        *lock(&self.current) = Some(stream);
        let mut status = lock(&self.status);
        status.is_connected = true;
        status.connect_count += 1;
    }

    fn go_down(&self, why: &SessionEnd) {
        *lock(&self.current) = None;
        for queue in 0..self.slots.len() {
            self.put_sender(queue, None);
            self.put_receiver(queue, None);
        }
        // Also where a port took its ends away by itself.
        self.slots.iter().for_each(|slot| slot.tell(None));
        let mut status = lock(&self.status);
        status.is_connected = false;
        status.last_error = Some(why.to_string());
    }
}

impl Slot {
    /// Has the port look at what changed, also one that sleeps on `kick`.
    fn tell(&self, kick: Option<&EventFd>) {
        self.epoch.fetch_add(1, Ordering::Release);
        // Events at their maximum are readable, which is all that is wanted.
        let _ = self.changed.signal();
        if let Some(event) = kick.filter(|event| is_ready(event, Interest::WRITE)) {
            let _ = event.signal();
        }
    }
}

/// Why there is no front end, or no longer.
#[derive(Debug, thiserror::Error)]
enum SessionEnd {
    #[error("this side is closing")]
    Stopped,
    #[error("the front end is gone")]
    Closed,
    #[error("the front end's memory is gone: it was shrunk or pages of it were given back")]
    MemoryGone,
    #[error("{0}")]
    Refused(String),
    #[error("the front end does not talk as vhost-user does: {0}")]
    Protocol(vhost::vhost_user::Error),
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Ends the thread, and the connection with it, when the last port goes.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) shared: Arc<Shared>,
    _talker: Talker<Guest>,
}

impl Control {
    /// Listens if it is a server, and starts to talk.
    pub(super) fn start(config: &VhostUserConfig) -> Result<Control, VhostUserError> {
        let socket = &config.socket;
        let resources = |source| VhostUserError::Resources { socket: socket.clone(), source };
        let shared = Arc::new(Shared::new(config.queue_count).map_err(resources)?);
        let is_server = config.role == VhostUserRole::Server;
        let talker = Talker::start("vhost_user", socket, is_server, Guest(Arc::clone(&shared)), resources)?;
        Ok(Control { shared, _talker: talker })
    }
}

/// What is said with a front end.
#[derive(Debug)]
struct Guest(Arc<Shared>);

impl Conversation for Guest {
    type Channel = UnixStream;

    fn stop(&self) -> &EventFd {
        &self.0.stop
    }

    fn note(&self, why: &dyn Display) {
        self.0.note(why.to_string());
    }

    fn talk(&self, stream: UnixStream, others: Option<&Listener<UnixStream>>) -> bool {
        let Err(end) = self.serve(&stream, others);
        self.0.go_down(&end);
        true
    }

    /// A front end that has sent half a message keeps the thread reading until this.
    fn interrupt(&self) {
        if let Some(stream) = &*lock(&self.0.current) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

impl Guest {
    /// One connection from its first message to its end.
    fn serve(
        &self,
        stream: &UnixStream,
        others: Option<&Listener<UnixStream>>,
    ) -> Result<std::convert::Infallible, SessionEnd> {
        let _ = self.0.gone.clear();
        self.0.come_up(stream.try_clone()?);
        let device = Arc::new(Mutex::new(Device::new(Arc::clone(&self.0))));
        let mut handler = BackendReqHandler::from_stream(stream.try_clone()?, Arc::clone(&device));
        loop {
            self.wait(stream, others)?;
            handler.handle_request().map_err(|error| match lock(&device).take_complaint() {
                Some(why) => SessionEnd::Refused(why),
                None if is_closed(&error) => SessionEnd::Closed,
                None => SessionEnd::Protocol(error),
            })?;
        }
    }

    /// Waits for the next message. Other front ends are sent away meanwhile.
    fn wait(&self, stream: &UnixStream, others: Option<&Listener<UnixStream>>) -> Result<(), SessionEnd> {
        loop {
            let Shared { stop, gone, .. } = &*self.0;
            let all = [stop.as_fd(), gone.as_fd(), stream.as_fd()];
            let all = all.into_iter().chain(others.map(|listener| listener.as_fd()));
            let all: arrayvec::ArrayVec<_, 4> = all.map(|fd| (fd, Interest::READ)).collect();
            poll(&all, None)?;
            if is_signalled(stop) {
                return Err(SessionEnd::Stopped);
            }
            if is_signalled(gone) {
                return Err(SessionEnd::MemoryGone);
            }
            if poll(&[(stream.as_fd(), Interest::READ)], Some(Duration::ZERO))? > 0 {
                return Ok(());
            }
            // Dropped, and so told that there is no room.
            let _ = others.map(Listener::try_accept);
        }
    }
}

fn is_closed(error: &vhost::vhost_user::Error) -> bool {
    use vhost::vhost_user::Error;
    matches!(error, Error::Disconnected | Error::PartialMessage | Error::SocketBroken(_))
}
