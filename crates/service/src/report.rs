//! What running services count, as a value that travels.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counters by name.
pub type Named = BTreeMap<String, u64>;

/// One process at one moment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// The process.
    pub pid: u32,
    /// Tidegate's version.
    pub version: String,
    /// What it serves, and where: the line that it printed when it started.
    pub service: String,
    /// How long it has been up.
    pub uptime_ms: u64,
    /// What the loader of files did and holds.
    pub library: Named,
    /// The zones that its name server serves.
    pub zones: Vec<ZoneReport>,
    /// Its devices.
    pub devices: Vec<DeviceReport>,
    /// Its threads. One that did not answer in time is left out.
    pub workers: Vec<WorkerReport>,
}

/// One zone.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ZoneReport {
    /// Its name.
    pub name: String,
    /// Its version.
    pub serial: u32,
    /// How much there is of it.
    pub sizes: Named,
}

/// One device.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DeviceReport {
    /// Its name in the host.
    pub name: String,
    /// Where the XDP program runs: `driver` or `generic`.
    pub mode: String,
    /// Frames that went to user space, by reason.
    pub xdp_socket: Named,
    /// Frames that were left to the host, by reason.
    pub xdp_pass: Named,
}

/// One worker.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WorkerReport {
    /// Its number.
    pub worker: usize,
    /// Rounds run.
    pub round_count: u64,
    /// Times slept.
    pub sleep_count: u64,
    /// The pool's frames, by who has them.
    pub frames: Named,
    /// Its ports.
    pub ports: Vec<PortReport>,
    /// Its modules, upstream before downstream.
    pub modules: Vec<ModuleReport>,
}

/// One queue of one device.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PortReport {
    /// `DEVICE/QUEUE`.
    pub name: String,
    /// What it counted.
    pub counters: Named,
}

/// One module.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ModuleReport {
    /// Its name in the graph.
    pub name: String,
    /// What kind it is.
    pub class: String,
    /// Frames and batches through its gates.
    pub gates: Named,
    /// Frames dropped, by reason; reasons that did not occur are left out.
    pub drops: Named,
    /// Counters of its own.
    pub own: Named,
    /// What the site behind it answered; empty for other modules.
    pub site: Named,
    /// How its frames were made; empty for other modules.
    pub packer: Named,
    /// What the name server behind it answered; empty for other modules.
    pub dns: Named,
}
