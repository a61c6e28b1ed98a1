//! The name server: authoritative DNS over prepackaged answers (Namestorm).
//!
//! ```text
//!   zone file --zone--> Zone, Catalog -------------------\
//!   datagram --message--> Query --store--> ready sections -+-> datagram back
//!                                  \-miss-> answer --------/
//! ```
//!
//! What a worker does is sans-I/O: messages come in through `stack::Service` callbacks and answers go out the
//! same way. Beside the workers zone files are read, a log is written, and other servers are told and asked
//! over the host's own stack.
#![forbid(unsafe_code)]

pub mod answer;
pub mod config;
pub mod cookie;
pub mod counters;
pub mod desk;
pub mod message;
pub mod name;
mod name_server;
pub mod query_log;
pub mod rrl;
pub mod store;
pub mod tcp;
pub mod transfer;
pub mod tsig;
pub mod udp;
pub mod zone;

pub use config::Config;
pub use name_server::NameServer;
