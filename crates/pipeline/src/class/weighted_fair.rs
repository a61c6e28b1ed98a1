//! Shares of a resource, by stride scheduling with the virtual time of start-time fair queueing.
//!
//! Each child's virtual time (its pass) moves on by what it used over its share; the one that is least
//! far runs next. A child that had nothing to do comes back at the group's virtual time at the least: it
//! cannot save up what it did not use, and it does not lose what it was owed while it was briefly gone.
//!
//! Invariant: no ready child's pass is below the group's virtual time (which is the pass at which the last
//! run started) by more than what it was owed.

use super::heap::{Heap, ReadySeat};
use super::link::{Link, NONE};
use super::usage::{Resource, Usage};

/// Virtual time for one unit of the resource at a share of one. A share of 2^32 still has 31 bits of it.
const STRIDE_ONE: u64 = 1 << 63;

pub(super) struct WeightedFair {
    ready: Heap<ReadySeat>,
    resource: Resource,
    virtual_time: u128,
}

/// The stride for a share that was checked.
pub(super) fn stride(share: i64) -> u64 {
    STRIDE_ONE / share.cast_unsigned().max(1)
}

impl WeightedFair {
    pub(super) const fn new(resource: Resource) -> Self {
        Self { ready: Heap::new(), resource, virtual_time: 0 }
    }

    #[inline]
    pub(super) fn first(&self) -> u32 {
        self.ready.first().map_or(NONE, |entry| entry.id)
    }

    /// Where a new child begins.
    pub(super) const fn virtual_time(&self) -> u128 {
        self.virtual_time
    }

    pub(super) fn join(&mut self, links: &mut [Link], child: u32) {
        let link = &mut links[child as usize];
        link.key = link.key.max(self.virtual_time);
        let key = link.key;
        self.ready.insert(links, child, key);
    }

    pub(super) fn leave(&mut self, links: &mut [Link], child: u32) {
        self.ready.remove(links, child);
    }

    /// `child` ran and used that much.
    #[inline]
    pub(super) fn serve(&mut self, links: &mut [Link], child: u32, used: &Usage) {
        let link = &mut links[child as usize];
        self.virtual_time = self.virtual_time.max(link.key);
        let step = u128::from(used.of(self.resource)) * u128::from(link.stride);
        link.key = link.key.saturating_add(step);
        if !link.stops.any() {
            let key = link.key;
            self.ready.update(links, child, key);
        }
    }

    /// Counts another resource from now on. Leads are in the old unit, so all children start level.
    pub(super) fn set_resource(&mut self, links: &mut [Link], group: u32, resource: Resource) {
        if resource == self.resource {
            return;
        }
        self.resource = resource;
        for child in 0..links.len() {
            let link = &mut links[child];
            if link.parent != group {
                continue;
            }
            link.key = self.virtual_time;
            if !link.stops.any() {
                self.ready.update(links, child as u32, self.virtual_time);
            }
        }
    }
}
