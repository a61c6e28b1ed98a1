//! Receives from one queue of a port.
//!
//! | | |
//! |---|---|
//! | gates | in: none; out: 0, received frames in order |
//! | tasks | one: receives up to a burst of frames a turn |
//! | parameters | the port whose frames are that queue's; prefetch; burst (1 to 32; the worker's batch unless told) |
//! | counters | the port's own |
//! | rate | that of `port_in` |
//! | dropped | frames with a tail, where the next module does not take them (`too_long`) |
//!
//! A worker's port is a queue of a device: the daemon opens one for each queue that a worker reads, so this differs from
//! `port_in` in its parameters only.

use crate::bulk::drop_bulk;
use crate::parameter::{ParameterError, in_range};
use tidegate_packet::{BATCH_LEN_MAX, Batch, Pool, prefetch};
use tidegate_pipeline::{Context, GateCounts, Module, PortIndex, Work};
use tidegate_port::Port;

/// How it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueIncParams {
    /// The queue.
    pub port: PortIndex,
    /// Brings the first bytes of each frame near before it is emitted.
    pub prefetch: bool,
}

/// The module.
pub struct QueueInc {
    params: QueueIncParams,
    burst: usize,
    batch: Batch,
}

impl QueueInc {
    /// Receives from the queue.
    pub fn new(params: QueueIncParams) -> Self {
        Self { params, burst: BATCH_LEN_MAX, batch: Batch::new() }
    }

    /// How it was made.
    pub const fn params(&self) -> QueueIncParams {
        self.params
    }

    /// Has it receive at most `burst` frames a turn, 1 to 32.
    pub fn set_burst(&mut self, burst: u64) -> Result<(), ParameterError> {
        self.burst = in_range("a burst", burst, 1..=BATCH_LEN_MAX as u64)? as usize;
        Ok(())
    }
}

impl Module for QueueInc {
    fn class(&self) -> &'static str {
        "queue_inc"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SOURCE
    }

    fn process(&mut self, _: &mut Context<'_>, _: usize, _: &mut Batch) {}

    fn task_count(&self) -> usize {
        1
    }

    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        let batch = &mut self.batch;
        batch.set_len_max(self.burst.min(ctx.batch_len()));
        let receive = |port: &mut dyn Port, pool: &mut Pool| (port.rx(pool, batch), port.receives_bulk());
        let (packet_count, is_bulk) = ctx.with_port(self.params.port, receive).unwrap_or((0, false));
        if self.params.prefetch {
            batch.iter().for_each(|frame| prefetch(frame.data()));
        }
        let byte_count = batch.byte_count();
        if is_bulk && ctx.bulk_len_max(0) == 0 {
            drop_bulk(ctx, batch);
        }
        ctx.emit_batch(0, batch);
        Work { packet_count, byte_count }
    }
}
