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
//! Invariant: nothing here outlives the process unless it is for stacks that are processes of their own ([`Desk`]): then
//! programs are pinned, and the next daemon goes on with them. Without them the program's link is not pinned, the veth's
//! far end is in a namespace without a name, and the placeholders are sockets: the kernel removes all of it with our last
//! descriptor, however we end.
#![forbid(unsafe_code)]

mod carrier;
pub mod client;
mod desk;
mod door;
pub mod embedded;
mod error;
mod ground;
mod keeper;
pub mod message;
mod name;
mod nic;
mod pins;
pub mod registry;
pub mod server;
pub mod vport;

pub use carrier::{Carrier, NoCarrier};
pub use desk::{Desk, Shown};
pub use error::MuxError;
pub use ground::{Ground, Holding, Reserve};
pub use keeper::Keeper;
pub use nic::{Gso, Nic, find_link};
