//! What is measured: which servers, which zones, which loads, how often and how long.

use std::fmt;
use std::path::PathBuf;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Args;
use super::generate::NameCount;
use super::server::ServerKind;
use super::zone::Zone;

/// Shares of what a server bears that it is offered in the open loop, in percent: two below and one above.
pub(crate) const SHARES: [u32; 3] = [HALF, NEARLY_ALL, TOO_MUCH];
/// A server with room to spare.
pub(crate) const HALF: u32 = 50;
/// Where processor time an answer is compared: busy, but not over.
pub(crate) const NEARLY_ALL: u32 = 90;
/// Overload.
pub(crate) const TOO_MUCH: u32 = 150;

/// Questions a second in the load that latencies are taken from: every server bears it.
pub(crate) const PACED_PER_S: u32 = 20_000;

/// A server, and for Tidegate perhaps a batch size that is not its own choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub(crate) struct Contender {
    pub(crate) server: ServerKind,
    pub(crate) batch: Option<u16>,
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.batch {
            None => f.pad(self.server.name()),
            Some(batch) => f.pad(&format!("{} batch {batch}", self.server.name())),
        }
    }
}

/// How questions are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Load {
    /// A new question for each answer.
    Closed,
    /// The same, at most [`PACED_PER_S`].
    Paced,
    /// At a share of what the server bears, in percent, whatever comes back.
    Open(u32),
}

impl Serialize for Load {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Load::Closed => serializer.serialize_str("closed"),
            Load::Paced => serializer.serialize_str("paced"),
            Load::Open(share) => serializer.serialize_str(&format!("open {share} %")),
        }
    }
}

impl<'de> Deserialize<'de> for Load {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let share = |text: &str| text.strip_prefix("open ")?.strip_suffix(" %")?.parse().ok();
        match text.as_str() {
            "closed" => Ok(Load::Closed),
            "paced" => Ok(Load::Paced),
            open => share(open).map(Load::Open).ok_or_else(|| D::Error::custom("no load")),
        }
    }
}

/// The whole run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) servers: Vec<ServerKind>,
    pub(crate) names: Vec<NameCount>,
    pub(crate) batches: Vec<u16>,
    pub(crate) rounds: u32,
    pub(crate) seconds: u32,
    /// Tidegate over the memory port too.
    pub(crate) has_memory: bool,
    /// Servers were chosen: all of them on every zone.
    are_chosen: bool,
    /// The interrupts of the server's device are deferred.
    pub(crate) is_deferred: bool,
    pub(crate) out: PathBuf,
}

const NAMES: &[NameCount] = &[NameCount(1), NameCount(10_000), NameCount(100_000), NameCount(1_000_000)];
/// Decompressed keys with answers in place differ from wire keys as they do with memcopy.
const SERVERS: &[ServerKind] = &[
    ServerKind::Nsd,
    ServerKind::Knot,
    ServerKind::KnotXdp,
    ServerKind::Bind,
    ServerKind::WireInPlace,
    ServerKind::WireMemcopy,
    ServerKind::WirePreCopy,
    ServerKind::FqdnMemcopy,
    ServerKind::FqdnPreCopy,
    ServerKind::Echo,
];
const QUICK_NAMES: &[NameCount] = &[NameCount(10_000)];
const QUICK_SERVERS: &[ServerKind] = &[ServerKind::Nsd, ServerKind::KnotXdp, ServerKind::WireMemcopy];
const BATCHES: &[u16] = &[1, 2, 4, 8, 16, 32, 64];

impl Plan {
    pub(crate) fn new(args: &Args) -> Plan {
        let quick = args.quick;
        let batches = or_else(&args.batches, if quick || args.no_batches { &[] } else { BATCHES });
        Plan {
            servers: or_else(&args.servers, if quick { QUICK_SERVERS } else { SERVERS }),
            names: or_else(&args.names, if quick { QUICK_NAMES } else { NAMES }),
            batches,
            rounds: args.rounds.unwrap_or(if quick { 1 } else { 3 }),
            seconds: args.seconds,
            has_memory: !quick && !args.no_memory,
            are_chosen: !args.servers.is_empty(),
            is_deferred: !args.no_defer,
            out: args
                .out
                .clone()
                .unwrap_or_else(|| if quick { "target/bench" } else { "bench/results" }.into()),
        }
    }

    /// Who serves the zone at `index`: on one zone every server, on the others those that stand for them unless servers
    /// were chosen, and where batch sizes are compared, Tidegate with each.
    pub(crate) fn contenders(&self, index: usize, zones: &[Zone]) -> Vec<Contender> {
        let has_all = self.are_chosen || index == nearest(zones, FULL_ZONE);
        let servers = self.servers.iter().filter(|server| has_all || server.stands_for_others());
        let plain = servers.map(|&server| Contender { server, batch: None });
        let has_batches = index == nearest(zones, BATCH_ZONE);
        let batched = self.batches.iter().filter(|_| has_batches).filter_map(|&batch| {
            self.batched_server().map(|server| Contender { server, batch: Some(batch) })
        });
        plain.chain(batched).collect()
    }

    /// Whose batch sizes are compared: the first of Tidegate's.
    pub(crate) fn batched_server(&self) -> Option<ServerKind> {
        let ours = || self.servers.iter().copied().filter(|server| server.is_tidegate());
        ours().find(|&server| server == ServerKind::WireInPlace).or_else(|| ours().next())
    }
}

/// Names of the zone that batch sizes are compared on: it fits into caches and yet is a zone.
const BATCH_ZONE: f64 = 10_000.0;
/// Names of the zone that all servers are compared on: it does not fit.
const FULL_ZONE: f64 = 100_000.0;

/// The zone that has nearest to so many names.
fn nearest(zones: &[Zone], name_count: f64) -> usize {
    let distance = |zone: &Zone| (f64::from(zone.name_count().max(1)) / name_count).log10().abs();
    let nearest = zones.iter().enumerate().min_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)));
    nearest.map_or(0, |(index, _)| index)
}

fn or_else<T: Clone>(chosen: &[T], default: &[T]) -> Vec<T> {
    if chosen.is_empty() { default } else { chosen }.to_vec()
}
