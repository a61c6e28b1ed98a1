//! The modules of the pipeline: one file each, and beside it a card (`README.md` of that name) with its
//! gates, parameters and counters.
//!
//! | module     | in | out | what it does                                              |
//! |------------|----|-----|-----------------------------------------------------------|
//! | `source`   | 0  | 1   | makes frames out of nothing                               |
//! | `sink`     | 1  | 0   | where frames end                                          |
//! | `bypass`   | n  | n   | lets everything pass, gate N to gate N                    |
//! | `port_in`  | 0  | 1   | receives from a port                                      |
//! | `port_out` | 1  | 0   | sends to a port                                           |
//! | `stack`    | 1  | 1   | a host with a service: web, DNS, your code                |
//! | `impair`   | 1  | 1   | loses, delays, reorders, duplicates and corrupts packets  |
#![forbid(unsafe_code)]

mod bypass;
mod impair;
mod port_in;
mod port_out;
mod sink;
mod source;
mod stack;

pub use bypass::Bypass;
pub use impair::{Impair, ImpairConfig, ImpairError};
pub use port_in::PortIn;
pub use port_out::PortOut;
pub use sink::Sink;
pub use source::{SOURCE_LEN_DEFAULT, Source};
pub use stack::StackModule;

#[cfg(test)]
mod tests;
