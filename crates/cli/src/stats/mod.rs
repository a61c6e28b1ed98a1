//! What a running service counts, as a value that travels: over a Unix socket to `tidegate stats`, as text to
//! Prometheus.
//!
//! Nothing here is on the data path. A worker is asked between two of its rounds, and answers with a copy.

pub(crate) mod command;
mod metrics;
mod socket;
mod table;

pub(crate) use metrics::Endpoint;
pub(crate) use socket::{DIRECTORY, Desk, Listener};
