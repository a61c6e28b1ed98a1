//! Strict priority: the smallest number that may run; equal ones take turns.
//!
//! Invariant: among equal priorities, a child's turn is larger than that of every child that was served
//! or became ready before it.

use super::heap::{Heap, ReadySeat};
use super::link::{Link, NONE};

pub(super) struct Priority {
    ready: Heap<ReadySeat>,
    turn: u64,
}

impl Priority {
    pub(super) const fn new() -> Self {
        Self { ready: Heap::new(), turn: 0 }
    }

    #[inline]
    pub(super) fn first(&self) -> u32 {
        self.ready.first().map_or(NONE, |entry| entry.id)
    }

    pub(super) fn join(&mut self, links: &mut [Link], child: u32) {
        let key = self.next_key(&links[child as usize]);
        self.ready.insert(links, child, key);
    }

    pub(super) fn leave(&mut self, links: &mut [Link], child: u32) {
        self.ready.remove(links, child);
    }

    /// `child` ran: its equals go first now.
    #[inline]
    pub(super) fn serve(&mut self, links: &mut [Link], child: u32) {
        let link = &links[child as usize];
        if !link.stops.any() {
            let key = self.next_key(link);
            self.ready.update(links, child, key);
        }
    }

    /// {priority, turn}, the priority biased so that it compares as an unsigned number.
    #[inline]
    fn next_key(&mut self, link: &Link) -> u128 {
        self.turn += 1;
        let biased = link.priority.cast_unsigned() ^ (1 << 63);
        u128::from(biased) << 64 | u128::from(self.turn)
    }
}
