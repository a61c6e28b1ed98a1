//! The protocol over real sockets: a controller that records what reaches it, and clients of several kinds.

mod abuse;
mod faces;
mod fake;
mod interface;
mod malformed;
mod pipelines;
mod python;
mod python_package;
mod random;
mod watch;
