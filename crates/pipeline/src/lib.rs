//! The runtime of everything in user space: modules joined by gates into a graph, run by one worker a
//! core, batch by batch, to completion.
//!
//! ```text
//!   port_in ---0-> acl ---0-> stack ---0-> port_out        a task (port_in's, the stack's timers) has its
//!                   |                        ^               turn, then every module that its frames
//!                   +-1-> mirror ------------+               reach, in topological order; small batches
//!                                                            that meet at an input gate are merged
//! ```
//!
//! Time and sleep come from an [`Environment`], frames from [`Port`](tidegate_port::Port)s: the
//! kernel's ([`KernelEnvironment`]) in production, scripted ones in a test or a simulation.
//!
//! Which task has its turn, the [`class`] tree says, if it has rules; otherwise each has one a round. What frames carry
//! from module to module beside their data has its place by [`metadata`]. A [`Graph`] that replaces another keeps the
//! modules that it names, with all that they hold.
//!
//! Not here: what modules do (`modules`).
#![forbid(unsafe_code)]

mod agenda;
pub mod class;
mod context;
mod control;
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
mod turns;
mod worker;

pub use context::Context;
pub use control::{Command, Commands, Control, control};
pub use environment::{KernelEnvironment, Waker};
pub use gate::GateTraffic;
pub use graph::{Graph, GraphError, ModuleId};
pub use hook::{GateHook, GateSide};
pub use module::{GATE_COUNT_MAX, GateCounts, Module, PortIndex, Work};
pub use snapshot::{InputSnapshot, ModuleCounters, ModuleSnapshot, OutputSnapshot, Snapshot};
pub use worker::{ClosedPort, Environment, Idle, NamedModule, Worker, WorkerConfig};

#[cfg(test)]
mod change_tests;
#[cfg(test)]
mod tests;
