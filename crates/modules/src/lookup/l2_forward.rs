//! Sends each frame to the gate of its destination MAC address.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: any, as the entries say |
//! | parameters | size: addresses that it has room for (4,096 unless told) |
//! | commands | add, delete, set the default gate, look up, populate |
//! | counters | addresses |
//! | rate | 9.1 ns a frame of 60 bytes on one core (`make bench-pipeline`) |
//!
//! An address without an entry goes to the default gate; gate 8192, the default gate unless told, drops. A frame without
//! a whole Ethernet header is dropped (`malformed`). Entries are static: nothing is learnt.

use super::{LookupError, outer_gate, table_gate};
use crate::parameter::{gate, in_range};
use crate::steer::emit_each;
use tidegate_base::DropReason;
use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GATE_COUNT_MAX, GateCounts, Module};
use tidegate_table::{BATCH_LEN_MAX, Gate, MacError, MacTable, NO_GATE};
use tidegate_wire::MacAddr;

const HEADER_LEN: usize = 14;
const ADDRESS_MAX: u64 = (1 << 48) - 1;

/// How it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct L2ForwardParams {
    /// Addresses that it has room for.
    pub size: usize,
    /// Where hashes start: draw it at random where peers choose addresses.
    pub seed: u64,
}

impl Default for L2ForwardParams {
    fn default() -> Self {
        Self { size: 4096, seed: 0 }
    }
}

/// The module.
pub struct L2Forward {
    table: MacTable,
    default: Gate,
}

impl L2Forward {
    /// A table without entries that drops.
    pub fn new(params: L2ForwardParams) -> Result<Self, LookupError> {
        Ok(Self { table: MacTable::new(params.size, params.seed)?, default: NO_GATE })
    }

    /// Adds entries, or leads their addresses to other gates. Those before one that fails are added.
    pub fn add(&mut self, entries: &[(MacAddr, u64)]) -> Result<(), LookupError> {
        for (address, to) in entries {
            self.table.add(number(*address), gate(*to)?)?;
        }
        Ok(())
    }

    /// Deletes entries. Those before one that is not there are deleted.
    pub fn delete(&mut self, addresses: &[MacAddr]) -> Result<(), LookupError> {
        addresses.iter().try_for_each(|address| Ok(self.table.delete(number(*address))?))
    }

    /// Sends addresses without an entry to `gate`; 8192 drops them.
    pub fn set_default_gate(&mut self, gate: u64) -> Result<(), LookupError> {
        self.default = table_gate(gate)?;
        Ok(())
    }

    /// Where addresses without an entry go.
    pub fn default_gate(&self) -> u64 {
        outer_gate(self.default)
    }

    /// All entries, in no order.
    pub fn entries(&self) -> impl Iterator<Item = (MacAddr, u64)> {
        let address = |number: u64| MacAddr(std::array::from_fn(|n| (number >> (40 - 8 * n)) as u8));
        self.table.iter().map(move |(number, gate)| (address(number), gate.into()))
    }

    /// The gate of each address; an error if one has no entry.
    pub fn lookup(&self, addresses: &[MacAddr]) -> Result<Vec<u64>, LookupError> {
        let gate_of = |address: &MacAddr| match self.table.lookup(number(*address)) {
            NO_GATE => Err(MacError::NoSuchAddress { address: number(*address) }.into()),
            gate => Ok(gate.into()),
        };
        addresses.iter().map(gate_of).collect()
    }

    /// Adds `count` addresses from `base` on, in turn to the gates below `gate_count`.
    pub fn populate(&mut self, base: MacAddr, count: u64, gate_count: u64) -> Result<(), LookupError> {
        in_range("the number of gates", gate_count, 1..=GATE_COUNT_MAX as u64)?;
        let base = number(base);
        in_range("the number of addresses", count, 1..=ADDRESS_MAX - base + 1)?;
        for n in 0..count {
            self.table.add(base + n, (n % gate_count) as Gate)?;
        }
        Ok(())
    }
}

/// An address as the table has it.
fn number(address: MacAddr) -> u64 {
    address.0.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// A frame's destination, if it has a whole header.
#[inline]
fn destination(data: &[u8]) -> Option<u64> {
    let header: &[u8; HEADER_LEN] = data.first_chunk()?;
    let word: &[u8; 8] = header.first_chunk()?;
    Some(u64::from_be_bytes(*word) >> 16)
}

impl Module for L2Forward {
    fn class(&self) -> &'static str {
        "l2_forward"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SPLIT
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let mut addresses = [0; BATCH_LEN_MAX];
        let mut gates = [NO_GATE; BATCH_LEN_MAX];
        let mut has_short = false;
        for (address, frame) in addresses.iter_mut().zip(batch.iter()) {
            let found = destination(frame.data());
            has_short |= found.is_none();
            *address = found.unwrap_or(0);
        }
        self.table.lookup_batch(&addresses[..batch.len()], &mut gates);
        if has_short {
            return self.emit_singly(ctx, batch, &gates);
        }
        for gate in &mut gates {
            *gate = if *gate == NO_GATE { self.default } else { *gate };
        }
        emit_each(ctx, batch, &gates);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("addresses", self.table.len() as u64)]
    }
}

impl L2Forward {
    /// For a batch in which not every frame has a header.
    #[cold]
    fn emit_singly(&self, ctx: &mut Context<'_>, batch: &mut Batch, gates: &[Gate; BATCH_LEN_MAX]) {
        for (frame, gate) in batch.drain().zip(gates) {
            let to = if *gate == NO_GATE { self.default } else { *gate };
            if destination(frame.data()).is_none() {
                ctx.drop(frame, DropReason::Malformed);
            } else if to == NO_GATE {
                ctx.drop(frame, DropReason::Policy);
            } else {
                ctx.emit(usize::from(to), frame);
            }
        }
    }
}

#[cfg(test)]
#[path = "l2_forward_tests.rs"]
mod tests;
