//! Steers frames by filters, as tcpdump has them, compiled to classic BPF.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: as many as are connected |
//! | parameters | filters: a priority, a program and a gate each |
//! | commands | add filters, remove one, clear |
//! | counters | `filters` |
//! | other frames | those that no filter matches leave at gate 0 |
//! | rate | 15.7 ns a frame of 60 bytes on one core (`make bench-pipeline`) |
//!
//! The filter of the highest priority that matches decides; of one priority, the one that was added first. Expressions are
//! compiled outside (the daemon has libpcap do it); here are programs only.

mod program;

pub use program::{Instruction, Program, ProgramError};

use crate::parameter::{ParameterError, gate};
use crate::steer::{Gates, NO_GATE, emit_each};
use std::cmp::Reverse;
use tidegate_packet::{BATCH_LEN_MAX, Batch};
use tidegate_pipeline::{Context, GateCounts, Module};

/// Where frames go that no filter matches.
const GATE_DEFAULT: u16 = 0;

/// A filter and where its frames go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BpfFilter {
    /// The highest is tried first.
    pub priority: i64,
    /// What it was compiled from, by which it is known.
    pub expression: String,
    /// What it is.
    pub program: Program,
    /// Where frames go that it matches.
    pub gate: u64,
}

/// The module.
#[derive(Clone, Default)]
pub struct Bpf {
    /// In the order in which they are tried, with their gates.
    filters: Vec<(BpfFilter, u16)>,
}

impl Bpf {
    /// Steers by these filters.
    pub fn new(filters: Vec<BpfFilter>) -> Result<Self, ParameterError> {
        let mut module = Self::default();
        module.add(filters)?;
        Ok(module)
    }

    /// Adds filters, all or none.
    pub fn add(&mut self, filters: Vec<BpfFilter>) -> Result<(), ParameterError> {
        let checked = |filter: BpfFilter| gate(filter.gate).map(|gate| (filter, gate));
        let new = filters.into_iter().map(checked).collect::<Result<Vec<_>, _>>()?;
        self.filters.extend(new);
        self.filters.sort_by_key(|(filter, _)| Reverse(filter.priority));
        Ok(())
    }

    /// Removes the filter of that priority, expression and gate; false if there is none.
    pub fn remove(&mut self, priority: i64, expression: &str, gate: u64) -> bool {
        let is_it = |(filter, _): &(BpfFilter, u16)| {
            filter.priority == priority && filter.expression == expression && filter.gate == gate
        };
        let found = self.filters.iter().position(is_it);
        found.map(|at| self.filters.remove(at)).is_some()
    }

    /// Removes all filters.
    pub fn clear(&mut self) {
        self.filters.clear();
    }

    /// All filters, in the order in which they are tried.
    pub fn filters(&self) -> impl Iterator<Item = &BpfFilter> {
        self.filters.iter().map(|(filter, _)| filter)
    }

    #[inline]
    fn gate_of(&self, data: &[u8]) -> u16 {
        let found = self.filters.iter().find(|(filter, _)| filter.program.run(data) != 0);
        found.map_or(GATE_DEFAULT, |(_, gate)| *gate)
    }
}

impl Module for Bpf {
    fn class(&self) -> &'static str {
        "bpf"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SPLIT
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let mut gates: Gates = [NO_GATE; BATCH_LEN_MAX];
        for (place, frame) in gates.iter_mut().zip(batch.iter()) {
            *place = self.gate_of(frame.data());
        }
        emit_each(ctx, batch, &gates);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("filters", self.filters.len() as u64)]
    }

    fn fork(&self) -> Option<Box<dyn Module>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests;
