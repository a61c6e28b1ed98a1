//! Receives from a port. No input gate; output gate 0: received frames.

use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GateCounts, Module, PortIndex};

/// The head of a pipeline.
pub struct PortIn {
    port: PortIndex,
}

impl PortIn {
    /// Receives from the worker's port `port`.
    pub const fn new(port: PortIndex) -> Self {
        Self { port }
    }
}

impl Module for PortIn {
    fn class(&self) -> &'static str {
        "port_in"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SOURCE
    }

    fn process(&mut self, _: &mut Context<'_>, _: usize, _: Batch) {}

    fn run(&mut self, ctx: &mut Context<'_>) -> usize {
        let wanted = ctx.batch_len();
        let mut count = 0;
        while count < wanted {
            let mut batch = Batch::with_len_max(wanted - count);
            let asked = batch.room();
            let received = ctx.with_port(self.port, |port, pool| port.rx(pool, &mut batch)).unwrap_or(0);
            ctx.emit_batch(0, batch);
            count += received;
            if received < asked {
                break;
            }
        }
        count
    }
}
