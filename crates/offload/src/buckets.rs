//! The buckets: from a key's hash to the addresses of the records that may be its.
//!
//! Each key has two buckets of eight slots; a reader looks at all sixteen. A slot is one word, so that a record appears, is
//! replaced and vanishes at once. Where both buckets are full, one of their records moves to its other bucket: it is in both
//! for a moment, and a reader that has passed the one and not yet the other may miss it, never mistake it.

use crate::layout::{BUCKET_SLOTS, Hash, high, low, pack32};
use crate::memory::Memory;

/// Where the buckets are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buckets {
    pub(crate) first_word: usize,
    pub(crate) count: u32,
}

/// The word of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(pub(crate) usize);

impl Buckets {
    fn slots_of(self, bucket: usize) -> impl Iterator<Item = Slot> + Clone {
        let first = self.first_word + bucket * BUCKET_SLOTS;
        (first..first + BUCKET_SLOTS).map(Slot)
    }

    /// The slots of a key, in the order that readers take.
    pub(crate) fn slots(self, hash: Hash) -> impl Iterator<Item = Slot> + Clone {
        let [first, second] = hash.buckets(self.count);
        self.slots_of(first).chain(self.slots_of(second))
    }

    /// The slots that hold records with the tag of `hash`, and the records' addresses.
    pub(crate) fn candidates(self, memory: &impl Memory, hash: Hash) -> impl Iterator<Item = (Slot, usize)> {
        self.slots(hash).filter_map(move |slot| {
            let word = memory.load(slot.0);
            (low(word) != 0 && high(word) == hash.tag()).then_some((slot, low(word) as usize))
        })
    }

    /// The slot that leads to `address`.
    pub(crate) fn find(self, memory: &impl Memory, hash: Hash, address: usize) -> Option<Slot> {
        self.candidates(memory, hash).find(|(_, found)| *found == address).map(|(slot, _)| slot)
    }

    /// A slot for a key, made by moving another record where there is no free one; `None` where nothing can move.
    /// `hash_of` tells a record's hash by its address.
    pub(crate) fn make_room(
        self,
        memory: &impl Memory,
        hash: Hash,
        hash_of: impl Fn(usize) -> Hash,
    ) -> Option<Slot> {
        let [first, second] = hash.buckets(self.count).map(|bucket| self.free_slots(memory, bucket));
        // The emptier one, for buckets to fill evenly.
        let (fuller, emptier) = if first.1 < second.1 { (first, second) } else { (second, first) };
        if let Some(slot) = emptier.0.or(fuller.0) {
            return Some(slot);
        }
        self.slots(hash).find(|slot| self.move_away(memory, *slot, &hash_of))
    }

    /// The first free slot of a bucket, and how many there are.
    fn free_slots(self, memory: &impl Memory, bucket: usize) -> (Option<Slot>, usize) {
        let mut free = self.slots_of(bucket).filter(|slot| memory.load(slot.0) == 0);
        let first = free.next();
        (first, free.count() + usize::from(first.is_some()))
    }

    fn move_away(self, memory: &impl Memory, slot: Slot, hash_of: &impl Fn(usize) -> Hash) -> bool {
        let word = memory.load(slot.0);
        let hash = hash_of(low(word) as usize);
        let Some(free) = self.slots(hash).find(|slot| memory.load(slot.0) == 0) else { return false };
        memory.store(free.0, word);
        memory.store(slot.0, 0);
        true
    }

    /// Leads readers to a record.
    pub(crate) fn fill(memory: &impl Memory, slot: Slot, hash: Hash, address: usize) {
        memory.store(slot.0, pack32(address as u32, hash.tag()));
    }

    /// Leads readers nowhere.
    pub(crate) fn empty(memory: &impl Memory, slot: Slot) {
        memory.store(slot.0, 0);
    }
}
