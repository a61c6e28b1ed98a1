//! Each in turn: a ring through the children that may run.

use super::link::{Link, NONE};

pub(super) struct RoundRobin {
    /// Who is next.
    head: u32,
}

impl RoundRobin {
    pub(super) const fn new() -> Self {
        Self { head: NONE }
    }

    #[inline]
    pub(super) const fn first(&self) -> u32 {
        self.head
    }

    /// Puts `child` behind all others.
    pub(super) fn join(&mut self, links: &mut [Link], child: u32) {
        if self.head == NONE {
            self.head = child;
            (links[child as usize].prev, links[child as usize].next) = (child, child);
            return;
        }
        let last = links[self.head as usize].prev;
        (links[child as usize].prev, links[child as usize].next) = (last, self.head);
        links[last as usize].next = child;
        links[self.head as usize].prev = child;
    }

    pub(super) fn leave(&mut self, links: &mut [Link], child: u32) {
        let Link { prev, next, .. } = links[child as usize];
        if next == child {
            self.head = NONE;
            return;
        }
        links[prev as usize].next = next;
        links[next as usize].prev = prev;
        if self.head == child {
            self.head = next;
        }
    }

    /// `child` ran: the next one's turn, unless it is so already.
    #[inline]
    pub(super) fn serve(&mut self, links: &[Link], child: u32) {
        if self.head == child {
            self.head = links[child as usize].next;
        }
    }
}
