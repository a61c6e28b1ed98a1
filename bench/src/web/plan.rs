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
    /// Who asks.
    pub(crate) client: ClientKind,
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
    pub(crate) clients: Vec<ClientKind>,
    /// The interrupts of the server's device are deferred.
    pub(crate) is_deferred: bool,
    pub(crate) out: PathBuf,
    cells: Vec<Cell>,
}

/// From here on servers fill frames of 64 KiB; below, virtual TSO changes little.
const VIRTUAL_TSO_BYTES_MIN: u64 = 64 << 10;
/// Up to here wrk may be at its end before the server is.
const PACKET_BYTES_MAX: u64 = 4 << 10;

impl Plan {
    pub(crate) fn new(args: &Args) -> Plan {
        let quick = args.quick;
        let bodies = or_else(&args.sizes, if quick { Body::QUICK } else { Body::ALL });
        let connections = or_else(&args.connections, Connection::value_variants());
        let cuts = or_else(&args.segmentation, if quick { &[Cut::Wire] } else { Cut::value_variants() });
        let clients = match args.client {
            Some(client) => vec![client],
            None if quick => vec![ClientKind::Wrk],
            None => vec![ClientKind::Wrk, ClientKind::Packet],
        };
        let mut cells = Vec::new();
        for (&cut, &client, &connection) in product(cuts, &clients, connections) {
            cells.extend(bodies.iter().map(|&body| Cell { cut, client, connection, body }));
        }
        let (cut_asked_for, client_asked_for) = (!args.segmentation.is_empty(), args.client.is_some());
        cells.retain(|cell| {
            (cut_asked_for || cell.cut_is_telling()) && (client_asked_for || cell.client_is_telling())
        });
        Plan {
            servers: or_else(&args.servers, ServerKind::value_variants()).to_vec(),
            cells,
            cuts: cuts.to_vec(),
            runs: args.runs.unwrap_or(if quick { 1 } else { 5 }),
            seconds: args.seconds,
            concurrency: args.concurrency,
            clients,
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
    /// Whether who cuts makes a difference: with virtual TSO only for what is large.
    fn cut_is_telling(&self) -> bool {
        let is_large = match self.body {
            Body::Bytes(size) => size >= VIRTUAL_TSO_BYTES_MIN,
            Body::Mix => true,
        };
        self.cut == Cut::Wire || (is_large && self.connection == Connection::KeepAlive)
    }

    /// Whether who asks makes a difference: our own client only where a kernel's is at its end.
    fn client_is_telling(&self) -> bool {
        let is_small = matches!(self.body, Body::Bytes(size) if size <= PACKET_BYTES_MAX);
        self.client != ClientKind::Packet || (is_small && self.cut == Cut::Wire)
    }
}

/// Each of `a` with each of `b` and each of `c`.
fn product<'a, A, B, C>(a: &'a [A], b: &'a [B], c: &'a [C]) -> impl Iterator<Item = (&'a A, &'a B, &'a C)> {
    a.iter().flat_map(move |a| b.iter().flat_map(move |b| c.iter().map(move |c| (a, b, c))))
}

fn or_else<'a, T>(chosen: &'a [T], default: &'a [T]) -> &'a [T] {
    if chosen.is_empty() { default } else { chosen }
}
