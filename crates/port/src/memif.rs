//! A port that speaks memif 2.0: frames cross memory that two processes share, with a control socket beside it.
//!
//! ```text
//!   config.rs   what an interface is made from
//!   message.rs  control messages as bytes                  ring.rs     one ring in shared memory
//!   session.rs  messages with a deadline, why it ended     link.rs     sending and receiving over a pair of rings
//!   client.rs   the client's conversation                  control.rs  what is said, and what the ports share with that
//!   server.rs   the server's                               port.rs     the ports, one a ring pair
//! ```
//! The data path never touches the control socket: a thread of its own connects, and hands each port its link; a peer that goes
//! away closes it, and the thread connects or accepts again. docs/specs/memif.md says what of the protocol is served.
//!
//! Invariant: whatever the peer writes into messages or memory, at any time, makes at worst wrong frames, dropped ones or no
//! link.

mod client;
mod config;
mod control;
mod link;
mod message;
mod port;
mod ring;
mod server;
mod session;

pub use config::{MemifConfig, MemifError, MemifRole};
pub use control::MemifStatus;
pub use port::{MemifPort, open_memif};

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod tests;
