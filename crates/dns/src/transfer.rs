//! Zones handed from server to server: out to secondaries, in from primaries, and the news that there is one
//! to be had.
//!
//! ```text
//!   publish(zone) -> journal (what changed) -> catalog -> notify ----NOTIFY----> secondaries
//!                                                 |                                 |
//!   secondaries --AXFR, IXFR--> desk --acl--> outbound <----------------------------+
//!
//!   primaries --NOTIFY--> desk --> secondary (timers) --SOA, IXFR, AXFR--> client --> inbound --> publish
//!                                                                            \--> keep (on disk)
//! ```
//! What a worker does is sans-I/O, like everything on the data path. Telling secondaries and asking primaries
//! is done by threads of their own, over the host's own stack.

mod acl;
mod client;
pub(crate) mod clock;
mod exchange;
pub(crate) mod inbound;
mod journal;
mod keep;
mod notify;
pub(crate) mod outbound;
mod relations;
pub(crate) mod secondary;
mod served;

pub use acl::{Acl, Rule};
pub use client::ClientPatience;
pub use exchange::Exchange;
pub use relations::{Copied, Relation, Relations, Remote};
pub use served::Served;

#[cfg(test)]
mod tests;
