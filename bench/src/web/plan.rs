//! What is measured: which servers, which cells of the table, how often and how long.

use std::path::PathBuf;

use clap::ValueEnum;
use serde::Serialize;
use tidegate_testbed::Segmentation;

use super::Args;
use super::client::ClientKind;
use super::content::Body;
use super::server::ServerKind;

/// How requests share connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Connection {
    /// All requests of a connection one after the other.
    KeepAlive,
    /// One request a connection.
    Close,
}

/// Who cuts what a kernel server sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Cut {
    /// Its kernel, before the driver.
    Wire,
    /// Nobody: 64 KiB cross the veth at once.
    VirtualTso,
}

impl Cut {
    pub(crate) fn segmentation(self) -> Segmentation {
        match self {
            Cut::Wire => Segmentation::Wire,
            Cut::VirtualTso => Segmentation::Virtual,
        }
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            Cut::Wire => "TSO off",
            Cut::VirtualTso => "virtual TSO",
        }
    }
}

impl Connection {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Connection::KeepAlive => "keep-alive",
            Connection::Close => "one request a connection",
        }
    }
}

/// One row of the table, which every server fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Cell {
    /// Who cuts.
    pub(crate) cut: Cut,
    /// How requests share connections.
    pub(crate) connection: Connection,
    /// What is asked for.
    pub(crate) body: Body,
}

/// The whole run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) servers: Vec<ServerKind>,
    pub(crate) cuts: Vec<Cut>,
    pub(crate) runs: u32,
    pub(crate) seconds: u32,
    pub(crate) concurrency: u32,
    pub(crate) client: ClientKind,
    /// The interrupts of the server's device are deferred.
    pub(crate) is_deferred: bool,
    pub(crate) out: PathBuf,
    cells: Vec<Cell>,
}

/// Below this no server fills a frame of 64 KiB, and virtual TSO changes nothing.
const VIRTUAL_TSO_BYTES_MIN: u64 = 16 << 10;

impl Plan {
    pub(crate) fn new(args: &Args) -> Plan {
        let quick = args.quick;
        let bodies = or_else(&args.sizes, if quick { Body::QUICK } else { Body::ALL });
        let connections = or_else(&args.connections, Connection::value_variants());
        let cuts = or_else(&args.segmentation, if quick { &[Cut::Wire] } else { Cut::value_variants() });
        let cell = |cut, connection, body| Cell { cut, connection, body };
        let rows =
            |cut| connections.iter().flat_map(move |&of| bodies.iter().map(move |&body| cell(cut, of, body)));
        let asked_for = !args.segmentation.is_empty();
        let cells = cuts.iter().flat_map(|&cut| rows(cut)).filter(|cell| asked_for || cell.is_telling());
        Plan {
            servers: or_else(&args.servers, ServerKind::value_variants()).to_vec(),
            cells: cells.collect(),
            cuts: cuts.to_vec(),
            runs: args.runs.unwrap_or(if quick { 1 } else { 5 }),
            seconds: args.seconds.unwrap_or(if quick { 1 } else { 2 }),
            concurrency: args.concurrency,
            client: args.client,
            is_deferred: !args.no_defer,
            out: args
                .out
                .clone()
                .unwrap_or_else(|| if quick { "target/bench" } else { "bench/results" }.into()),
        }
    }

    /// The rows of one testbed.
    pub(crate) fn cells(&self, cut: Cut) -> impl Iterator<Item = Cell> {
        self.cells.iter().copied().filter(move |cell| cell.cut == cut)
    }

    /// Every body that is asked for, once.
    pub(crate) fn bodies(&self) -> Vec<Body> {
        let mut bodies: Vec<Body> = self.cells.iter().map(|cell| cell.body).collect();
        bodies.sort();
        bodies.dedup();
        bodies
    }
}

impl Cell {
    /// Whether it says something that no other says: all do with frames cut as on a wire.
    fn is_telling(&self) -> bool {
        let large = matches!(self.body, Body::Bytes(size) if size >= VIRTUAL_TSO_BYTES_MIN);
        self.cut == Cut::Wire || (large && self.connection == Connection::KeepAlive)
    }
}

fn or_else<'a, T>(chosen: &'a [T], default: &'a [T]) -> &'a [T] {
    if chosen.is_empty() { default } else { chosen }
}
