//! A bounded first-in first-out store of frames that moves whole batches where it can.
//!
//! ```text
//!   front                          back
//!   [ 5 left ][ 32 ][ 32 ] ... [ 9 so far ]      all between the first and the last are full
//! ```
//! Invariant: `count` is the sum of the batches' lengths, none of which is empty.

use std::collections::VecDeque;
use tidegate_packet::{BATCH_LEN_MAX, Batch, Frame};

/// Frames in order of arrival.
pub(super) struct Ring {
    batches: VecDeque<Batch>,
    /// Empty ones, ready for use.
    spare: Vec<Batch>,
    count: usize,
}

impl Ring {
    /// An empty ring that does not allocate as long as it holds at most `size` frames.
    pub(super) fn new(size: usize) -> Self {
        let batch_count = size.div_ceil(BATCH_LEN_MAX) + 2;
        Self {
            batches: VecDeque::with_capacity(batch_count),
            spare: (0..batch_count).map(|_| Batch::new()).collect(),
            count: 0,
        }
    }

    /// Makes ready for `size` frames.
    pub(super) fn reserve(&mut self, size: usize) {
        let batch_count = size.div_ceil(BATCH_LEN_MAX) + 2;
        let missing = batch_count.saturating_sub(self.batches.len() + self.spare.len());
        self.spare.extend((0..missing).map(|_| Batch::new()));
        self.batches.reserve(batch_count.saturating_sub(self.batches.len()));
    }

    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// Takes the first `limit` frames of `batch`; the others stay in it.
    #[inline]
    pub(super) fn push_batch(&mut self, batch: &mut Batch, limit: usize) {
        let taken = batch.len().min(limit);
        self.count += taken;
        if taken == batch.len() && self.batches.back().is_none_or(|back| back.room() == 0) {
            self.swap_in(batch);
        } else {
            self.append(batch, taken);
        }
    }

    #[inline]
    fn swap_in(&mut self, batch: &mut Batch) {
        if batch.is_empty() {
            return;
        }
        let mut back = self.spare.pop().unwrap_or_default();
        std::mem::swap(&mut back, batch);
        // Whoever made it may have wanted fewer frames in it.
        back.set_len_max(BATCH_LEN_MAX);
        self.batches.push_back(back);
    }

    fn append(&mut self, batch: &mut Batch, taken: usize) {
        for frame in batch.drain_front(taken) {
            let left = match self.batches.back_mut() {
                Some(back) => back.push(frame).err(),
                None => Some(frame),
            };
            if let Some(frame) = left {
                open(&mut self.batches, &mut self.spare, frame);
            }
        }
    }

    /// Takes the first frames, at most `limit` of them, into `out`, which is empty.
    #[inline]
    pub(super) fn pop_batch(&mut self, out: &mut Batch, limit: usize) {
        let Some(front) = self.batches.front_mut() else { return };
        if front.len() <= limit {
            std::mem::swap(front, out);
            self.discard_front();
        }
        if out.len() < limit && self.count > out.len() {
            self.top_up(out, limit);
        }
        self.count -= out.len();
    }

    #[inline]
    fn discard_front(&mut self) {
        if let Some(mut empty) = self.batches.pop_front() {
            empty.set_len_max(BATCH_LEN_MAX);
            self.spare.push(empty);
        }
    }

    fn top_up(&mut self, out: &mut Batch, limit: usize) {
        while let Some(front) = self.batches.front_mut()
            && out.len() < limit
            && out.room() > 0
        {
            for frame in front.drain_front((limit - out.len()).min(out.room())) {
                // There is room, as was asked above.
                let _ = out.push(frame);
            }
            if front.is_empty() {
                self.discard_front();
            }
        }
    }

    /// All frames, to change.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Frame> {
        self.batches.iter_mut().flat_map(Batch::iter_mut)
    }

    /// All batches, to be emptied.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Batch> + '_ {
        self.count = 0;
        self.batches.drain(..)
    }
}

/// Begins a new last batch with `frame`.
fn open(batches: &mut VecDeque<Batch>, spare: &mut Vec<Batch>, frame: Frame) {
    let mut back = spare.pop().unwrap_or_default();
    // It is empty.
    let _ = back.push(frame);
    batches.push_back(back);
}
