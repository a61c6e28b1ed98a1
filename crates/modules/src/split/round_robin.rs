//! Deals frames, or whole batches, out to its gates in turn.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: those it is given |
//! | parameters | gates; mode: `batch` or `packet` |
//! | commands | `set_gates`, `set_mode` |
//! | rate | 4.8 ns a frame of 60 bytes on one core (`make bench-pipeline`) |
//!
//! Each worker's copy has a turn of its own.

use crate::parameter::{ParameterError, gates};
use crate::steer::{Gates, emit_in_order};
use std::str::FromStr;
use tidegate_packet::{BATCH_LEN_MAX, Batch};
use tidegate_pipeline::{Context, GateCounts, Module};

/// What is dealt out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RoundRobinMode {
    /// Batches as they come.
    #[default]
    Batch,
    /// Single frames.
    Packet,
}

impl FromStr for RoundRobinMode {
    type Err = ParameterError;

    /// Reads `batch` or `packet`.
    fn from_str(text: &str) -> Result<Self, ParameterError> {
        match text {
            "batch" => Ok(Self::Batch),
            "packet" => Ok(Self::Packet),
            _ => {
                Err(ParameterError::Unknown { what: "mode", given: text.to_owned(), known: "batch, packet" })
            }
        }
    }
}

/// The module.
pub struct RoundRobin {
    gates: Box<[u16]>,
    mode: RoundRobinMode,
    next: usize,
}

impl RoundRobin {
    /// Deals out to these gates, at least one.
    pub fn new(numbers: &[u64], mode: RoundRobinMode) -> Result<Self, ParameterError> {
        Ok(Self { gates: gates(numbers)?, mode, next: 0 })
    }

    /// Deals out to these gates from now on, the first of them first.
    pub fn set_gates(&mut self, numbers: &[u64]) -> Result<(), ParameterError> {
        self.gates = gates(numbers)?;
        self.next = 0;
        Ok(())
    }

    /// Deals out batches, or frames, from now on.
    pub const fn set_mode(&mut self, mode: RoundRobinMode) {
        self.mode = mode;
    }

    #[inline]
    fn turn(&mut self) -> u16 {
        let gate = self.gates[self.next];
        self.next += 1;
        if self.next == self.gates.len() {
            self.next = 0;
        }
        gate
    }
}

impl Module for RoundRobin {
    fn class(&self) -> &'static str {
        "round_robin"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SPLIT
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        if self.mode == RoundRobinMode::Batch {
            return ctx.emit_batch(usize::from(self.turn()), batch);
        }
        let mut gates: Gates = [0; BATCH_LEN_MAX];
        for gate in &mut gates[..batch.len()] {
            *gate = self.turn();
        }
        emit_in_order(ctx, batch, &gates);
    }
}
