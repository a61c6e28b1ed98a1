//! Sends to a port. Input gate 0: frames to send; no output gate. Its room is the transmit ring's.

use tidegate_base::DropReason;
use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GateCounts, Module, PortIndex};

/// The end of a pipeline.
pub struct PortOut {
    port: PortIndex,
}

impl PortOut {
    /// Sends to the worker's port `port`.
    pub const fn new(port: PortIndex) -> Self {
        Self { port }
    }
}

impl Module for PortOut {
    fn class(&self) -> &'static str {
        "port_out"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SINK
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        ctx.with_port(self.port, |port, pool| port.tx(pool, batch));
        ctx.drop_batch(batch, DropReason::RingFull);
    }

    fn bulk_len_max(&self, ctx: &Context<'_>) -> usize {
        ctx.port_bulk_len_max(self.port)
    }

    fn room(&mut self, ctx: &mut Context<'_>, _: usize) -> usize {
        ctx.with_port(self.port, |port, pool| port.tx_room(pool)).unwrap_or(0)
    }
}
