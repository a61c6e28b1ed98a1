//! Ready packets: frames that hold a chunk already, kept for the next request of the same chunk.
//!
//! ```text
//!   Store   [ - | Shelf | - | Shelf | ... ]       by the response's dense index
//!                   |  owner, used
//!                   +-- Stock of chunk 0: packet packet packet      one is under way to one peer at a time,
//!                   +-- Stock of chunk 1: packet                    so a busy chunk has several
//! ```
//!
//! A chunk whose packets are all under way gets one more, until the store has its share of the pool; then
//! packets of a response that was not asked for lately give way (second chance, in steps of bounded work).
//! Packets of a response that no longer exists go first.
//!
//! Invariant: a shelf's packets hold chunks of its owner, which the weak pointer keeps from being mistaken
//! for another: its address is not used again as long as the shelf exists.

use crate::prepared::{Chunk, Prepared};
use crate::stamp::Stamp;
use std::sync::{Arc, Weak};
use tidegate_base::Sum;
use tidegate_packet::{Frame, Pool, Retained};

/// How many packets of a stock are tried, from where the last idle one was found.
const TRY_COUNT: usize = 4;
/// How many shelves one look for a victim passes.
const STEP_COUNT: usize = 32;
/// How many packets one eviction releases at most.
const EVICT_COUNT: usize = 32;

/// A frame with a chunk in it, as it was sent last.
pub(crate) struct ReadyPacket {
    kept: Retained,
    pub(crate) stamp: Stamp,
    pub(crate) sum: Sum,
}

/// All packets of one chunk.
#[derive(Default)]
struct Stock {
    packets: Vec<ReadyPacket>,
    cursor: usize,
}

impl Stock {
    /// An idle packet. The first is tried first, so that few packets are used as long as few are under way
    /// and the caches stay warm; then those that were sent longest ago.
    #[inline]
    fn take(&mut self, pool: &mut Pool) -> Option<(&mut ReadyPacket, Frame)> {
        let packet_count = self.packets.len();
        let mut lend = |at: usize| Some((at, pool.lend(&self.packets.get(at)?.kept)?));
        let mut later = (self.cursor..packet_count).chain(0..packet_count).take(TRY_COUNT);
        let (at, frame) = lend(0).or_else(|| later.find_map(lend))?;
        self.cursor = at + 1;
        Some((&mut self.packets[at], frame))
    }
}

/// All packets of one response.
struct Shelf {
    owner: Weak<Prepared>,
    was_used: bool,
    packet_count: usize,
    stocks: Box<[Stock]>,
}

impl Shelf {
    fn new(owner: &Arc<Prepared>) -> Self {
        let stocks = (0..owner.chunk_count()).map(|_| Stock::default()).collect();
        Self { owner: Arc::downgrade(owner), was_used: true, packet_count: 0, stocks }
    }

    #[inline]
    fn is_of(&self, prepared: &Arc<Prepared>) -> bool {
        std::ptr::eq(self.owner.as_ptr(), Arc::as_ptr(prepared))
    }

    fn is_orphan(&self) -> bool {
        self.owner.strong_count() == 0
    }

    /// Releases up to `count` packets; returns how many those were.
    fn release(&mut self, count: usize, pool: &mut Pool) -> usize {
        let mut left = count;
        for stock in &mut self.stocks {
            let keep_count = stock.packets.len().saturating_sub(left);
            left -= stock.packets.len() - keep_count;
            stock.packets.drain(keep_count..).for_each(|packet| pool.release(packet.kept));
        }
        self.packet_count -= count - left;
        count - left
    }
}

/// A worker's ready packets.
#[derive(Default)]
pub(crate) struct Store {
    shelves: Vec<Option<Box<Shelf>>>,
    /// The indexes of the shelves that exist.
    filled: Vec<usize>,
    hand: usize,
}

impl Store {
    /// An idle packet with chunk `number` of `owner`, lent.
    #[inline]
    pub(crate) fn take(
        &mut self,
        index: usize,
        owner: &Arc<Prepared>,
        number: usize,
        pool: &mut Pool,
    ) -> Option<(&mut ReadyPacket, Frame)> {
        let shelf = self.shelves.get_mut(index)?.as_deref_mut()?;
        if !shelf.is_of(owner) {
            return None;
        }
        shelf.was_used = true;
        shelf.stocks.get_mut(number)?.take(pool)
    }

    /// Keeps `frame`, which holds `chunk` of `owner` stamped, and lends it out. `None` if it is not of
    /// `pool`.
    pub(crate) fn add(
        &mut self,
        index: usize,
        owner: &Arc<Prepared>,
        chunk: Chunk,
        frame: Frame,
        stamp: Stamp,
        pool: &mut Pool,
    ) -> Option<Frame> {
        let kept = pool.retain(frame)?;
        let shelf = self.shelf(index, owner, pool);
        let frame = pool.lend(&kept);
        match shelf.stocks.get_mut(chunk.number) {
            Some(stock) => {
                stock.packets.push(ReadyPacket { kept, stamp, sum: chunk.sum });
                shelf.packet_count += 1;
            }
            None => pool.release(kept),
        }
        frame
    }

    /// Releases some packets of a response that exists no more or was not asked for lately, but not of the
    /// one at `spared`. Returns how many.
    pub(crate) fn evict(&mut self, spared: usize, pool: &mut Pool) -> usize {
        self.find_victim(spared).map_or(0, |at| self.release_at(at, EVICT_COUNT, pool))
    }

    /// Releases packets of responses that exist no more, as far as a few steps lead.
    pub(crate) fn sweep(&mut self, pool: &mut Pool) {
        for _ in 0..STEP_COUNT.min(self.filled.len()) {
            let at = self.step();
            if self.shelf_at(at).is_some_and(|shelf| shelf.is_orphan()) {
                self.release_at(at, usize::MAX, pool);
            }
        }
    }

    /// Releases everything.
    pub(crate) fn clear(&mut self, pool: &mut Pool) {
        while !self.filled.is_empty() {
            self.release_at(0, usize::MAX, pool);
        }
    }

    /// The shelf of `owner`, made if it is not there; one of an earlier owner of that index is cleared.
    fn shelf(&mut self, index: usize, owner: &Arc<Prepared>, pool: &mut Pool) -> &mut Shelf {
        if index >= self.shelves.len() {
            self.shelves.resize_with(index + 1, || None);
        }
        let place = &mut self.shelves[index];
        match place {
            Some(shelf) if shelf.is_of(owner) => {}
            Some(stale) => {
                stale.release(stale.packet_count, pool);
                **stale = Shelf::new(owner);
            }
            None => self.filled.push(index),
        }
        place.get_or_insert_with(|| Box::new(Shelf::new(owner)))
    }

    fn find_victim(&mut self, spared: usize) -> Option<usize> {
        (0..STEP_COUNT.min(2 * self.filled.len())).find_map(|_| {
            let at = self.step();
            let is_spared = self.filled[at] == spared;
            let shelf = self.shelf_at(at)?;
            let had_chance = !std::mem::replace(&mut shelf.was_used, false);
            (shelf.is_orphan() || (had_chance && !is_spared)).then_some(at)
        })
    }

    /// The next place in `filled`, which must not be empty.
    fn step(&mut self) -> usize {
        self.hand = if self.hand + 1 < self.filled.len() { self.hand + 1 } else { 0 };
        self.hand
    }

    fn shelf_at(&mut self, at: usize) -> Option<&mut Shelf> {
        self.shelves[*self.filled.get(at)?].as_deref_mut()
    }

    /// Releases up to `count` packets of the shelf at place `at`, and the shelf if none is left.
    fn release_at(&mut self, at: usize, count: usize, pool: &mut Pool) -> usize {
        let index = self.filled[at];
        let Some(shelf) = self.shelves[index].as_deref_mut() else { return 0 };
        let released_count = shelf.release(count.min(shelf.packet_count), pool);
        if shelf.packet_count == 0 {
            self.shelves[index] = None;
            self.filled.swap_remove(at);
        }
        released_count
    }
}
