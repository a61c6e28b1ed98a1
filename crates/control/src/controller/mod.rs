//! What the daemon does for a controller, by area: the trait that it implements, and the checked requests
//! that it is handed.
//!
//! A request arrives checked: names have a good length, numbers are in range, classes and drivers are
//! entries of [`classes`](crate::classes), arguments are decoded. What only the daemon can know is left to
//! it: whether a name exists, a port is busy, an address parses. Answers are the wire's own records.
//!
//! Every method may fail with a [`Fault`], which reaches the client as errno and text. One thread calls
//! them, one at a time.

mod hooks;
mod modules;
mod pipeline;
mod ports;
mod services;
mod stacks;
mod traffic;
mod workers;

pub use hooks::{Direction, GateHooks, HookCall, HookSpec, ResumeHook};
pub use modules::{CommandCall, Connection, ModuleSpec, Modules};
pub use pipeline::{Kinds, PipelinePlan, Pipelines};
pub use ports::{PortSettings, PortSpec, Ports};
pub use services::{Ending, Job, Prepared, ServiceSpec, Services};
pub use stacks::{ReservationSpec, Stacks, TupleSpec};
pub use traffic::{
    Above, ClassChange, ClassMove, ClassSpec, Place, Policy, Resource, Slot, Subject, TrafficClasses,
    Violations,
};
pub use workers::{WorkerSpec, Workers};

use crate::Fault;

/// How a call ends.
pub type Outcome<T = ()> = Result<T, Fault>;

/// The daemon, as a controller sees it.
pub trait Controller:
    Workers + TrafficClasses + Ports + Modules + GateHooks + Pipelines + Services + Stacks + Send
{
    /// What answers: a name and a version.
    fn version(&mut self) -> Outcome<String>;

    /// Removes modules, ports, classes and workers.
    fn reset_all(&mut self) -> Outcome;

    /// Ends the daemon once the answer is out: it is to shut the [`Server`](crate::Server) down, which
    /// sends what is under way.
    fn kill(&mut self) -> Outcome;

    /// Loads a shared object.
    fn import_plugin(&mut self, path: &str) -> Outcome {
        Err(Fault::unsupported(format!("{path} is not loaded: modules are part of the daemon here")))
    }

    /// Unloads a shared object.
    fn unload_plugin(&mut self, path: &str) -> Outcome {
        Err(Fault::missing(format!("{path} was never loaded: modules are part of the daemon here")))
    }

    /// Shared objects that are loaded.
    fn plugins(&mut self) -> Outcome<Vec<String>> {
        Ok(Vec::new())
    }
}
