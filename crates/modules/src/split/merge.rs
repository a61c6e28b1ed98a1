//! Brings what arrives at any of its gates out of one.
//!
//! | | |
//! |---|---|
//! | gates | in: any; out: 0 |
//! | parameters | none |
//! | rate | 0.0 ns a frame of 60 bytes on one core (`make bench-pipeline`) |

use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GateCounts, Module};

/// The module.
#[derive(Default)]
pub struct Merge;

impl Module for Merge {
    fn class(&self) -> &'static str {
        "merge"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::MERGE
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        ctx.emit_batch(0, batch);
    }
}
