//! Web and name servers as a configuration wants them: attached to devices, opened once, one host a worker.
//!
//! ```text
//!   Settings -> attach_all: Devices --share_out--> for each worker: queues, size of its pool
//!            -> Source::prepare (as root) -> open: Offer --host--> a StackModule for each queue
//!            -> run: port_in -> stack -> port_out, on whose workers is the caller's affair
//! ```
//! `tidegate serve` runs them on workers of its own, the daemon beside pipelines.
//!
//! Not here: threads of workers, signals, the rights of the process.
#![forbid(unsafe_code)]

mod choose;
mod collect;
pub mod config;
mod devices;
mod dns;
mod error;
mod host;
mod kind;
mod offer;
mod report;
mod services;
pub mod settings;
mod share;
mod web;

pub use collect::{Asked, Collector, Counted};
pub use config::Config;
pub use devices::{Device, attach_all, leave};
pub use dns::{Line, Which, ZoneNews, zone_faults};
pub use error::ServiceError;
pub use host::{close_down, host};
pub use kind::{Endpoint, Kind};
pub use offer::{Offer, Source, Terms};
pub use report::{DeviceReport, ModuleReport, Named, PortReport, Report, WorkerReport, ZoneReport};
pub use services::Services;
pub use settings::{Place, Settings};
pub use share::{Lane, Share, chunk_size, share_of, share_out};
