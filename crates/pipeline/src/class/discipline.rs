//! One face for the policies: which children are ready, and who of them is first.

use super::link::{Link, NONE};
use super::policy::{Policy, Position};
use super::priority::Priority;
use super::rate_limit::RateLimit;
use super::round_robin::RoundRobin;
use super::usage::Usage;
use super::weighted_fair::{WeightedFair, stride};

/// A class's policy at work.
pub(super) enum Discipline {
    Priority(Priority),
    WeightedFair(WeightedFair),
    RoundRobin(RoundRobin),
    RateLimit(RateLimit),
    Leaf,
}

impl Discipline {
    pub(super) const fn new(policy: Policy, ticks_per_s: u64) -> Self {
        match policy {
            Policy::Priority => Self::Priority(Priority::new()),
            Policy::WeightedFair(resource) => Self::WeightedFair(WeightedFair::new(resource)),
            Policy::RoundRobin => Self::RoundRobin(RoundRobin::new()),
            Policy::RateLimit { resource, limit, max_burst } => {
                Self::RateLimit(RateLimit::new(ticks_per_s, resource, limit, max_burst))
            }
            Policy::Leaf(_) => Self::Leaf,
        }
    }

    /// Who runs next of the children that may, or [`NONE`].
    #[inline]
    pub(super) fn first(&self) -> u32 {
        match self {
            Self::Priority(group) => group.first(),
            Self::WeightedFair(group) => group.first(),
            Self::RoundRobin(group) => group.first(),
            Self::RateLimit(group) => group.first(),
            Self::Leaf => NONE,
        }
    }

    /// `child` may run now.
    pub(super) fn join(&mut self, links: &mut [Link], child: u32) {
        match self {
            Self::Priority(group) => group.join(links, child),
            Self::WeightedFair(group) => group.join(links, child),
            Self::RoundRobin(group) => group.join(links, child),
            Self::RateLimit(group) => group.join(child),
            Self::Leaf => {}
        }
    }

    /// `child`, which could run, may not any more.
    pub(super) fn leave(&mut self, links: &mut [Link], child: u32) {
        match self {
            Self::Priority(group) => group.leave(links, child),
            Self::WeightedFair(group) => group.leave(links, child),
            Self::RoundRobin(group) => group.leave(links, child),
            Self::RateLimit(group) => group.leave(),
            Self::Leaf => {}
        }
    }

    /// `child` ran; it may have left the ready set meanwhile. Who is first now, or [`NONE`].
    #[inline(always)]
    pub(super) fn serve(&mut self, links: &mut [Link], child: u32, used: &Usage) -> u32 {
        match self {
            Self::Priority(group) => {
                group.serve(links, child);
                group.first()
            }
            Self::WeightedFair(group) => {
                group.serve(links, child, used);
                group.first()
            }
            Self::RoundRobin(group) => {
                group.serve(links, child);
                group.first()
            }
            Self::RateLimit(group) => group.first(),
            Self::Leaf => NONE,
        }
    }

    /// Takes a new child, which is not ready yet.
    pub(super) fn adopt(&self, link: &mut Link, position: Position) {
        if let Self::WeightedFair(group) = self {
            link.key = group.virtual_time();
        }
        self.position(link, position);
    }

    /// Gives a child another position while it is not in the ready set.
    pub(super) fn position(&self, link: &mut Link, position: Position) {
        match position {
            Position::Priority(priority) => link.priority = priority,
            Position::Share(share) => link.stride = stride(share),
            Position::None => link.priority = 0,
        }
    }
}
