//! What can be said of a class: how it chooses among its children, and what its parent wants to know of it.

use super::usage::Resource;

/// The largest share: ratios beyond it would not be exact.
pub const SHARE_MAX: i64 = u32::MAX as i64;

/// A task of the worker, by the worker's own number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LeafId(pub u32);

impl LeafId {
    /// The largest: leaves are looked up in a table as long as the largest number in use.
    pub const MAX: Self = Self((1 << 20) - 1);
}

/// How a class chooses among its children.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The smallest priority that may run; equal ones take turns.
    Priority,
    /// Each gets its share of the resource.
    WeightedFair(Resource),
    /// Each in turn.
    RoundRobin,
    /// One child, as often as a token bucket allows.
    RateLimit {
        /// What is limited.
        resource: Resource,
        /// How much of it a second; 0 is no limit.
        limit: u64,
        /// How much may be saved up while the class has nothing to do. A bucket holds one run in any
        /// case, or lateness would cost rate.
        max_burst: u64,
    },
    /// No children: a task.
    Leaf(LeafId),
}

impl Policy {
    /// Its name in the control protocol.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Priority => "priority",
            Self::WeightedFair(_) => "weighted_fair",
            Self::RoundRobin => "round_robin",
            Self::RateLimit { .. } => "rate_limit",
            Self::Leaf(_) => "leaf",
        }
    }
}

/// What a parent's policy wants to know of a child.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// Under `priority`: the smaller number goes first. Without a parent: likewise, with 0 for `None`.
    Priority(i64),
    /// Under `weighted_fair`: how much beside its siblings, 1 to [`SHARE_MAX`].
    Share(i64),
    /// Under `round_robin` and `rate_limit`: nothing.
    None,
}

impl Position {
    /// Without a parent: only when no other class there may run.
    pub const LAST: Self = Self::Priority(i64::MAX);
}
