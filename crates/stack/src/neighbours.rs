//! Link addresses of hosts that this side opens connections to. A server never needs them: it
//! answers to where the request came from.
//!
//! Only addresses that somebody here asked for are learned, so a stranger cannot fill the table. A stack whose addresses are the
//! kernel's does not ask the link, whose answers the kernel would hear: it names whom it looks for, and is told.

use std::collections::HashMap;
use tidegate_wire::{FlowAddr, MacAddr};

/// Connections that wait for one address at most.
const WAITING_COUNT_MAX: usize = 4096;

#[derive(Default)]
struct Neighbour {
    mac: Option<MacAddr>,
    waiting: Vec<u32>,
}

/// Who is where on the link.
pub(crate) struct Neighbours {
    entries: HashMap<FlowAddr, Neighbour>,
    ready: Vec<u32>,
    /// Whom the kernel is to be asked for.
    unresolved: Vec<FlowAddr>,
}

impl Neighbours {
    pub(crate) fn new() -> Self {
        Self { entries: HashMap::new(), ready: Vec::new(), unresolved: Vec::new() }
    }

    /// Records an address that is known beforehand.
    pub(crate) fn set(&mut self, addr: FlowAddr, mac: MacAddr) {
        self.entries.entry(addr).or_default();
        self.learn(addr, mac);
    }

    /// The link address of `addr`, if it is known.
    pub(crate) fn find(&self, addr: FlowAddr) -> Option<MacAddr> {
        self.entries.get(&addr)?.mac
    }

    /// Has connection `index` told when `addr` is known. True if nobody asked before.
    pub(crate) fn wait_for(&mut self, addr: FlowAddr, index: u32) -> bool {
        let entry = self.entries.entry(addr).or_default();
        let first = entry.waiting.is_empty();
        if entry.waiting.len() < WAITING_COUNT_MAX {
            entry.waiting.push(index);
        }
        first
    }

    /// An answer about `addr` will be heard, though no connection waits for it.
    pub(crate) fn expect(&mut self, addr: FlowAddr) {
        self.entries.entry(addr).or_default();
    }

    /// An answer came; it counts if somebody asked.
    pub(crate) fn learn(&mut self, addr: FlowAddr, mac: MacAddr) {
        if mac.is_group() {
            return;
        }
        if let Some(entry) = self.entries.get_mut(&addr) {
            entry.mac = Some(mac);
            self.ready.append(&mut entry.waiting);
        }
    }

    /// Names `addr` to whom the kernel is asked by.
    pub(crate) fn want(&mut self, addr: FlowAddr) {
        if !self.unresolved.contains(&addr) && self.unresolved.len() < WAITING_COUNT_MAX {
            self.unresolved.push(addr);
        }
    }

    /// One that was named.
    pub(crate) fn poll_unresolved(&mut self) -> Option<FlowAddr> {
        self.unresolved.pop()
    }

    /// Whether one was named.
    pub(crate) fn has_unresolved(&self) -> bool {
        !self.unresolved.is_empty()
    }

    /// Where `addr` is may have changed.
    pub(crate) fn forget(&mut self, addr: FlowAddr) {
        if self.entries.get(&addr).is_some_and(|entry| entry.waiting.is_empty()) {
            self.entries.remove(&addr);
        }
    }

    /// A connection whose neighbour is known now.
    pub(crate) fn poll_ready(&mut self) -> Option<u32> {
        self.ready.pop()
    }
}
