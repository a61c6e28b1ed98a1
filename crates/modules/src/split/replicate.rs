//! Sends every frame out of all its gates: the frame itself out of the first, copies out of the others, each with the
//! frame's attributes and headroom.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: those it is given |
//! | parameters | gates |
//! | commands | `set_gates` |
//! | counters | `copied`; `not_copied`, for want of free frames |
//! | rate | 185 M packets/s of one core, 60 bytes: replicate to 2 gates (`make bench-pipeline`) |

use crate::parameter::{ParameterError, gates};
use tidegate_packet::{Batch, Frame, Pool};
use tidegate_pipeline::{Context, GateCounts, Module};

/// The module.
pub struct Replicate {
    gates: Box<[u16]>,
    copies: Batch,
    copied_count: u64,
    not_copied_count: u64,
}

impl Replicate {
    /// Sends out of these gates, at least one.
    pub fn new(numbers: &[u64]) -> Result<Self, ParameterError> {
        Ok(Self { gates: gates(numbers)?, copies: Batch::new(), copied_count: 0, not_copied_count: 0 })
    }

    /// Sends out of these gates from now on.
    pub fn set_gates(&mut self, numbers: &[u64]) -> Result<(), ParameterError> {
        self.gates = gates(numbers)?;
        Ok(())
    }

    fn copy(&mut self, pool: &mut Pool, batch: &Batch) {
        for copy in batch.iter().map_while(|frame| copy_of(pool, frame)) {
            // As many fit as were in the batch.
            let _ = self.copies.push(copy);
        }
        self.copied_count += self.copies.len() as u64;
        self.not_copied_count += (batch.len() - self.copies.len()) as u64;
    }
}

fn copy_of(pool: &mut Pool, frame: &Frame) -> Option<Frame> {
    let mut copy = pool.alloc()?;
    copy.reset(frame.start());
    copy.extend(frame.data());
    *copy.scratch_mut() = *frame.scratch();
    Some(copy)
}

impl Module for Replicate {
    fn class(&self) -> &'static str {
        "replicate"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SPLIT
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        for n in 1..self.gates.len() {
            self.copy(ctx.pool(), batch);
            ctx.emit_batch(usize::from(self.gates[n]), &mut self.copies);
        }
        ctx.emit_batch(usize::from(self.gates[0]), batch);
    }

    /// Gates may meet again further down, so each frame may need room for all its copies.
    fn room(&mut self, _: &mut Context<'_>, downstream: usize) -> usize {
        if downstream == usize::MAX { downstream } else { downstream / self.gates.len() }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("copied", self.copied_count), ("not_copied", self.not_copied_count)]
    }
}
