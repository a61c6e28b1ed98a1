//! Stacks of other processes behind memif, on a NIC that the host and services of the daemon's have as well. They need root; each
//! test makes namespaces of its own.
//!
//! ```text
//!   client0 10.78.0.1 ======== server0 10.78.0.2: the host, services, and by the daemon's workers: memifs of stacks
//! ```
#![forbid(unsafe_code)]

mod floods;
mod frames;
mod hostile;
mod life;
mod owners;
mod services;
mod world;
