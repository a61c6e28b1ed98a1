//! Lets everything pass. What arrives at input gate N leaves through output gate N.

use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GateCounts, Module};

/// A module that does nothing: what a step of the pipeline costs by itself.
#[derive(Default)]
pub struct Bypass;

impl Module for Bypass {
    fn class(&self) -> &'static str {
        "bypass"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::MANY
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, gate: usize, batch: &mut Batch) {
        ctx.emit_batch(gate, batch);
    }
}
