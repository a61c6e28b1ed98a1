//! NICs that services, ports and stacks of other processes share, and the socket that such stacks ask by.
//!
//! Services and ports share programs always; stacks of other processes are served once [`Daemon::open_mux`] was called.

use crate::Daemon;
use crossbeam_channel::{Receiver, never};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tidegate_bpf::{ModeChoice, PIN_ROOT, Rate};
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

    /// Hears nobody any more, and leaves stacks as they are for another daemon.
    pub(crate) fn leave(&mut self) {
        self.server = None;
        if let Some(desk) = self.desk.take() {
            desk.leave();
        }
    }
}

/// How stacks of other processes are served.
#[derive(Clone, Debug)]
pub struct MuxConfig {
    /// The socket that they ask at. What is needed after a restart is in a file beside it, and memifs are in a directory there.
    pub path: PathBuf,
    /// Where programs are pinned, in a bpf file system.
    pub pin_root: PathBuf,
    /// How much each stack may send, but for those that have a queue of the NIC; nothing: as much as it can.
    pub rate: Option<Rate>,
}

impl MuxConfig {
    /// At that socket, as usual.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), pin_root: PIN_ROOT.into(), rate: None }
    }
}

impl Daemon {
    /// Serves stacks of other processes, and goes on with those of an earlier daemon.
    pub fn open_mux(&mut self, config: &MuxConfig) -> Result<(), MuxError> {
        let MuxConfig { path, pin_root, rate } = config;
        if path.to_string_lossy().starts_with('@') {
            let text = format!("--mux {}: there is a file beside the socket: name a path", path.display());
            return Err(MuxError::Input(text));
        }
        // The socket first: a second daemon is refused by it before it touches what the first one has.
        let (server, events) = Server::start(&path.to_string_lossy())?;
        let desk = Desk::open(path.with_extension("state"), pin_root.clone(), *rate, self)?;
        self.mux = Mux { desk: Some(desk), server: Some(server), events, ..Mux::default() };
        Ok(())
    }

    /// Does what a stack asks. Without an event nobody will ask any more.
    pub(crate) fn on_stack_event(&mut self, event: Option<Event>) {
        let done = event.and_then(|event| self.with_desk(|desk, daemon| desk.on_event(event, daemon)));
        if done.is_none() {
            self.mux.events = never();
        }
    }

    /// Ends leases that were not claimed back; when to look again.
    pub(crate) fn expire_stacks(&mut self) -> Option<Instant> {
        let expiry = self.with_desk(|desk, daemon| {
            desk.expire(Instant::now(), daemon);
            desk.next_expiry()
        });
        expiry.flatten()
    }

    /// Has the desk of stacks do something that may concern frames which the daemon carries for them.
    pub(crate) fn with_desk<R>(&mut self, work: impl FnOnce(&mut Desk, &mut Self) -> R) -> Option<R> {
        let mut desk = self.mux.desk.take()?;
        let result = work(&mut desk, self);
        self.mux.desk = Some(desk);
        Some(result)
    }
}
