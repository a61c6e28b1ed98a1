//! Who runs next: one worker's tree of traffic classes (BESS, sections 5.4 and 5.5.4).
//!
//! ```text
//!   root weighted_fair(bit)              next():    from the root down, each group's policy names one child
//!    +- vm1 rate_limit 5 G               account(): from the leaf up, usage is added, shares move on,
//!    |   +- priority                                buckets are charged; who overdrew is pruned
//!    |       +- 0: c1 rate_limit 1 G     timers:    come first in next(), and graft back what was pruned
//!    |       |      +- leaf
//!    |       +- 1: c2 leaf
//!    +- vm2 ...
//! ```
//!
//! The tree is data: it runs nothing, reads no clock and touches no packet. A worker asks it for a
//! [`LeafId`], runs that task, and says what the run used. Everything can be changed between two runs.
//!
//! Invariant: a group's ready set holds exactly its children that may run now (nothing stops them), so
//! whatever [`ClassTree::next`] reaches is eligible, and the walk never turns back. Neither `next` nor
//! [`ClassTree::account`] allocates once each set has been as large as it gets.

mod bucket;
mod change;
mod discipline;
mod error;
mod heap;
mod link;
mod listing;
mod policy;
mod priority;
mod rate_limit;
mod round_robin;
mod tree;
mod usage;
mod weighted_fair;

pub use error::{ClassError, Errno};
pub use listing::Class;
pub use policy::{LeafId, Policy, Position, SHARE_MAX};
pub use tree::{ClassId, ClassTree, Ticks};
pub use usage::{Resource, Usage};

#[cfg(test)]
mod tests;
