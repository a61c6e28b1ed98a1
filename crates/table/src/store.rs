//! A hash table for keys of whole 64-bit words: open addressing, a key beside its value.
//!
//! A batch is looked up in rounds. Round by round each key that is still open looks at one slot, and whether it
//! is decided is arithmetic, not a branch: the reads of a round overlap, and random keys mispredict nothing.
//!
//! ```text
//!   slot   [ k2 v ][      ][ k1 v ][ k3 v ][      ] ...     a power of two of them
//!   round 0: k1 found, k3 looks at k1, k9 at a vacant slot: not here
//!   round 1: k3 found
//! ```
//!
//! Invariant: from a key's first slot to its own no slot is vacant; a deletion moves later keys up to keep it.
//! Grows by itself, all at once: what adds here is not on the data path.

use crate::BATCH_LEN_MAX;
use core::hash::{BuildHasher, Hasher};
use core::hint::select_unpredictable;
use tidegate_base::FlowHasher;

/// Up to this many keys a table has four slots a key or more, so that nearly all are found in the first round; a
/// larger one has two or more, as its memory then matters more.
const SMALL: usize = 1 << 16;
const SLOT_COUNT_MIN: usize = 16;

#[derive(Clone, Copy)]
struct Slot<const N: usize, V> {
    key: [u64; N],
    value: Option<V>,
}

/// Values by keys of `N` words.
pub(crate) struct Store<const N: usize, V> {
    slots: Box<[Slot<N, V>]>,
    count: usize,
    hasher: FlowHasher,
}

impl<const N: usize, V: Copy> Store<N, V> {
    pub(crate) fn new(seed: u64) -> Self {
        Self { slots: vacant(SLOT_COUNT_MIN), count: 0, hasher: FlowHasher::new(seed) }
    }

    pub(crate) const fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn clear(&mut self) {
        self.slots = vacant(SLOT_COUNT_MIN);
        self.count = 0;
    }

    /// The value of `key`.
    pub(crate) fn get(&self, key: &[u64; N]) -> Option<V> {
        self.slots[self.find(key)].value
    }

    /// Sets the value of `key`, and returns the one that it had.
    pub(crate) fn insert(&mut self, key: [u64; N], value: V) -> Option<V> {
        let at = self.find(&key);
        let before = self.slots[at].value;
        self.slots[at] = Slot { key, value: Some(value) };
        if before.is_none() {
            self.count += 1;
            if slot_count_for(self.count) > self.slots.len() {
                self.grow();
            }
        }
        before
    }

    /// Deletes `key`, and returns its value.
    pub(crate) fn remove(&mut self, key: &[u64; N]) -> Option<V> {
        let mut hole = self.find(key);
        let value = self.slots[hole].value.take()?;
        self.count -= 1;
        let mut at = self.after(hole);
        while self.slots[at].value.is_some() {
            let home = self.home(&self.slots[at].key);
            if self.distance(home, at) >= self.distance(hole, at) {
                self.slots[hole] = self.slots[at];
                self.slots[at].value = None;
                hole = at;
            }
            at = self.after(at);
        }
        Some(value)
    }

    /// Looks up to 32 keys up: `found` is given the value of each, or `None`.
    #[inline]
    pub(crate) fn lookup(&self, keys: &[[u64; N]], found: &mut [Option<V>; BATCH_LEN_MAX]) {
        let mut places = [0u32; BATCH_LEN_MAX];
        for (place, key) in places.iter_mut().zip(keys) {
            *place = self.home(key) as u32;
        }
        let mut open = [0u8; BATCH_LEN_MAX];
        let mut open_count = 0;
        for (index, ((key, place), found)) in keys.iter().zip(&places).zip(&mut *found).enumerate() {
            let is_open = self.look(key, *place, found);
            open[open_count % BATCH_LEN_MAX] = index as u8;
            open_count += usize::from(is_open);
        }
        while open_count != 0 {
            open_count = self.next_round(keys, found, &mut places, &mut open, open_count);
        }
    }

    /// Lets the open keys look one slot further; returns how many are open then.
    #[inline]
    fn next_round(
        &self,
        keys: &[[u64; N]],
        found: &mut [Option<V>; BATCH_LEN_MAX],
        places: &mut [u32; BATCH_LEN_MAX],
        open: &mut [u8; BATCH_LEN_MAX],
        open_count: usize,
    ) -> usize {
        let mut left = 0;
        for turn in 0..open_count {
            let index = usize::from(open[turn]) % BATCH_LEN_MAX;
            places[index] = places[index].wrapping_add(1);
            let is_open = self.look(&keys[index], places[index], &mut found[index]);
            open[left] = index as u8;
            left += usize::from(is_open);
        }
        left
    }

    /// Looks at one slot; true if the search goes on behind it.
    #[inline]
    fn look(&self, key: &[u64; N], place: u32, found: &mut Option<V>) -> bool {
        let slot = &self.slots[place as usize & (self.slots.len() - 1)];
        let is_it = slot.key == *key;
        *found = select_unpredictable(is_it, slot.value, None);
        !is_it & slot.value.is_some()
    }

    /// The slot of `key`, or the vacant one where it would be.
    fn find(&self, key: &[u64; N]) -> usize {
        let mut at = self.home(key);
        while self.slots[at].value.is_some() && self.slots[at].key != *key {
            at = self.after(at);
        }
        at
    }

    #[inline]
    fn home(&self, key: &[u64; N]) -> usize {
        hash(&self.hasher, key) as usize & (self.slots.len() - 1)
    }

    const fn after(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }

    const fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & (self.slots.len() - 1)
    }

    fn grow(&mut self) {
        let slots = core::mem::replace(&mut self.slots, vacant(slot_count_for(self.count)));
        for slot in slots.into_iter().filter(|slot| slot.value.is_some()) {
            let at = self.find(&slot.key);
            self.slots[at] = slot;
        }
    }
}

/// The hash of a key of whole words: the flow hash, finished by one more round. Without it, numbers that lie close
/// together share bits of the one product under one seed in a few hundred, and tables take theirs from both halves.
#[inline]
pub(crate) fn hash<const N: usize>(hasher: &FlowHasher, key: &[u64; N]) -> u64 {
    let mut state = hasher.build_hasher();
    for word in key {
        state.write_u64(*word);
    }
    let folded = state.finish();
    let mixed = (folded ^ folded >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 32
}

fn vacant<const N: usize, V: Copy>(count: usize) -> Box<[Slot<N, V>]> {
    vec![Slot { key: [0; N], value: None }; count].into_boxed_slice()
}

fn slot_count_for(count: usize) -> usize {
    let factor = if count <= SMALL { 4 } else { 2 };
    (count * factor).next_power_of_two().max(SLOT_COUNT_MIN)
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
