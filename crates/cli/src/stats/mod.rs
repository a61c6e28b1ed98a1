//! What a running service counts, as a value that travels: over a Unix socket to `tidegate stats`, as text to
//! Prometheus.
//!
//! Nothing here is on the data path. A worker is asked between two of its rounds, and answers with a copy.

mod collect;
pub(crate) mod command;
mod metrics;
mod socket;
mod table;

pub(crate) use collect::{Asked, Collector};
pub(crate) use metrics::Endpoint;
pub(crate) use socket::{DIRECTORY, Desk, Listener};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counters by name.
pub(crate) type Named = BTreeMap<String, u64>;

/// One process at one moment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The process.
    pub(crate) pid: u32,
    /// Tidegate's version.
    pub(crate) version: String,
    /// What it serves, and where: the line that it printed when it started.
    pub(crate) service: String,
    /// How long it has been up.
    pub(crate) uptime_ms: u64,
    /// What the loader of files did and holds.
    pub(crate) library: Named,
    /// The zones that its name server serves.
    pub(crate) zones: Vec<ZoneReport>,
    /// Its devices.
    pub(crate) devices: Vec<DeviceReport>,
    /// Its threads. One that did not answer in time is left out.
    pub(crate) workers: Vec<WorkerReport>,
}

/// One zone.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ZoneReport {
    /// Its name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) serial: u32,
    /// How much there is of it.
    pub(crate) sizes: Named,
}

/// One device.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct DeviceReport {
    /// Its name in the host.
    pub(crate) name: String,
    /// Where the XDP program runs: `driver` or `generic`.
    pub(crate) mode: String,
    /// Frames that went to user space, by reason.
    pub(crate) xdp_socket: Named,
    /// Frames that were left to the host, by reason.
    pub(crate) xdp_pass: Named,
}

/// One worker.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct WorkerReport {
    /// Its number.
    pub(crate) worker: usize,
    /// Rounds run.
    pub(crate) round_count: u64,
    /// Times slept.
    pub(crate) sleep_count: u64,
    /// The pool's frames, by who has them.
    pub(crate) frames: Named,
    /// Its ports.
    pub(crate) ports: Vec<PortReport>,
    /// Its modules, upstream before downstream.
    pub(crate) modules: Vec<ModuleReport>,
}

/// One queue of one device.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PortReport {
    /// `DEVICE/QUEUE`.
    pub(crate) name: String,
    /// What it counted.
    pub(crate) counters: Named,
}

/// One module.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ModuleReport {
    /// Its name in the graph.
    pub(crate) name: String,
    /// What kind it is.
    pub(crate) class: String,
    /// Frames and batches through its gates.
    pub(crate) gates: Named,
    /// Frames dropped, by reason; reasons that did not occur are left out.
    pub(crate) drops: Named,
    /// Counters of its own.
    pub(crate) own: Named,
    /// What the site behind it answered; empty for other modules.
    pub(crate) site: Named,
    /// How its frames were made; empty for other modules.
    pub(crate) packer: Named,
    /// What the name server behind it answered; empty for other modules.
    pub(crate) dns: Named,
}
