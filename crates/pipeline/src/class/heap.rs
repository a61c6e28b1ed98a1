//! A binary heap of classes, smallest key first, in which each class knows its seat: it can be moved and
//! taken out in O(log n). Not a general heap: the seats live in the tree's [`Link`]s.
//!
//! Invariant: `entries[seat of id].id == id` for every id in the heap, and no key is below its parent's.

use super::link::{Link, NONE};
use std::marker::PhantomData;

/// Which of a link's seats a heap uses.
pub(super) trait Seat {
    fn seat(link: &mut Link) -> &mut u32;
}

/// The ready sets' seats.
pub(super) struct ReadySeat;

impl Seat for ReadySeat {
    #[inline]
    fn seat(link: &mut Link) -> &mut u32 {
        &mut link.ready_seat
    }
}

/// The timers' seats.
pub(super) struct WakeSeat;

impl Seat for WakeSeat {
    #[inline]
    fn seat(link: &mut Link) -> &mut u32 {
        &mut link.wake_seat
    }
}

#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) key: u128,
    pub(super) id: u32,
}

pub(super) struct Heap<S> {
    entries: Vec<Entry>,
    seats: PhantomData<S>,
}

impl<S: Seat> Heap<S> {
    pub(super) const fn new() -> Self {
        Self { entries: Vec::new(), seats: PhantomData }
    }

    #[inline]
    pub(super) fn first(&self) -> Option<Entry> {
        self.entries.first().copied()
    }

    pub(super) fn insert(&mut self, links: &mut [Link], id: u32, key: u128) {
        let entry = Entry { key, id };
        self.entries.push(entry);
        self.sift_up(links, self.entries.len() - 1, entry);
    }

    /// Takes `id` out, which must be in.
    pub(super) fn remove(&mut self, links: &mut [Link], id: u32) {
        let seat = std::mem::replace(S::seat(&mut links[id as usize]), NONE) as usize;
        let Some(last) = self.entries.pop() else { return };
        if seat < self.entries.len() {
            self.settle(links, seat, last);
        }
    }

    /// Gives `id`, which must be in, another key.
    #[inline]
    pub(super) fn update(&mut self, links: &mut [Link], id: u32, key: u128) {
        let entry = Entry { key, id };
        if self.entries.len() == 1 {
            self.entries[0] = entry;
            return;
        }
        let seat = *S::seat(&mut links[id as usize]) as usize;
        self.settle(links, seat, entry);
    }

    /// Puts `entry` at `seat` or where it belongs from there.
    fn settle(&mut self, links: &mut [Link], seat: usize, entry: Entry) {
        if seat > 0 && entry.key < self.entries[(seat - 1) / 2].key {
            self.sift_up(links, seat, entry);
        } else {
            self.sift_down(links, seat, entry);
        }
    }

    fn sift_up(&mut self, links: &mut [Link], mut seat: usize, entry: Entry) {
        while seat > 0 {
            let above = (seat - 1) / 2;
            if self.entries[above].key <= entry.key {
                break;
            }
            self.put(links, seat, self.entries[above]);
            seat = above;
        }
        self.put(links, seat, entry);
    }

    #[inline]
    fn sift_down(&mut self, links: &mut [Link], mut seat: usize, entry: Entry) {
        let count = self.entries.len();
        loop {
            let mut below = 2 * seat + 1;
            if below >= count {
                break;
            }
            if below + 1 < count {
                // Without a branch: which of the two is smaller cannot be foretold.
                below += usize::from(self.entries[below + 1].key < self.entries[below].key);
            }
            if entry.key <= self.entries[below].key {
                break;
            }
            self.put(links, seat, self.entries[below]);
            seat = below;
        }
        self.put(links, seat, entry);
    }

    #[inline]
    fn put(&mut self, links: &mut [Link], seat: usize, entry: Entry) {
        self.entries[seat] = entry;
        *S::seat(&mut links[entry.id as usize]) = seat as u32;
    }
}
