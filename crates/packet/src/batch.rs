//! Up to 32 frames that travel together, so that each step's fixed cost is paid once a batch.

use crate::frame::Frame;
use arrayvec::ArrayVec;

/// The most frames a batch holds: the paper's gain levels off there (Sandstorm, figure 8b).
pub const BATCH_LEN_MAX: usize = 32;

/// Frames moved, never copied, in order.
#[derive(Default)]
pub struct Batch(ArrayVec<Frame, BATCH_LEN_MAX>);

impl Batch {
    /// An empty batch.
    pub const fn new() -> Self {
        Self(ArrayVec::new_const())
    }

    /// How many frames it holds.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many more it can take.
    pub fn room(&self) -> usize {
        self.0.remaining_capacity()
    }

    /// Appends a frame, or gives it back if the batch is full.
    #[inline]
    pub fn push(&mut self, frame: Frame) -> Result<(), Frame> {
        self.0.try_push(frame).map_err(|e| e.element())
    }

    /// Moves as many of `other`'s frames, in order, as fit.
    pub fn append(&mut self, other: &mut Self) {
        let n = self.room().min(other.len());
        self.0.extend(other.0.drain(..n));
    }

    /// Takes all frames out, in order.
    pub fn drain(&mut self) -> impl ExactSizeIterator<Item = Frame> + '_ {
        self.0.drain(..)
    }

    /// Takes the first `n` frames out, or all if there are fewer.
    pub fn drain_front(&mut self, n: usize) -> impl ExactSizeIterator<Item = Frame> + '_ {
        let n = n.min(self.0.len());
        self.0.drain(..n)
    }

    /// The frames in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Frame> {
        self.0.iter()
    }

    /// The frames in order, to change.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut Frame> {
        self.0.iter_mut()
    }

    /// All bytes of data in it.
    pub fn byte_count(&self) -> usize {
        self.0.iter().map(Frame::len).sum()
    }
}

impl IntoIterator for Batch {
    type Item = Frame;
    type IntoIter = arrayvec::IntoIter<Frame, BATCH_LEN_MAX>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
