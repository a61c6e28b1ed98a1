//! Web and name servers beside the pipeline.

use super::Outcome;
use crate::proto::v1::{ReloadZonesResponse, Service, StartServiceResponse};
use std::any::Any;
use std::path::PathBuf;
use std::time::Duration;

/// A configuration to serve.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServiceSpec {
    /// Its name; to be generated if none is given.
    pub name: Option<String>,
    /// The configuration, in TOML.
    pub config: String,
    /// What relative paths in it are relative to.
    pub directory: PathBuf,
    /// Workers to run it on; none for workers of its own.
    pub workers: Vec<u8>,
}

/// How far the end of a service has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Connections are still finishing.
    Draining,
    /// It is gone.
    Gone {
        /// Connections that did not finish in time.
        cut_count: u64,
    },
}

/// What takes its time and needs nothing of the controller's: done on another thread, while other calls are served.
pub type Job<T> = Box<dyn FnOnce() -> Outcome<T> + Send>;

/// What was read for a service, as its controller knows it.
pub type Prepared = Box<dyn Any + Send>;

/// What is asked of services.
pub trait Services {
    /// How what a service needs is read; `EEXIST` if there is one of that name.
    fn prepare_service(&mut self, spec: ServiceSpec) -> Outcome<Job<Prepared>>;

    /// Starts what was prepared; `EEXIST` if there is one of that name now.
    fn start_service(&mut self, prepared: Prepared) -> Outcome<StartServiceResponse>;

    /// Has the name servers of one service, or of all, read one zone's files again, or all. Waiting is the job.
    fn reload_zones(
        &mut self,
        service: Option<&str>,
        zone: Option<&str>,
    ) -> Outcome<Job<ReloadZonesResponse>>;

    /// Has one end: no new connections, and those that there are may take `drain`, or as long as its configuration says.
    /// Called again, it says how far that has come.
    fn stop_service(&mut self, name: &str, drain: Option<Duration>) -> Outcome<Ending>;

    /// Web and name servers that run here.
    fn services(&mut self) -> Outcome<Vec<Service>>;
}
