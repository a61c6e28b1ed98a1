//! Where frames end.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: none |
//! | parameters | none |
//! | rate | 600 M packets/s of one core, 60 bytes: source, sink (`make bench-pipeline`) |

use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GateCounts, Module};

/// The end of what nobody needs any more.
#[derive(Default)]
pub struct Sink;

impl Module for Sink {
    fn class(&self) -> &'static str {
        "sink"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SINK
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        ctx.consume_batch(batch);
    }
}
