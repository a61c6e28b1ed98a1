//! NICs that services, ports and stacks of other processes share, and the socket that such stacks ask by.
//!
//! Services and ports share programs always; stacks of other processes are served once [`Daemon::open_mux`] was called.

use crate::Daemon;
use crossbeam_channel::{Receiver, never};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tidegate_bpf::ModeChoice;
use tidegate_mux::server::{Event, Server};
use tidegate_mux::{Desk, Ground, MuxError, Nic, find_link};
use tidegate_sys::netlink::Netlink;

/// The NICs, and who asks for them.
pub(crate) struct Mux {
    /// Without stacks of other processes.
    ground: Ground,
    desk: Option<Desk>,
    server: Option<Server>,
    events: Receiver<Event>,
}

impl Default for Mux {
    fn default() -> Self {
        Self { ground: Ground::default(), desk: None, server: None, events: never() }
    }
}

impl Mux {
    /// Where services and ports find NICs.
    pub(crate) fn ground(&mut self) -> &mut Ground {
        self.desk.as_mut().map_or(&mut self.ground, Desk::ground_mut)
    }

    /// The NIC of that name, with the program on it.
    pub(crate) fn nic(&mut self, name: &str, choice: ModeChoice) -> Result<Arc<Nic>, MuxError> {
        let link = find_link(&mut Netlink::open()?, name)?;
        self.ground().nic(link, choice)
    }

    /// Stacks of other processes, if they are served.
    pub(crate) fn desk(&mut self) -> Option<&mut Desk> {
        self.desk.as_mut()
    }

    /// What stacks ask.
    pub(crate) fn events(&self) -> Receiver<Event> {
        self.events.clone()
    }

    /// Does what a stack asks. Without an event nobody will ask any more.
    pub(crate) fn on_event(&mut self, event: Option<Event>) {
        match (event, &mut self.desk) {
            (Some(event), Some(desk)) => desk.on_event(event),
            _ => self.events = never(),
        }
    }

    /// Ends leases that were not claimed back; when to look again.
    pub(crate) fn expire(&mut self) -> Option<Instant> {
        let desk = self.desk.as_mut()?;
        desk.expire(Instant::now());
        desk.next_expiry()
    }

    /// Hears nobody any more, and leaves stacks as they are for another daemon.
    pub(crate) fn leave(&mut self) {
        self.server = None;
        if let Some(desk) = self.desk.take() {
            desk.leave();
        }
    }
}

impl Daemon {
    /// Serves stacks of other processes over a socket at `path`, and goes on with those of an earlier daemon. What is needed
    /// for that is in a file beside it, and pinned below `pins`, a directory in a bpf file system that no other daemon has.
    pub fn open_mux(&mut self, path: &Path, pins: &Path) -> Result<(), MuxError> {
        if path.to_string_lossy().starts_with('@') {
            let text = format!("--mux {}: there is a file beside the socket: name a path", path.display());
            return Err(MuxError::Input(text));
        }
        // The socket first: a second daemon is refused by it before it touches what the first one has.
        let (server, events) = Server::start(&path.to_string_lossy())?;
        let desk = Desk::open(path.with_extension("state"), pins.into())?;
        self.mux = Mux { desk: Some(desk), server: Some(server), events, ..Mux::default() };
        Ok(())
    }
}
