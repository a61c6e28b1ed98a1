//! Lets everything pass. What arrives at input gate N leaves through output gate N.
//!
//! | | |
//! |---|---|
//! | gates | in: any; out: any |
//! | parameters | processor cycles that it spends, for a batch, a packet and a byte; none unless told |
//! | rate | 510 M packets/s of one core, 60 bytes: 1 bypass (`make bench-pipeline`) |
//!
//! It spends cycles in a chain of multiplications, each of which waits for the one before: four cycles for each and its
//! addition, on x86 processors of the last ten years. They are cycles of the core, not of a clock, so that the work it
//! stands for slows down with the core.

use std::hint::black_box;
use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GateCounts, Module};

/// Cycles of a multiplication and an addition.
const LINK_CYCLES: u64 = 4;

/// Processor cycles to spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct BypassParams {
    /// For each batch.
    pub cycles_per_batch: u32,
    /// For each packet.
    pub cycles_per_packet: u32,
    /// For each byte of data.
    pub cycles_per_byte: u32,
}

/// A module that does nothing: what a step of the pipeline costs by itself; or what one costs that takes so long.
#[derive(Default)]
pub struct Bypass {
    /// None, if it spends nothing.
    params: Option<BypassParams>,
}

impl Bypass {
    /// Spends so many cycles.
    pub fn new(params: BypassParams) -> Self {
        Self { params: (params != BypassParams::default()).then_some(params) }
    }
}

impl BypassParams {
    fn spend(self, batch: &Batch) {
        let Self { cycles_per_batch, cycles_per_packet, cycles_per_byte } = self;
        let per_byte =
            if cycles_per_byte == 0 { 0 } else { u64::from(cycles_per_byte) * batch.byte_count() as u64 };
        let cycles =
            u64::from(cycles_per_batch) + u64::from(cycles_per_packet) * batch.len() as u64 + per_byte;
        let mut link = black_box(1_u64);
        for _ in 0..cycles / LINK_CYCLES {
            link = link.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        }
        black_box(link);
    }
}

impl Module for Bypass {
    fn class(&self) -> &'static str {
        "bypass"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::MANY
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, gate: usize, batch: &mut Batch) {
        match self.params {
            None => ctx.emit_batch(gate, batch),
            Some(params) => spend_and_emit(params, ctx, gate, batch),
        }
    }
}

/// Apart, so that a module that spends nothing is as short as can be.
#[cold]
fn spend_and_emit(params: BypassParams, ctx: &mut Context<'_>, gate: usize, batch: &mut Batch) {
    params.spend(batch);
    ctx.emit_batch(gate, batch);
}
