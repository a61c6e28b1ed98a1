//! Holds frames until a full batch has come together, then lets it go.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: 0 |
//! | parameters | none |
//! | counters | `held` |
//! | rate | 0.1 ns a frame of 60 bytes on one core (`make bench-pipeline`) |
//!
//! What is left waits for ever if nothing follows: for the sake of those behind it, not of a frame's delay.

use tidegate_packet::{Batch, Pool};
use tidegate_pipeline::metadata::Relocation;
use tidegate_pipeline::{Context, GateCounts, Module};

/// The module.
#[derive(Default)]
pub struct Buffer {
    held: Batch,
}

impl Buffer {
    /// Takes as many frames as it has room for.
    #[inline]
    pub(crate) fn hold(&mut self, batch: &mut Batch) {
        self.held.append(batch);
    }
}

impl Module for Buffer {
    fn class(&self) -> &'static str {
        "buffer"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        if self.held.is_empty() && batch.room() == 0 {
            return ctx.emit_batch(0, batch);
        }
        self.hold(batch);
        if self.held.room() == 0 {
            ctx.emit_batch(0, &mut self.held);
            self.hold(batch);
        }
    }

    fn relocate(&mut self, relocation: &Relocation) {
        self.held.iter_mut().for_each(|frame| relocation.apply(frame));
    }

    fn retire(&mut self, pool: &mut Pool) {
        pool.free_batch(&mut self.held);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("held", self.held.len() as u64)]
    }
}
