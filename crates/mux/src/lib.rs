//! Many stacks on one NIC (MultiStack): the program that is on it, and who is given which frames.
//!
//! ```text
//!   embedded:  host --tidegate0 ====veth==== service--+         the whole device is ours
//!   host's:    wire --eth0----------------------------+--> queues --> workers
//!                       \--> the host, for all that is not registered
//!                       \--> veths, one for each stack that is not trusted ([`vport`])
//! ```
//! Not here: what a stack does with its frames, and where its configuration comes from.
//!
//! Invariant: nothing here outlives the process. The program's link is not pinned, the veth's far end is in
//! a namespace without a name, the placeholders are sockets: the kernel removes all of it with our last
//! descriptor, however we end. Only a stack's veth lives on, for as long as its owner does.
#![forbid(unsafe_code)]

pub mod embedded;
mod error;
mod name;
mod nic;
pub mod vport;

pub use error::MuxError;
pub use nic::{Gso, Nic, find_link};
