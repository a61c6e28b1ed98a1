//! Hooks at gates: counters that a controller may set back, and captures that are read from a FIFO.
//!
//! ```text
//!   Daemon: Track (base of its counters), Tap (its FIFO) --- Told: which hooks a worker has ---> worker: GateHook
//! ```
//! Invariant: a hook is on every worker that runs its module, whatever changes, until its gate leads nowhere.

mod fifo;
mod pcap;
mod track;

pub(crate) use fifo::{Fifo, Patience};
pub(crate) use pcap::{Attributes, CaptureHook, Format};
pub(crate) use track::{ByteCount, Count, Track};

use crate::change::Daemon;
use std::sync::{Arc, Mutex};
use tidegate_control::Message;
use tidegate_control::controller::Direction;
use tidegate_pipeline::{GateHook, GateSide};

/// Puts packets into a FIFO, as pcap.
pub(crate) const TCPDUMP: &str = "TcpDump";
/// The same as pcapng, with attributes.
pub(crate) const PCAPNG: &str = "PcapNg";
/// Counts.
pub(crate) const TRACK: &str = "Track";

/// A gate.
pub(crate) type Site = (String, GateSide);

/// A capture at a gate.
#[derive(Clone, Debug)]
pub(crate) struct Tap {
    pub(crate) name: String,
    pub(crate) site: Site,
    pub(crate) format: Format,
    pub(crate) arg: Message,
    pub(crate) fifo: Arc<Mutex<Fifo>>,
}

/// A hook that a worker shall have.
#[derive(Clone, Debug)]
pub(crate) struct HookWish {
    pub(crate) site: Site,
    pub(crate) kind: HookKind,
    /// Attributes at that gate, for hooks that show them.
    pub(crate) attributes: Attributes,
}

/// What it does.
#[derive(Clone, Debug)]
pub(crate) enum HookKind {
    Capture(Format, Arc<Mutex<Fifo>>),
    Bytes,
}

impl HookKind {
    /// Whether it keeps a count.
    pub(crate) const fn counts(&self) -> bool {
        matches!(self, Self::Bytes)
    }
}

impl PartialEq for HookWish {
    /// Whether a worker that has the one has the other.
    fn eq(&self, other: &Self) -> bool {
        let is_same = match (&self.kind, &other.kind) {
            (HookKind::Capture(_, one), HookKind::Capture(_, other)) => Arc::ptr_eq(one, other),
            (HookKind::Bytes, HookKind::Bytes) => true,
            _ => false,
        };
        is_same && self.site == other.site && self.attributes == other.attributes
    }
}

impl HookWish {
    pub(crate) const fn class(&self) -> &'static str {
        match &self.kind {
            HookKind::Capture(format, _) => format.class(),
            HookKind::Bytes => TRACK,
        }
    }

    pub(crate) fn make(&self) -> Box<dyn GateHook> {
        match &self.kind {
            HookKind::Capture(format, fifo) => {
                Box::new(CaptureHook::new(*format, Arc::clone(fifo), self.attributes.clone()))
            }
            HookKind::Bytes => Box::new(ByteCount::default()),
        }
    }
}

impl Daemon {
    /// Forgets hooks whose gate is not connected any more.
    pub(crate) fn drop_lost_hooks(&mut self) {
        let links = &self.plant.links;
        let is_there = |(module, side): &Site| match side {
            GateSide::Output(gate) => links.contains_key(&(module.clone(), *gate as u16)),
            GateSide::Input(gate) => links.values().any(|to| *to == (module.clone(), *gate as u16)),
        };
        self.taps.retain(|tap| is_there(&tap.site));
        self.tracks.retain(|site, _| is_there(site));
    }

    /// The hooks that workers with these modules shall have, where `attributes_of` tells a module's attributes.
    pub(crate) fn hook_wishes(&self, attributes_of: impl Fn(&str) -> Attributes) -> Vec<HookWish> {
        let taps = self.taps.iter().map(|tap| HookWish {
            site: tap.site.clone(),
            kind: HookKind::Capture(tap.format, Arc::clone(&tap.fifo)),
            attributes: match tap.format {
                Format::Pcap => Attributes::default(),
                Format::PcapNg => attributes_of(&tap.site.0),
            },
        });
        let counting = self.tracks.iter().filter(|(_, track)| track.bits);
        let counts = counting.map(|(site, _)| HookWish {
            site: site.clone(),
            kind: HookKind::Bytes,
            attributes: Attributes::default(),
        });
        taps.chain(counts).collect()
    }

    /// The connected gates that a hook's place means.
    pub(crate) fn sites(&self, module: Option<&str>, direction: Direction, gate: Option<u16>) -> Vec<Site> {
        let is_meant = |(name, number): &&(String, u16)| {
            module.is_none_or(|module| module == name) && gate.is_none_or(|gate| gate == *number)
        };
        let mut sites: Vec<Site> = match direction {
            Direction::Output => {
                let gates = self.plant.links.keys().filter(is_meant);
                gates.map(|(name, gate)| (name.clone(), GateSide::Output((*gate).into()))).collect()
            }
            Direction::Input => {
                let gates = self.plant.links.values().filter(is_meant);
                gates.map(|(name, gate)| (name.clone(), GateSide::Input((*gate).into()))).collect()
            }
        };
        sites.sort();
        sites.dedup();
        sites
    }
}
