//! Many stacks on one NIC (MultiStack): the program that is on it, and who is given which frames.
//!
//! ```text
//!   embedded:  host --tidegate0 ====veth==== service--+         the whole device is ours
//!   host's:    wire --eth0----------------------------+--> queues --> workers
//!                       \--> the host, for all that is not registered
//! ```
//! Not here: what a stack does with its frames, and where its configuration comes from.
//!
//! Invariant: nothing here outlives the process. The program's link is not pinned, the veth's far end is in
//! a namespace without a name, the placeholders are sockets: the kernel removes all of it with our last
//! descriptor, however we end.
#![forbid(unsafe_code)]

pub mod embedded;
mod error;
mod name;
mod nic;

pub use error::MuxError;
pub use nic::{Gso, Nic, find_link};
