//! The words every other crate speaks: time, sequence numbers, Internet checksums, keyed hashes,
//! randomness, and the reasons for which a packet is not served.
//!
//! Nothing here does I/O, allocates on a hot path, or knows a header layout. Time and randomness are
//! values that somebody hands in; that is what lets the same code run on a NIC, in a simulation and
//! under a fuzzer.
#![forbid(unsafe_code)]

pub mod checksum;
mod drops;
mod hash;
mod rng;
mod seq;
mod tally;
mod time;
mod wheel;

pub use checksum::Sum;
pub use drops::{DropCounters, DropReason};
pub use hash::{FlowHasher, HashKey};
pub use rng::Rng;
pub use seq::SeqNumber;
pub use tally::Tally;
pub use time::{Duration, Instant};
pub use wheel::Wheel;
