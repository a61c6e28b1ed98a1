//! The web server: HTTP/1.1 over prepackaged responses.
//!
//! ```text
//!   bytes --request--> Request --target--> path --plan--> what to answer --head--> a ready response
//!     \------------------------------ memo (same bytes, same answer) ----------------^
//! ```
//!
//! Everything here is sans-I/O: bytes come in through `stack::Service` callbacks and responses go
//! out the same way. Files are read by `content`, packets are made by `stack`.
#![forbid(unsafe_code)]

pub mod field;
pub mod request;
mod status;
pub mod target;

pub use status::Status;
