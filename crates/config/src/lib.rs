//! What the settings of all services have in common: how sizes and spans are written, where requests come in,
//! and what is said when something is wrong.
//!
//! Not here: the settings themselves. Each service's are in its own crate, a process's in `cli`.
//!
//! Invariant: a fault is one line that names the file, the place or the key, and what to do about it.
#![forbid(unsafe_code)]

mod fault;
mod file;
mod listen;
mod mode;
mod unit;

pub use fault::{ConfigFault, nearest};
pub use file::{directory_of, parse, read};
pub use listen::{Listen, listen_faults};
pub use mode::PackMode;
pub use unit::{BitRate, ByteSize, Span};

#[cfg(test)]
mod tests;
