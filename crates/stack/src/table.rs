//! The connections: slots in pages that never move, found by flow.
//!
//! ```text
//!   flow --hash--> index --+--> page[index / 256] [index % 256]  Slot
//!                          +--> timer wheel (same index)
//! ```
//!
//! Invariant: a flow is in the hash table exactly if its slot is occupied; a slot's generation grows
//! each time it is vacated, so a [`ConnId`] names one connection for ever.

use crate::flow::FlowKey;
use crate::link::Link;
use crate::send_queue::SendQueue;
use crate::service::{ConnId, Service};
use hashbrown::HashTable;
use std::hash::BuildHasher;
use tidegate_base::{FlowHasher, Instant};
use tidegate_tcp::Connection;

const PAGE_LEN: usize = 256;

/// Whether frames can be sent to the peer yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// There it is.
    At(Link),
    /// Its link address was asked for so many times; the next time at this instant.
    Resolving { tries: u8, next: Instant },
}

/// One connection and what belongs to it.
pub(crate) struct Slot<S: Service> {
    pub(crate) key: FlowKey,
    pub(crate) tcb: Connection,
    pub(crate) queue: SendQueue<S::Response>,
    pub(crate) state: S::State,
    pub(crate) reach: Reach,
    /// The service's own timer.
    pub(crate) service_deadline: Instant,
    /// When the wheel will look at this slot, at the latest.
    pub(crate) armed_at: Instant,
    /// Which of the stack's profiles applies.
    pub(crate) profile: u16,
    /// This side opened it.
    pub(crate) is_client: bool,
    /// The service let it in.
    pub(crate) is_accepted: bool,
    /// The listener counts it among its half-open connections.
    pub(crate) is_half_open: bool,
    /// It waits for room in the transmit ring.
    pub(crate) is_waiting: bool,
}

struct Cell<S: Service> {
    generation: u32,
    slot: Option<Slot<S>>,
}

/// All connections of a stack.
pub(crate) struct Table<S: Service> {
    pages: Vec<Vec<Cell<S>>>,
    vacant: Vec<u32>,
    by_flow: HashTable<u32>,
    hasher: FlowHasher,
    count: usize,
}

impl<S: Service> Table<S> {
    pub(crate) fn new(hasher: FlowHasher) -> Self {
        Self { pages: Vec::new(), vacant: Vec::new(), by_flow: HashTable::new(), hasher, count: 0 }
    }

    /// How many connections there are.
    pub(crate) const fn len(&self) -> usize {
        self.count
    }

    /// The connection of `key`.
    #[inline]
    pub(crate) fn find(&self, key: &FlowKey) -> Option<u32> {
        let same = |index: &u32| self.slot(*index).is_some_and(|slot| slot.key == *key);
        self.by_flow.find(self.hasher.hash_one(key), same).copied()
    }

    /// Adds a connection whose flow is not in the table.
    pub(crate) fn insert(&mut self, slot: Slot<S>) -> u32 {
        let hash = self.hasher.hash_one(slot.key);
        let index = self.vacant.pop().unwrap_or_else(|| self.grow());
        self.cell(index).slot = Some(slot);
        let (pages, hasher) = (&self.pages, self.hasher);
        let rehash = |i: &u32| peek(pages, *i).map_or(0, |slot| hasher.hash_one(slot.key));
        self.by_flow.insert_unique(hash, index, rehash);
        self.count += 1;
        index
    }

    /// Takes a connection out.
    pub(crate) fn remove(&mut self, index: u32) -> Option<Slot<S>> {
        let cell = self.cell(index);
        let slot = cell.slot.take()?;
        cell.generation = cell.generation.wrapping_add(1);
        let hash = self.hasher.hash_one(slot.key);
        if let Ok(entry) = self.by_flow.find_entry(hash, |i| *i == index) {
            entry.remove();
        }
        self.vacant.push(index);
        self.count -= 1;
        Some(slot)
    }

    #[inline]
    pub(crate) fn slot(&self, index: u32) -> Option<&Slot<S>> {
        peek(&self.pages, index)
    }

    #[inline]
    pub(crate) fn slot_mut(&mut self, index: u32) -> Option<&mut Slot<S>> {
        self.pages.get_mut(index as usize / PAGE_LEN)?.get_mut(index as usize % PAGE_LEN)?.slot.as_mut()
    }

    /// The name of the connection at `index`.
    #[inline]
    pub(crate) fn id(&self, index: u32) -> ConnId {
        let generation = self.pages[index as usize / PAGE_LEN][index as usize % PAGE_LEN].generation;
        ConnId { index, generation }
    }

    /// Where the connection `id` is, if it still exists.
    pub(crate) fn locate(&self, id: ConnId) -> Option<u32> {
        let cell = self.pages.get(id.index as usize / PAGE_LEN)?.get(id.index as usize % PAGE_LEN)?;
        (cell.generation == id.generation && cell.slot.is_some()).then_some(id.index)
    }

    /// The indices of all connections.
    pub(crate) fn indices(&self) -> impl Iterator<Item = u32> + '_ {
        (0..(self.pages.len() * PAGE_LEN) as u32).filter(|i| self.slot(*i).is_some())
    }

    fn cell(&mut self, index: u32) -> &mut Cell<S> {
        &mut self.pages[index as usize / PAGE_LEN][index as usize % PAGE_LEN]
    }

    /// A new page of vacant slots; the first of them is returned.
    fn grow(&mut self) -> u32 {
        let first = (self.pages.len() * PAGE_LEN) as u32;
        let cell = || Cell { generation: 0, slot: None };
        self.pages.push(std::iter::repeat_with(cell).take(PAGE_LEN).collect());
        self.vacant.extend((first + 1..first + PAGE_LEN as u32).rev());
        first
    }
}

#[inline]
fn peek<S: Service>(pages: &[Vec<Cell<S>>], index: u32) -> Option<&Slot<S>> {
    pages.get(index as usize / PAGE_LEN)?.get(index as usize % PAGE_LEN)?.slot.as_ref()
}
