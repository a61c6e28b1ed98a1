//! Stacks of other processes on one NIC, beside the host's own sockets: who gets what, and who has it when somebody dies.
//! They need root; each test makes namespaces of its own.
//!
//! ```text
//!   peer 10.9.0.2 ======== mxN 10.9.0.1: the host's sockets, the mux's desk, stacks behind veths of their own
//! ```
#![forbid(unsafe_code)]

mod life;
mod many;
mod process;
mod restart;
mod rules;
mod world;
