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

mod agenda;
pub mod class;
mod context;
mod environment;
mod gate;
mod graph;
mod hook;
pub mod metadata;
mod module;
mod pace;
mod patience;
mod snapshot;
mod step;
mod worker;

pub use context::Context;
pub use environment::{KernelEnvironment, Waker};
pub use gate::GateTraffic;
pub use graph::{Graph, GraphError, ModuleId};
pub use hook::{GateHook, GateSide};
pub use module::{GATE_COUNT_MAX, GateCounts, Module, PortIndex, Work};
pub use snapshot::{InputSnapshot, ModuleCounters, ModuleSnapshot, OutputSnapshot, Snapshot};
pub use worker::{Command, Control, Environment, Idle, Worker, WorkerConfig, control};

#[cfg(test)]
mod tests;
