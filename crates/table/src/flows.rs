//! State of flows: a fixed number of entries under stable ids, found by their five-tuple, that go when their time
//! is over.
//!
//! ```text
//!   slots    [tag id][      ][tag id] ...   two a entry or more; tag = upper half of the hash
//!                |
//!   entries  [ key, expires_at, value ][ key, expires_at, value ] ...   never move
//! ```
//!
//! Nothing grows or is rebuilt after creation, so no call does more than a bounded piece of work: a lookup, an
//! insertion and a removal touch one run of slots (short, as half of them are vacant and the seed is secret), and
//! `sweep` looks at as many entries as it is told to. A packet only stores a new end of life in the entry that it
//! has read anyway; there is no list to keep in order.
//!
//! Invariant: an entry whose time is over is never found, swept or not; each entry that goes is handed out once.

use crate::BATCH_LEN_MAX;
use crate::store::hash;
use core::num::NonZeroU32;
use thiserror::Error;
use tidegate_base::{FlowHasher, Instant};

/// How many entries an insertion into a full table looks at, to find one whose time is over.
const FULL_SWEEP: usize = 64;

/// The most entries of a table: a slot's number must fit into its tag.
const CAPACITY_MAX: usize = 1 << 30;

/// An entry's name for as long as it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowId(NonZeroU32);

impl FlowId {
    const fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    const fn at(index: usize) -> Option<Self> {
        match NonZeroU32::new((index + 1) as u32) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// It as a number below the table's capacity, for tables beside this one.
    pub const fn as_index(self) -> usize {
        self.index()
    }
}

/// The key of an IPv4 flow: source and destination address and port, and protocol. `scope` tells apart equal
/// tuples, for example by direction or by virtual network (24 bits).
#[inline]
pub const fn key_v4(src: u32, dst: u32, src_port: u16, dst_port: u16, protocol: u8, scope: u32) -> [u64; 2] {
    [(src as u64) << 32 | dst as u64, rest(src_port, dst_port, protocol, scope)]
}

/// The key of an IPv6 flow; as [`key_v4`].
#[inline]
pub const fn key_v6(
    src: u128,
    dst: u128,
    src_port: u16,
    dst_port: u16,
    protocol: u8,
    scope: u32,
) -> [u64; 5] {
    let [src_high, src_low] = [(src >> 64) as u64, src as u64];
    let [dst_high, dst_low] = [(dst >> 64) as u64, dst as u64];
    [src_high, src_low, dst_high, dst_low, rest(src_port, dst_port, protocol, scope)]
}

const fn rest(src_port: u16, dst_port: u16, protocol: u8, scope: u32) -> u64 {
    (scope as u64) << 40 | (src_port as u64) << 24 | (dst_port as u64) << 8 | protocol as u64
}

/// Why there is no table of flows.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum FlowsError {
    /// No entries, or more than ids can name.
    #[error("a table of {capacity} flows: give 1 to {CAPACITY_MAX}")]
    Capacity {
        /// How many were asked for.
        capacity: usize,
    },
}

/// Why a flow was not added. The value comes back.
#[derive(Debug, PartialEq, Eq)]
pub enum InsertError<V> {
    /// The key has a live entry.
    Exists(FlowId, V),
    /// Every entry is in use, and none of those looked at is over.
    Full(V),
}

/// In cache lines of its own: it is read at random, so each line more is a miss more.
#[repr(align(64))]
struct Entry<const N: usize, V> {
    key: [u64; N],
    expires_at: Instant,
    /// `None` while no flow has the entry.
    value: Option<V>,
}

/// Values of type `V` by keys of `N` words, each with an end of life.
pub struct Flows<const N: usize, V> {
    /// A tag (upper half) and an entry's number from one (lower half); zero is vacant.
    slots: Box<[u64]>,
    /// How far a tag is shifted to give its first slot.
    shift: u32,
    entries: Vec<Entry<N, V>>,
    free: Vec<u32>,
    capacity: usize,
    /// The entry that the next sweep looks at first.
    hand: usize,
    hasher: FlowHasher,
}

impl<const N: usize, V> Flows<N, V> {
    /// An empty table for `capacity` flows. `seed` is drawn at random and kept from peers, who choose the keys.
    pub fn new(capacity: usize, seed: u64) -> Result<Self, FlowsError> {
        if !(1..=CAPACITY_MAX).contains(&capacity) {
            return Err(FlowsError::Capacity { capacity });
        }
        let slot_count = (capacity * 2).next_power_of_two();
        Ok(Self {
            slots: vec![0; slot_count].into_boxed_slice(),
            shift: 32 - slot_count.trailing_zeros(),
            entries: Vec::with_capacity(capacity),
            free: Vec::with_capacity(capacity),
            capacity,
            hand: 0,
            hasher: FlowHasher::new(seed),
        })
    }

    /// How many entries are in use, those among them that are over but not swept.
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Whether no entry is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many entries there are.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// The live entry of `key`.
    #[inline]
    pub fn lookup(&self, key: &[u64; N], now: Instant) -> Option<FlowId> {
        let (_, id) = self.find(key, self.tag(key))?;
        self.live(id, now)
    }

    /// The live entry of each of `keys`; as many as both slices hold.
    #[inline]
    pub fn lookup_batch(&self, keys: &[[u64; N]], now: Instant, ids: &mut [Option<FlowId>]) {
        for (keys, ids) in keys.chunks(BATCH_LEN_MAX).zip(ids.chunks_mut(BATCH_LEN_MAX)) {
            self.lookup_chunk(keys, now, ids);
        }
    }

    /// In passes: the tags, the slots with these tags, the entries that they name.
    #[inline]
    fn lookup_chunk(&self, keys: &[[u64; N]], now: Instant, ids: &mut [Option<FlowId>]) {
        let mut tags = [0; BATCH_LEN_MAX];
        let mut slots = [0; BATCH_LEN_MAX];
        for (tag, key) in tags.iter_mut().zip(keys) {
            *tag = self.tag(key);
        }
        self.candidates(&tags, &mut slots, keys.len());
        for (((id, key), slot), tag) in ids.iter_mut().zip(keys).zip(slots).zip(tags) {
            *id = id_of(slot).and_then(|candidate| {
                let entry = &self.entries[candidate.index()];
                if entry.key == *key {
                    return (entry.expires_at > now).then_some(candidate);
                }
                self.find(key, tag).and_then(|(_, id)| self.live(id, now))
            });
        }
    }

    /// The value of an entry in use.
    #[inline]
    pub fn get(&self, id: FlowId) -> Option<&V> {
        self.entries.get(id.index())?.value.as_ref()
    }

    /// The value of an entry in use, to be changed.
    #[inline]
    pub fn get_mut(&mut self, id: FlowId) -> Option<&mut V> {
        self.entries.get_mut(id.index())?.value.as_mut()
    }

    /// The key of an entry in use.
    pub fn key(&self, id: FlowId) -> Option<&[u64; N]> {
        self.entries.get(id.index()).filter(|entry| entry.value.is_some()).map(|entry| &entry.key)
    }

    /// Lets an entry live until `expires_at`: what a packet of its flow does.
    #[inline]
    pub fn touch(&mut self, id: FlowId, expires_at: Instant) {
        if let Some(entry) = self.entries.get_mut(id.index()) {
            entry.expires_at = expires_at;
        }
    }

    /// Adds a flow that lives until `expires_at`. `gone` is given each flow that is over and makes room.
    pub fn insert(
        &mut self,
        key: [u64; N],
        value: V,
        now: Instant,
        expires_at: Instant,
        gone: &mut dyn FnMut([u64; N], V),
    ) -> Result<FlowId, InsertError<V>> {
        let tag = self.tag(&key);
        if let Some((_, id)) = self.find(&key, tag) {
            if self.live(id, now).is_some() {
                return Err(InsertError::Exists(id, value));
            }
            self.hand_out(id, gone);
        }
        let Some(id) = self.vacant_entry(now, gone) else { return Err(InsertError::Full(value)) };
        self.entries[id.index()] = Entry { key, expires_at, value: Some(value) };
        let mut at = self.home(tag);
        while self.slots[at] != 0 {
            at = self.after(at);
        }
        self.slots[at] = u64::from(tag) << 32 | u64::from(id.0.get());
        Ok(id)
    }

    /// Takes an entry out.
    pub fn remove(&mut self, id: FlowId) -> Option<([u64; N], V)> {
        let key = *self.key(id)?;
        let (slot, _) = self.find(&key, self.tag(&key))?;
        self.close_gap(slot);
        self.free.push(id.index() as u32);
        let value = self.entries[id.index()].value.take()?;
        Some((key, value))
    }

    /// Looks at the next `budget` entries, and takes out those whose time is over.
    pub fn sweep(&mut self, now: Instant, budget: usize, gone: &mut dyn FnMut([u64; N], V)) {
        for _ in 0..budget.min(self.entries.len()) {
            let at = if self.hand < self.entries.len() { self.hand } else { 0 };
            self.hand = at + 1;
            let entry = &self.entries[at];
            let is_over = entry.value.is_some() && entry.expires_at <= now;
            if is_over && let Some(id) = FlowId::at(at) {
                self.hand_out(id, gone);
            }
        }
    }

    fn hand_out(&mut self, id: FlowId, gone: &mut dyn FnMut([u64; N], V)) {
        if let Some((key, value)) = self.remove(id) {
            gone(key, value);
        }
    }

    fn vacant_entry(&mut self, now: Instant, gone: &mut dyn FnMut([u64; N], V)) -> Option<FlowId> {
        if self.free.is_empty() && self.entries.len() == self.capacity {
            self.sweep(now, FULL_SWEEP, gone);
        }
        if let Some(index) = self.free.pop() {
            return FlowId::at(index as usize);
        }
        if self.entries.len() == self.capacity {
            return None;
        }
        self.entries.push(Entry { key: [0; N], expires_at: Instant::ZERO, value: None });
        FlowId::at(self.entries.len() - 1)
    }

    #[inline]
    fn live(&self, id: FlowId, now: Instant) -> Option<FlowId> {
        (self.entries[id.index()].expires_at > now).then_some(id)
    }

    /// The slot and the id of `key`, live or not.
    #[inline]
    fn find(&self, key: &[u64; N], tag: u32) -> Option<(usize, FlowId)> {
        let mut at = self.home(tag);
        loop {
            let id = id_of(self.slots[at])?;
            if tag_of(self.slots[at]) == tag && self.entries[id.index()].key == *key {
                return Some((at, id));
            }
            at = self.after(at);
        }
    }

    /// The first slot with each of the tags, or zero: in rounds, as in `Store`.
    #[inline]
    fn candidates(&self, tags: &[u32; BATCH_LEN_MAX], slots: &mut [u64; BATCH_LEN_MAX], count: usize) {
        let mut open = [0u8; BATCH_LEN_MAX];
        let mut open_count = 0;
        for (index, (tag, slot)) in tags.iter().zip(&mut *slots).take(count).enumerate() {
            *slot = self.slots[self.home(*tag)];
            open[open_count % BATCH_LEN_MAX] = index as u8;
            open_count += usize::from((*slot != 0) & (tag_of(*slot) != *tag));
        }
        let mut distance = 0;
        while open_count != 0 {
            distance += 1;
            let turns = core::mem::take(&mut open_count);
            for turn in 0..turns {
                let index = usize::from(open[turn]) % BATCH_LEN_MAX;
                let (tag, mask) = (tags[index], self.slots.len() - 1);
                slots[index] = self.slots[(self.home(tag) + distance) & mask];
                open[open_count] = index as u8;
                open_count += usize::from((slots[index] != 0) & (tag_of(slots[index]) != tag));
            }
        }
    }

    /// Vacates a slot, and moves the later ones of its run up.
    fn close_gap(&mut self, slot: usize) {
        let mut hole = slot;
        let mut at = self.after(hole);
        while self.slots[at] != 0 {
            let home = self.home(tag_of(self.slots[at]));
            if self.distance(home, at) >= self.distance(hole, at) {
                self.slots[hole] = self.slots[at];
                hole = at;
            }
            at = self.after(at);
        }
        self.slots[hole] = 0;
    }

    #[inline]
    fn tag(&self, key: &[u64; N]) -> u32 {
        (hash(&self.hasher, key) >> 32) as u32
    }

    /// The upper bits of the tag: a slot tells its first place without its entry.
    #[inline]
    const fn home(&self, tag: u32) -> usize {
        (tag >> self.shift) as usize & (self.slots.len() - 1)
    }

    const fn after(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }

    const fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & (self.slots.len() - 1)
    }
}

const fn tag_of(slot: u64) -> u32 {
    (slot >> 32) as u32
}

const fn id_of(slot: u64) -> Option<FlowId> {
    match NonZeroU32::new(slot as u32) {
        Some(number) => Some(FlowId(number)),
        None => None,
    }
}

#[cfg(test)]
#[path = "flows_tests.rs"]
mod tests;
