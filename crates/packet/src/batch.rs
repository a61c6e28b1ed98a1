//! Up to 32 frames that travel together, so that each step's fixed cost is paid once a batch.

use crate::frame::Frame;
use arrayvec::ArrayVec;

/// The most frames a batch holds: the paper's gain levels off there (Sandstorm, figure 8b).
pub const BATCH_LEN_MAX: usize = 32;

/// Frames moved, never copied, in order.
pub struct Batch {
    frames: ArrayVec<Frame, BATCH_LEN_MAX>,
    len_max: usize,
}

impl Batch {
    /// An empty batch.
    pub const fn new() -> Self {
        Self { frames: ArrayVec::new_const(), len_max: BATCH_LEN_MAX }
    }

    /// An empty batch that takes at most `len_max` frames, 32 if that is fewer.
    pub fn with_len_max(len_max: usize) -> Self {
        Self { frames: ArrayVec::new_const(), len_max: len_max.min(BATCH_LEN_MAX) }
    }

    /// How many frames it holds.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// How many more it can take.
    pub fn room(&self) -> usize {
        self.len_max.saturating_sub(self.frames.len())
    }

    /// Appends a frame, or gives it back if the batch is full.
    #[inline]
    pub fn push(&mut self, frame: Frame) -> Result<(), Frame> {
        if self.room() == 0 {
            return Err(frame);
        }
        self.frames.try_push(frame).map_err(|e| e.element())
    }

    /// Moves as many of `other`'s frames, in order, as fit.
    pub fn append(&mut self, other: &mut Self) {
        let n = self.room().min(other.len());
        self.frames.extend(other.frames.drain(..n));
    }

    /// Takes all frames out, in order.
    pub fn drain(&mut self) -> impl ExactSizeIterator<Item = Frame> + '_ {
        self.frames.drain(..)
    }

    /// Takes the first `n` frames out, or all if there are fewer.
    pub fn drain_front(&mut self, n: usize) -> impl ExactSizeIterator<Item = Frame> + '_ {
        let n = n.min(self.frames.len());
        self.frames.drain(..n)
    }

    /// The frames in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Frame> {
        self.frames.iter()
    }

    /// The frames in order, to change.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut Frame> {
        self.frames.iter_mut()
    }

    /// All bytes of data in it.
    pub fn byte_count(&self) -> usize {
        self.frames.iter().map(Frame::len).sum()
    }
}

impl Default for Batch {
    fn default() -> Self {
        Self::new()
    }
}

impl IntoIterator for Batch {
    type Item = Frame;
    type IntoIter = arrayvec::IntoIter<Frame, BATCH_LEN_MAX>;
    fn into_iter(self) -> Self::IntoIter {
        self.frames.into_iter()
    }
}
