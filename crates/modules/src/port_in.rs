//! Receives from a port. No input gate; output gate 0: received frames.

use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GateCounts, Module, PortIndex, Work};

/// The head of a pipeline.
pub struct PortIn {
    port: PortIndex,
    batch: Batch,
}

impl PortIn {
    /// Receives from the worker's port `port`.
    pub fn new(port: PortIndex) -> Self {
        Self { port, batch: Batch::new() }
    }
}

impl Module for PortIn {
    fn class(&self) -> &'static str {
        "port_in"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SOURCE
    }

    fn process(&mut self, _: &mut Context<'_>, _: usize, _: &mut Batch) {}

    fn task_count(&self) -> usize {
        1
    }

    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        let wanted = ctx.batch_len();
        let mut work = Work::NONE;
        while work.packet_count < wanted {
            let batch = &mut self.batch;
            batch.set_len_max(wanted - work.packet_count);
            let asked = batch.room();
            let received = ctx.with_port(self.port, |port, pool| port.rx(pool, batch)).unwrap_or(0);
            work.packet_count += received;
            work.byte_count += batch.byte_count();
            ctx.emit_batch(0, batch);
            if received < asked {
                break;
            }
        }
        work
    }
}
