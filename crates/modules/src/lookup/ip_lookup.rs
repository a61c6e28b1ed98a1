//! Sends each IPv4 packet to the gate of the longest prefix of its destination address.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: any, as the routes say |
//! | parameters | max_rules (1,024 unless told), max_tbl8s: second-level tables for prefixes beyond 24 bits (128) |
//! | commands | add, delete, clear |
//! | counters | routes, no_route |
//! | rate | 101 M packets/s of one core, 60 bytes: ip lookup, 1 M routes, 4 gates (`make bench-pipeline`) |
//!
//! The route of length zero is the default route. A route to gate 8192 drops (`policy`). A packet without a route is dropped (`policy`); so are a frame that is
//! no IPv4 (`unknown_protocol`) and a header that is not whole (`malformed`). Tags are looked behind. The table takes
//! 256 KiB, 1 KiB for each 16 bits in which there are routes of more, and 1 KiB for each second-level table in use.

use super::{DROP_GATE, LookupError};
use crate::layers::{self, is_plain_ipv4};
use crate::parameter::in_range;
use crate::steer::emit_each;
use std::net::Ipv4Addr;
use tidegate_base::DropReason;
use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GateCounts, Module};
use tidegate_table::{BATCH_LEN_MAX, Gate, Lpm, NO_GATE, Prefix};

const RULE_COUNT_MAX: u64 = 1 << 24;
const GROUP_COUNT_MAX: u64 = 1 << 20;

/// How it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpLookupParams {
    /// Routes that it has room for.
    pub max_rules: u64,
    /// Second-level tables that it has room for.
    pub max_tbl8s: u64,
}

impl Default for IpLookupParams {
    fn default() -> Self {
        Self { max_rules: 1024, max_tbl8s: 128 }
    }
}

/// The module.
pub struct IpLookup {
    table: Lpm<u32>,
    no_route_count: u64,
}

impl IpLookup {
    /// A table without routes.
    pub fn new(params: IpLookupParams) -> Result<Self, LookupError> {
        let rules = in_range("max_rules", params.max_rules, 1..=RULE_COUNT_MAX)?;
        let groups = in_range("max_tbl8s", params.max_tbl8s, 0..=GROUP_COUNT_MAX)?;
        Ok(Self { table: Lpm::new(rules as usize, groups as usize), no_route_count: 0 })
    }

    /// Adds a route, or leads it to another gate; 8192 drops.
    pub fn add(&mut self, network: Ipv4Addr, prefix_len: u64, to: u64) -> Result<(), LookupError> {
        let to = in_range("an output gate", to, 0..=DROP_GATE)? as Gate;
        self.table.add(prefix(network, prefix_len)?, to)?;
        Ok(())
    }

    /// Deletes a route.
    pub fn delete(&mut self, network: Ipv4Addr, prefix_len: u64) -> Result<(), LookupError> {
        self.table.delete(prefix(network, prefix_len)?)?;
        Ok(())
    }

    /// Deletes every route.
    pub fn clear(&mut self) {
        self.table.clear();
    }

    /// The gate of a route, if there is just this one.
    pub fn route(&self, network: Ipv4Addr, prefix_len: u64) -> Result<Option<u64>, LookupError> {
        Ok(self.table.route(prefix(network, prefix_len)?).map(u64::from))
    }

    /// All routes, in no order: network, prefix length, gate.
    pub fn routes(&self) -> impl Iterator<Item = (Ipv4Addr, u8, u64)> {
        self.table.routes().map(|(prefix, gate)| (prefix.address().into(), prefix.len(), gate.into()))
    }

    /// For a batch in which some frame has no destination.
    #[cold]
    fn emit_singly(&mut self, ctx: &mut Context<'_>, batch: &mut Batch, gates: &[Gate; BATCH_LEN_MAX]) {
        for (frame, gate) in batch.drain().zip(gates) {
            match destination(frame.data()) {
                Err(why) => ctx.drop(frame, why),
                Ok(_) if *gate == NO_GATE => {
                    self.no_route_count += 1;
                    ctx.drop(frame, DropReason::Policy);
                }
                Ok(_) => ctx.emit(usize::from(*gate), frame),
            }
        }
    }
}

fn prefix(network: Ipv4Addr, len: u64) -> Result<Prefix<u32>, LookupError> {
    let len = in_range("a prefix length", len, 0..=32)?;
    Ok(Prefix::new(network.to_bits(), len as u8)?)
}

/// A packet's destination, or why it has none.
#[inline]
fn destination(data: &[u8]) -> Result<u32, DropReason> {
    match data.first_chunk() {
        Some(headers) if is_plain_ipv4(headers) => {
            let [.., a, b, c, d] = *headers;
            Ok(u32::from_be_bytes([a, b, c, d]))
        }
        _ => behind_tags(data),
    }
}

#[inline(never)]
fn behind_tags(data: &[u8]) -> Result<u32, DropReason> {
    let (kind, start) = layers::network(data).ok_or(DropReason::Malformed)?;
    if kind != layers::ETHER_TYPE_IPV4 {
        return Err(DropReason::UnknownProtocol);
    }
    let header = layers::ipv4_at(data, start).ok_or(DropReason::Malformed)?;
    let address = data[header].get(16..).and_then(|bytes| bytes.first_chunk());
    address.map(|bytes| u32::from_be_bytes(*bytes)).ok_or(DropReason::Malformed)
}

impl Module for IpLookup {
    fn class(&self) -> &'static str {
        "ip_lookup"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SPLIT
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let mut addresses = [0; BATCH_LEN_MAX];
        let mut gates = [NO_GATE; BATCH_LEN_MAX];
        let mut is_all_good = true;
        for (address, frame) in addresses.iter_mut().zip(batch.iter()) {
            let found = destination(frame.data());
            is_all_good &= found.is_ok();
            *address = found.unwrap_or(0);
        }
        self.table.lookup_batch(&addresses[..batch.len()], &mut gates);
        is_all_good &= !gates[..batch.len()].contains(&NO_GATE);
        if is_all_good {
            emit_each(ctx, batch, &gates);
        } else {
            self.emit_singly(ctx, batch, &gates);
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("routes", self.table.len() as u64), ("no_route", self.no_route_count)]
    }
}

#[cfg(test)]
#[path = "ip_lookup_tests.rs"]
mod tests;
