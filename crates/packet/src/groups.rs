//! Taking a batch apart: the frames of one key together, in order.
//!
//! ```text
//!   frames  a b c d e      a d -> group, 3
//!   keys    3 7 3 3 7      b e -> group, 7          in the order in which keys come first
//! ```

use crate::batch::{BATCH_LEN_MAX, Batch};

/// A batch of which groups are taken. What is left when this goes stays in the batch, in order.
///
/// Invariant: the places whose bits are set in `left` hold frames; the batch says that it has none.
pub struct Groups<'a> {
    batch: &'a mut Batch,
    keys: &'a [u16; BATCH_LEN_MAX],
    left: u32,
}

impl Batch {
    /// Its frames by key; `keys[n]` is that of the `n`th.
    #[inline]
    pub fn groups<'a>(&'a mut self, keys: &'a [u16; BATCH_LEN_MAX]) -> Groups<'a> {
        let left = (1_u64 << self.len()) as u32;
        let left = if self.len() == BATCH_LEN_MAX { u32::MAX } else { left - 1 };
        self.forget();
        Groups { batch: self, keys, left }
    }
}

impl Groups<'_> {
    /// Moves all frames that have the key of the first one left into `group`, which is empty, and returns that key. What
    /// `group` has no room for is a group of its own.
    #[inline]
    pub fn next_into(&mut self, group: &mut Batch) -> Option<u16> {
        let first = self.left.trailing_zeros() as usize;
        let key = *self.keys.get(first)?;
        let wanted = self.left & marks_of(self.keys, key);
        self.take(wanted, group);
        Some(key)
    }

    /// Moves the frames whose bits are set in `wanted`, as many as there is room for.
    #[inline]
    fn take(&mut self, mut wanted: u32, group: &mut Batch) {
        let mut room = group.room();
        while wanted != 0 && room != 0 {
            let at = wanted.trailing_zeros() as usize;
            // SAFETY: only bits of `left` are wanted, so the place holds a frame, which is read once, since its bit goes.
            let frame = unsafe { self.batch.read(at) };
            self.left &= !(1 << at);
            wanted &= wanted - 1;
            room -= 1;
            // There is room, as was asked.
            let _ = group.push(frame);
        }
    }
}

impl Drop for Groups<'_> {
    #[inline]
    fn drop(&mut self) {
        while self.left != 0 {
            let at = self.left.trailing_zeros() as usize;
            // SAFETY: as above. What is pushed goes to a place no later than the one that was read, so none is lost.
            let frame = unsafe { self.batch.read(at) };
            self.left &= self.left - 1;
            let _ = self.batch.push(frame);
        }
    }
}

/// A bit for each of `keys` that is `key`.
#[inline]
fn marks_of(keys: &[u16; BATCH_LEN_MAX], key: u16) -> u32 {
    keys.iter().enumerate().fold(0, |marks, (at, it)| marks | u32::from(*it == key) << at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Frame;
    use crate::memory::HeapMemory;
    use crate::pool::Pool;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn groups_are_what_a_stable_partition_gives(
            keys in proptest::array::uniform32(0_u16..6),
            len in 0..=BATCH_LEN_MAX,
            taken in 0_usize..8,
            room in 1_usize..=BATCH_LEN_MAX,
        ) {
            let mut pool = Pool::new(Box::new(HeapMemory::new(32 * 2048)), 2048).unwrap();
            let (mut batch, mut group) = (Batch::new(), Batch::with_len_max(room));
            pool.alloc_batch(len, 60, &mut batch);
            let mut expected: Vec<(u16, u32)> = keys.into_iter().zip(batch.iter().map(Frame::index)).collect();
            let mut groups = batch.groups(&keys);
            for _ in 0..taken {
                let Some(key) = groups.next_into(&mut group) else { break };
                let of_key = expected.iter().filter(|(it, _)| *it == expected[0].0);
                let first: Vec<(u16, u32)> = of_key.take(room).copied().collect();
                prop_assert_eq!(&first, &group.iter().map(|frame| (key, frame.index())).collect::<Vec<_>>());
                expected.retain(|it| !first.contains(it));
                pool.free_batch(&mut group);
            }
            drop(groups);
            let left: Vec<u32> = batch.iter().map(Frame::index).collect();
            prop_assert_eq!(left, expected.into_iter().map(|(_, index)| index).collect::<Vec<_>>());
            pool.free_batch(&mut batch);
            prop_assert_eq!(pool.free_count(), 32);
        }
    }
}
