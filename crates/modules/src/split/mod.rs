//! Modules that steer frames: each says which frame leaves through which gate, or makes more of them.

mod by_field;
mod by_vlan;
mod by_worker;
mod hash_lb;
mod merge;
mod random;
mod replicate;
mod round_robin;

pub use by_field::Split;
pub use by_vlan::VlanSplit;
pub use by_worker::WorkerSplit;
pub use hash_lb::{HashLb, HashLbParams, HashMode};
pub use merge::Merge;
pub use random::{RandomSplit, RandomSplitParams};
pub use replicate::Replicate;
pub use round_robin::{RoundRobin, RoundRobinMode};

#[cfg(test)]
mod tests;
