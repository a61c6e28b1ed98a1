//! The implicit queue of a transformer edge: frames whose class has changed wait here until their new class
//! is scheduled, so that their work is accounted to it (BESS, section 5.5.4).
//!
//! Invariant: at most `len_max` frames wait, in the order in which they came; what does not fit stays with
//! the caller, who drops and counts it.

use super::policy::LeafId;
use super::tree::ClassTree;
use std::collections::VecDeque;
use tidegate_packet::{Batch, Frame};

/// A bounded queue of frames in front of a leaf, which may run only while some wait.
pub struct Backlog {
    frames: VecDeque<Frame>,
    len_max: usize,
    leaf: LeafId,
}

impl Backlog {
    /// An empty queue of at most `len_max` frames for task `leaf`, which has nothing to do yet.
    pub fn new(tree: &mut ClassTree, leaf: LeafId, len_max: usize) -> Self {
        tree.block(leaf);
        Self { frames: VecDeque::with_capacity(len_max), len_max, leaf }
    }

    /// How many frames wait.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// How many more fit.
    pub fn room(&self) -> usize {
        self.len_max - self.frames.len()
    }

    /// Takes as many frames as fit off `batch`'s front, and lets the leaf run.
    pub fn push(&mut self, tree: &mut ClassTree, batch: &mut Batch) {
        let was_empty = self.is_empty();
        self.frames.extend(batch.drain_front(self.room()));
        if was_empty && !self.is_empty() {
            tree.unblock(self.leaf);
        }
    }

    /// Moves what waits into `batch` as far as it has room. With the last frame, the leaf is blocked.
    pub fn pop(&mut self, tree: &mut ClassTree, batch: &mut Batch) {
        while batch.room() > 0
            && let Some(frame) = self.frames.pop_front()
        {
            if let Err(frame) = batch.push(frame) {
                self.frames.push_front(frame);
                break;
            }
        }
        if self.is_empty() {
            tree.block(self.leaf);
        }
    }

    /// Takes all frames out, to be given back to their pool.
    pub fn drain(&mut self, tree: &mut ClassTree) -> impl ExactSizeIterator<Item = Frame> + '_ {
        tree.block(self.leaf);
        self.frames.drain(..)
    }
}
