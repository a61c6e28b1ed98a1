//! A host without I/O: frames and time in, frames and timers out.
#![forbid(unsafe_code)]

mod egress;
mod interface;
mod link;
mod send_queue;
mod service;

pub use egress::Egress;
pub use interface::{Interface, Ownership};
pub use link::Link;
pub use service::{Closed, Conn, ConnId, FetchError, Payload, Service};
