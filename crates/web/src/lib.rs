//! The web server: HTTP/1.1 over prepackaged responses.
//!
//! ```text
//!   bytes --request--> Request --target--> name --plan--> what to answer --head--> a ready response
//!     \------------------------------ memo (same bytes, same answer) ----------------^
//! ```
//!
//! Everything here is sans-I/O: bytes come in through `stack::Service` callbacks and responses go
//! out the same way. Files are read by `content`, packets are made by `stack`.
#![forbid(unsafe_code)]

pub mod access_log;
pub mod config;
mod counters;
pub mod field;
pub mod glob;
pub mod head;
pub mod memo;
pub mod page;
pub mod plan;
pub mod request;
mod site;
mod status;
pub mod target;

pub use config::Config;
pub use counters::{SiteCounters, SiteTally};
pub use site::{ConnState, Shared, Site, library_config};
pub use status::Status;
