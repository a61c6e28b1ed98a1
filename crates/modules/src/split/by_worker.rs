//! `worker_split`: sends all frames out of the gate of the worker that has them.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: any |
//! | parameters | the worker that this copy is for; which worker has which gate (none given: each its own number) |
//! | commands | `reset` |
//! | dropped | frames on a worker without a gate (`policy`) |
//! | rate | 0.3 ns a frame of 60 bytes on one core (`make bench-pipeline`) |

use crate::parameter::{ParameterError, gate};
use tidegate_base::DropReason;
use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GateCounts, Module};

/// The module, as one worker has it.
pub struct WorkerSplit {
    worker: u32,
    gate: Option<u16>,
}

impl WorkerSplit {
    /// The copy for `worker`, with pairs of a worker and its gate.
    pub fn new(worker: u32, worker_gates: &[(u32, u32)]) -> Result<Self, ParameterError> {
        let mut module = Self { worker, gate: None };
        module.reset(worker_gates)?;
        Ok(module)
    }

    /// Steers by these pairs from now on.
    pub fn reset(&mut self, worker_gates: &[(u32, u32)]) -> Result<(), ParameterError> {
        for (_, number) in worker_gates {
            gate(u64::from(*number))?;
        }
        let own = match worker_gates {
            [] => Some(gate(u64::from(self.worker))?),
            pairs => pairs.iter().find(|(worker, _)| *worker == self.worker).map(|(_, gate)| *gate as u16),
        };
        self.gate = own;
        Ok(())
    }
}

impl Module for WorkerSplit {
    fn class(&self) -> &'static str {
        "worker_split"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SPLIT
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        match self.gate {
            Some(gate) => ctx.emit_batch(usize::from(gate), batch),
            None => ctx.drop_batch(batch, DropReason::Policy),
        }
    }
}
