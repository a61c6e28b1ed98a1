//! The control protocol: what a controller says over gRPC, turned into calls of a [`Controller`], and back.
//!
//! ```text
//!   client --gRPC--> server --Call--> CallQueue ~~> the daemon's control thread: Controller
//!                      |  checked request: names, numbers, gates, arguments decoded by class
//!   client <--answer---+<------------------- record, or Fault {errno, one line of text}
//! ```
//!
//! Two services share one address: `bess.pb.BESSControl`, on the wire what BESS's own controllers speak,
//! and `tidegate.v1.Control` for what BESS has no words for.
//!
//! - [`proto`] is generated from `proto/`; [`classes`] says which modules, drivers and hooks the protocol
//!   names, with their commands; [`Message`] is an argument that was decoded and checked.
//! - [`Controller`] is what the daemon implements. One thread calls it, one call at a time, so that a
//!   change is whole or not there, whoever else asks at that moment.
//! - [`Server`] listens, [`Client`] is for the command line.
//!
//! Not here: frames, graphs, ports and everything else a [`Controller`] does. Nothing that a client sends
//! makes this crate panic.
#![forbid(unsafe_code)]

mod calls;
pub mod classes;
mod client;
pub mod controller;
mod fault;
mod message;
mod methods;
mod names;
pub mod proto;
mod queue;
mod server;

pub use calls::pipeline::replace_pipeline;
pub use client::{Client, ClientError};
pub use controller::Controller;
pub use fault::{Errno, Fault};
pub use message::{Kind, Message};
pub use names::generated_name;
pub use queue::{Call, CallQueue, Caller, queue};
pub use server::{LISTEN_DEFAULT, Listen, ListenError, MESSAGE_LEN_MAX, Server};

/// Gates that a module may have in each direction, numbered from 0.
pub const GATES_MAX: u64 = 8192;

/// The gate number that a rule names to drop what it matches.
pub const DROP_GATE: u64 = GATES_MAX;

/// Workers that there may be, numbered from 0.
pub const WORKERS_MAX: u64 = 64;
