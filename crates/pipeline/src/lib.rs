//! The runtime of everything in user space: modules joined by gates into a graph, run by one worker a
//! core, batch by batch, to completion.
//!
//! ```text
//!   port_in ---0-> acl ---0-> stack ---0-> port_out        one round, in this order:
//!                   |                        ^               every module takes what waits at its
//!                   +-1-> mirror ------------+               input gates (small batches that met
//!                                                            there are merged), then has its own turn
//! ```
//!
//! Time and sleep come from an [`Environment`], frames from [`Port`](tidegate_port::Port)s: the
//! kernel's ([`KernelEnvironment`]) in production, scripted ones in a test or a simulation.
//!
//! Not here: what modules do (`modules`), scheduling by class (one worker runs each module once a
//! round) and metadata attributes; both act on the [`Graph`] when it is compiled into a [`Worker`].
#![forbid(unsafe_code)]

mod context;
mod environment;
mod graph;
mod module;
mod pace;
mod patience;
mod worker;

pub use context::Context;
pub use environment::{KernelEnvironment, Waker};
pub use graph::{Graph, GraphError, ModuleId};
pub use module::{GateCounts, Module, PortIndex};
pub use worker::{
    Command, Control, Environment, Idle, ModuleCounters, ModuleSnapshot, Snapshot, Worker, WorkerConfig,
    control,
};

#[cfg(test)]
mod tests;
