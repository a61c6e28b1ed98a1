//! Receives from a port. No input gate; output gate 0: received frames. Frames with a tail go only to a module that takes
//! them ([`Module::bulk_len_max`]).

use crate::bulk::drop_bulk;
use tidegate_packet::{Batch, Pool};
use tidegate_pipeline::{Context, GateCounts, Module, PortIndex, Work};
use tidegate_port::Port;

/// The head of a pipeline.
pub struct PortIn {
    port: PortIndex,
    batch: Batch,
    /// It receives no more than there is room for downstream.
    holds_back: bool,
}

impl PortIn {
    /// Receives from the worker's port `port`.
    pub fn new(port: PortIndex) -> Self {
        Self { port, batch: Batch::new(), holds_back: false }
    }

    /// Has it leave frames with the port for which there is no room downstream: for a sender who heeds that.
    #[must_use]
    pub fn holding_back(mut self) -> Self {
        self.holds_back = true;
        self
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

    fn asks_room(&self) -> bool {
        self.holds_back
    }

    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        let wanted = if self.holds_back { ctx.batch_len().min(ctx.room(0)) } else { ctx.batch_len() };
        let mut work = Work::NONE;
        while work.packet_count < wanted {
            let batch = &mut self.batch;
            batch.set_len_max(wanted - work.packet_count);
            let asked = batch.room();
            let receive = |port: &mut dyn Port, pool: &mut Pool| (port.rx(pool, batch), port.receives_bulk());
            let (received, is_bulk) = ctx.with_port(self.port, receive).unwrap_or((0, false));
            work.packet_count += received;
            work.byte_count += batch.byte_count();
            if is_bulk && ctx.bulk_len_max(0) == 0 {
                drop_bulk(ctx, &mut self.batch);
            }
            ctx.emit_batch(0, &mut self.batch);
            if received < asked {
                break;
            }
        }
        work
    }
}
