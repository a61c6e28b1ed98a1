//! The daemon: workers, ports and pipelines as a controller wishes them.
//!
//! ```text
//!   Controller's calls -> Plant (a changed copy, plain data) -> check, place -> for each worker a Graph and its classes
//!                                                                                   |
//!   one control thread: Daemon <-------- what was replaced, counters -------- worker threads, between two rounds
//! ```
//!
//! A change is checked on the plain data before the first worker hears of it: one that is refused changes nothing, and
//! one that is made stops no traffic that it does not concern. Nothing that a client sends ends in a panic.
//!
//! Not here: the protocol (`control`), what modules do (`modules`), how a worker runs (`pipeline`).
#![forbid(unsafe_code)]

mod berth;
mod bundle;
mod change;
mod controller;
mod device_ports;
mod files;
mod hooks;
mod hub;
mod lines;
mod make;
mod mux;
mod plant;
mod ports;
mod services;
mod worker;

pub use change::Daemon;
pub use mux::MuxConfig;
