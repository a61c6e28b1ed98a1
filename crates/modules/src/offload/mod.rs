//! What NICs do for TCP, in software: cutting large frames into segments, and putting segments together again; also
//! inside a tunnel that the NIC does not know.
//!
//! A large frame is a frame with a tail (docs/adr/0006, 0009), so that it never reaches a module that would take its
//! first chunk for all of it.

mod coalesce;
mod lro;
mod tso;

pub use lro::{LRO_FLOW_COUNT_DEFAULT, Lro, LroParams};
pub use tso::{TSO_MTU_DEFAULT, Tso, TsoParams};

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
