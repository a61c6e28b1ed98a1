//! Sends to one queue of a port.
//!
//! | | |
//! |---|---|
//! | gates | in: 0, frames to send; out: none |
//! | parameters | the port whose frames go to that queue |
//! | counters | the port's own; what finds its ring full is dropped (`ring_full`) |
//! | rate | that of `port_out` |

use tidegate_base::DropReason;
use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GateCounts, Module, PortIndex};

/// The module.
pub struct QueueOut {
    port: PortIndex,
}

impl QueueOut {
    /// Sends to the queue that is the worker's port `port`.
    pub const fn new(port: PortIndex) -> Self {
        Self { port }
    }
}

impl Module for QueueOut {
    fn class(&self) -> &'static str {
        "queue_out"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SINK
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        ctx.with_port(self.port, |port, pool| port.tx(pool, batch));
        ctx.drop_batch(batch, DropReason::RingFull);
    }

    fn room(&mut self, ctx: &mut Context<'_>, _: usize) -> usize {
        ctx.with_port(self.port, |port, pool| port.tx_room(pool)).unwrap_or(0)
    }

    fn bulk_len_max(&self, ctx: &Context<'_>) -> usize {
        ctx.port_bulk_len_max(self.port)
    }
}
