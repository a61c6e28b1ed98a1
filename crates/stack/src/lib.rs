//! A host without I/O: frames and time in, frames and timers out.
//!
//! [`Stack`] answers ARP, neighbour discovery and ping where it owns its addresses, and carries TCP
//! and bursts of datagrams for one [`Service`]. It is the paper's `libeth`, `libtcpip` and `libudpip`
//! (Sandstorm, section 2.1) in one: received packets run to completion, from the frame through the
//! service to the frames that answer it, in one pass, so that a connection's state is touched once.
//!
//! Who should use what: a server implements [`Service`]; a pipeline wraps a [`Stack`] as a module and
//! gives it an [`Egress`]; a simulation does the same with a clock of its own.
//!
//! Not here: TCP itself (`tcp`), what is sent (`content`), where frames come from (`port`).
#![forbid(unsafe_code)]

mod admission;
mod datagram;
mod egress;
mod flow;
mod host;
mod interface;
mod link;
mod neighbours;
mod outlet;
mod send_queue;
mod service;
mod stack;
mod table;
mod tcp_in;
mod tcp_out;
mod time_wait;
mod udp;

pub use admission::{Admission, AdmissionLimits, Gate};
pub use datagram::{BURST_LEN_MAX, Datagram, Reply};
pub use egress::Egress;
pub use interface::{Interface, Ownership};
pub use link::Link;
pub use service::{Conn, ConnId, FetchError, Payload, Service};
pub use stack::{Limits, Secrets, Stack, StackCounters};
pub use tcp_out::{ConnectError, Origin};
pub use tidegate_tcp::{Closed, Config as TcpConfig, Info, State, congestion, option};
