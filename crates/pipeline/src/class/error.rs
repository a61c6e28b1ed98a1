//! Why a tree cannot be changed so, for people and, as an errno, for BESS's clients.

use super::policy::SHARE_MAX;
use thiserror::Error;

/// The errno that a BESS client expects for a kind of mistake (Linux numbers).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Errno {
    /// ENOENT: what was named is not there.
    NotFound = 2,
    /// EBUSY: something else stands in the way and can be moved.
    Busy = 16,
    /// EEXIST: there is one already.
    Exists = 17,
    /// EINVAL: it cannot be so.
    Invalid = 22,
}

/// Why a class tree cannot be changed so. The tree is as it was.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ClassError {
    /// A class without a name.
    #[error("a traffic class needs a name: give it one")]
    NameMissing,
    /// Two classes of one name.
    #[error("there is a traffic class `{0}` already: give this one another name")]
    NameTaken(String),
    /// No class of that name.
    #[error("there is no traffic class `{0}`: add it first, or list what there is")]
    UnknownName(String),
    /// A handle whose class was removed.
    #[error("this traffic class was removed: look it up by its name again")]
    Removed,
    /// A class below a leaf.
    #[error("`{0}` is a leaf and takes no children: name a class with another policy as the parent")]
    ParentIsLeaf(String),
    /// A second class below a rate limit.
    #[error(
        "`{parent}` is a rate_limit, which takes one child, and has `{child}`: put a group under it, and both into that"
    )]
    ParentFull {
        /// The rate limit.
        parent: String,
        /// The child that it has.
        child: String,
    },
    /// A class below itself.
    #[error("`{class}` cannot go under `{parent}`, which is below it: name a parent outside")]
    Loop {
        /// The class to be moved.
        class: String,
        /// Where to.
        parent: String,
    },
    /// A priority class's child without a priority.
    #[error("`{0}` chooses by priority: give its child a priority")]
    PriorityMissing(String),
    /// A weighted fair class's child without a share.
    #[error("`{0}` is weighted_fair: give its child a share")]
    ShareMissing(String),
    /// A priority or a share where neither counts.
    #[error("`{0}` takes no such number of a child: leave priority and share out, or name another parent")]
    PositionUnwanted(String),
    /// A share for a class without a parent.
    #[error("a class without a parent has no share: leave it out, or name a weighted_fair parent")]
    ShareWithoutParent,
    /// A share that is none.
    #[error("a share of {0} is none: give one from 1 to {SHARE_MAX}")]
    ShareOutOfRange(i64),
    /// Another policy for a class that is there.
    #[error("`{class}` is {policy} and stays so: add another class and move the children")]
    PolicyFixed {
        /// The class.
        class: String,
        /// Its policy.
        policy: &'static str,
    },
    /// A task in two classes.
    #[error("this task is in the class `{0}` already: move that one instead")]
    LeafTaken(String),
    /// A task number beyond the table.
    #[error("task number {0} is too large: number tasks from 0, below 1048576")]
    LeafOutOfRange(u32),
    /// Taking away a class that others hang from.
    #[error("`{class}` has {count} children: remove them or move them first")]
    HasChildren {
        /// The class.
        class: String,
        /// How many.
        count: usize,
    },
    /// Moving the root that the tree makes itself.
    #[error("`{0}` holds the classes without a parent and cannot be moved: move those instead")]
    RootFixed(String),
}

impl ClassError {
    /// The errno for it.
    pub const fn errno(&self) -> Errno {
        match self {
            Self::UnknownName(_) | Self::Removed => Errno::NotFound,
            Self::NameTaken(_) | Self::LeafTaken(_) => Errno::Exists,
            Self::ParentFull { .. } | Self::HasChildren { .. } | Self::RootFixed(_) => Errno::Busy,
            Self::NameMissing
            | Self::ParentIsLeaf(_)
            | Self::Loop { .. }
            | Self::PriorityMissing(_)
            | Self::ShareMissing(_)
            | Self::PositionUnwanted(_)
            | Self::ShareWithoutParent
            | Self::ShareOutOfRange(_)
            | Self::PolicyFixed { .. }
            | Self::LeafOutOfRange(_) => Errno::Invalid,
        }
    }
}
