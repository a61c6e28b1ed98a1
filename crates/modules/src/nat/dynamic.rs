//! A NAT that gives each internal endpoint a port of an external address, for as long as it is used (RFC 4787, 5382,
//! 5508).
//!
//! ```text
//!   inside  --0->[     ]-1-->  outside      source 10.0.0.7:5000     -> 192.0.2.1:31337
//!   inside  <-0--[ nat ]<-1--  outside      destination 192.0.2.1:31337 -> 10.0.0.7:5000
//! ```
//!
//! | | |
//! |---|---|
//! | gates | in: 0 from inside, 1 from outside; out: 1 to the outside, 0 to the inside |
//! | parameters | external addresses, each with its port ranges (1,024-65,535 unless told; a suspended one takes no new mappings); flows (1,048,576); how long a mapping lives |
//! | counters | mappings, opened, expired, no_port, no_mapping |
//! | rate | 13 M packets/s of one core, 60 bytes: rewrite, random source, nat with 1 M flows (`make bench-pipeline`) |
//!
//! TCP, UDP and ICMP echo are translated; checksums are adjusted, a UDP checksum of zero stays. What cannot be
//! translated is dropped: other protocols and ICMP messages (`unknown_protocol`), fragments (`fragment`), headers that
//! are not whole (`malformed`). A new flow for which no port or no entry is left is dropped (`connection_limit`), and what
//! comes from outside to a port without a mapping too (`no_listener`).
//!
//! Mapping and filtering are endpoint-independent: while a mapping lives, anyone outside reaches it. Not here: hairpins,
//! ICMP errors, payloads that name addresses.

use super::external::{External, ExternalAddress, Lease, NatError};
use super::rewrite::{End, Endpoint, ICMP, TCP};
use super::{INSIDE, OUTSIDE};
use tidegate_base::{DropReason, Duration, Instant};
use tidegate_packet::{BATCH_LEN_MAX, Batch};
use tidegate_pipeline::{Context, GateCounts, Module};
use tidegate_table::{FlowId, Flows, InsertError};

/// Entries that are looked at for their end with each batch: a table of a million is seen through in 131,072 batches.
const SWEEP: usize = 8;
/// Entries that are looked at when no port is left.
const SWEEP_FOR_PORT: usize = 4096;
const FIN_OR_RST: u8 = 0x05;

/// How long a mapping lives after its last packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NatTimeouts {
    /// UDP (RFC 4787 REQ-5).
    pub udp: Duration,
    /// A TCP connection that packets of both directions were seen of (RFC 5382 REQ-5).
    pub tcp_established: Duration,
    /// A TCP connection that begins or ends.
    pub tcp_transitory: Duration,
    /// ICMP echo (RFC 5508 REQ-1).
    pub icmp: Duration,
}

impl Default for NatTimeouts {
    fn default() -> Self {
        Self {
            udp: Duration::from_secs(300),
            tcp_established: Duration::from_secs(7440),
            tcp_transitory: Duration::from_secs(240),
            icmp: Duration::from_secs(60),
        }
    }
}

/// How it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatParams {
    /// Its addresses outside.
    pub external: Vec<ExternalAddress>,
    /// Mappings at most.
    pub flow_count_max: usize,
    /// How long mappings live.
    pub timeouts: NatTimeouts,
    /// Where hashes and ports start: drawn at random, kept from peers.
    pub seed: u64,
}

/// One internal endpoint and its port outside.
struct Mapping {
    address: u32,
    port: u16,
    /// A packet came back.
    is_answered: bool,
    /// FIN or RST was seen.
    is_closing: bool,
    lease: Lease,
    expires_at: Instant,
}

type Found = [Result<Endpoint, DropReason>; BATCH_LEN_MAX];

/// The module.
pub struct Nat {
    params: NatParams,
    flows: Flows<1, Mapping>,
    external: External,
    opened_count: u64,
    expired_count: u64,
    no_port_count: u64,
    no_mapping_count: u64,
}

impl Nat {
    /// A NAT without mappings.
    pub fn new(params: NatParams) -> Result<Self, NatError> {
        let external = External::new(&params.external, params.seed)?;
        let flows = Flows::new(params.flow_count_max, params.seed)?;
        Ok(Self {
            params,
            flows,
            external,
            opened_count: 0,
            expired_count: 0,
            no_port_count: 0,
            no_mapping_count: 0,
        })
    }

    /// How it was made.
    pub const fn params(&self) -> &NatParams {
        &self.params
    }

    fn outwards(&mut self, now: Instant, batch: &mut Batch, found: &mut Found) {
        let mut keys = [[0; 1]; BATCH_LEN_MAX];
        let mut ids = [None; BATCH_LEN_MAX];
        for ((frame, found), key) in batch.iter().zip(&mut *found).zip(&mut keys) {
            *found = Endpoint::find(frame.data(), End::Source);
            *key = found.map_or([0], |it| key_of(&it));
        }
        self.flows.lookup_batch(&keys[..batch.len()], now, &mut ids);
        for ((frame, found), id) in batch.iter_mut().zip(found).zip(ids) {
            let Ok(from) = *found else { continue };
            let id = id.or_else(|| self.open(&from, now));
            match id.and_then(|id| self.pass(id, &from, End::Source, now)) {
                Some(lease) => from.rewrite(frame.data_mut(), lease.address, lease.port),
                None => *found = Err(DropReason::ConnectionLimit),
            }
        }
    }

    fn inwards(&mut self, now: Instant, batch: &mut Batch, found: &mut Found) {
        for (frame, found) in batch.iter_mut().zip(found) {
            *found = Endpoint::find(frame.data(), End::Destination);
            let Ok(to) = *found else { continue };
            let id = self.external.owner(to.address, to.protocol, to.port);
            let id = id.filter(|id| self.flows.get(*id).is_some_and(|it| it.expires_at > now));
            let internal = id.and_then(|id| {
                self.pass(id, &to, End::Destination, now)?;
                self.flows.get(id).map(|it| (it.address, it.port))
            });
            match internal {
                Some((address, port)) => to.rewrite(frame.data_mut(), address, port),
                None => {
                    self.no_mapping_count += 1;
                    *found = Err(DropReason::NoListener);
                }
            }
        }
    }

    /// Notes a packet of a mapping, and returns its port outside.
    #[inline]
    fn pass(&mut self, id: FlowId, packet: &Endpoint, end: End, now: Instant) -> Option<Lease> {
        let mapping = self.flows.get_mut(id)?;
        mapping.is_answered |= end == End::Destination;
        mapping.is_closing |= packet.flags & FIN_OR_RST != 0;
        let is_transitory = mapping.is_closing || !mapping.is_answered;
        let timeouts = &self.params.timeouts;
        mapping.expires_at = now + life(timeouts, packet.protocol, is_transitory);
        let (lease, expires_at) = (mapping.lease, mapping.expires_at);
        self.flows.touch(id, expires_at);
        Some(lease)
    }

    /// A new mapping, if there is room; that of an earlier packet of the batch, if there is one.
    #[inline(never)]
    fn open(&mut self, from: &Endpoint, now: Instant) -> Option<FlowId> {
        let lease = self.take_port(from, now)?;
        let expires_at = now + life(&self.params.timeouts, from.protocol, true);
        let mapping = Mapping {
            address: from.address,
            port: from.port,
            is_answered: false,
            is_closing: false,
            lease,
            expires_at,
        };
        let (external, expired) = (&mut self.external, &mut self.expired_count);
        let mut gone = |_, mapping: Mapping| {
            external.put_back(mapping.lease);
            *expired += 1;
        };
        match self.flows.insert(key_of(from), mapping, now, expires_at, &mut gone) {
            Ok(id) => {
                self.external.assign(lease, id);
                self.opened_count += 1;
                Some(id)
            }
            Err(InsertError::Exists(id, _)) => {
                self.external.put_back(lease);
                Some(id)
            }
            Err(InsertError::Full(_)) => {
                self.external.put_back(lease);
                None
            }
        }
    }

    fn take_port(&mut self, from: &Endpoint, now: Instant) -> Option<Lease> {
        if let Some(lease) = self.external.take(from.address, from.protocol) {
            return Some(lease);
        }
        self.sweep(now, SWEEP_FOR_PORT);
        let lease = self.external.take(from.address, from.protocol);
        self.no_port_count += u64::from(lease.is_none());
        lease
    }

    #[inline]
    fn sweep(&mut self, now: Instant, budget: usize) {
        let (external, expired) = (&mut self.external, &mut self.expired_count);
        self.flows.sweep(now, budget, &mut |_, mapping| {
            external.put_back(mapping.lease);
            *expired += 1;
        });
    }
}

#[inline]
const fn key_of(from: &Endpoint) -> [u64; 1] {
    [(from.address as u64) << 32 | (from.port as u64) << 16 | from.protocol as u64]
}

#[inline]
const fn life(timeouts: &NatTimeouts, protocol: u8, is_transitory: bool) -> Duration {
    match protocol {
        TCP if is_transitory => timeouts.tcp_transitory,
        TCP => timeouts.tcp_established,
        ICMP => timeouts.icmp,
        _ => timeouts.udp,
    }
}

impl Module for Nat {
    fn class(&self) -> &'static str {
        "nat"
    }

    fn gates(&self) -> GateCounts {
        GateCounts { inputs: 2, outputs: 2 }
    }

    fn process(&mut self, ctx: &mut Context<'_>, gate: usize, batch: &mut Batch) {
        let now = ctx.now();
        let mut found = [Err(DropReason::Malformed); BATCH_LEN_MAX];
        self.sweep(now, SWEEP);
        let out = if gate == INSIDE {
            self.outwards(now, batch, &mut found);
            OUTSIDE
        } else {
            self.inwards(now, batch, &mut found);
            INSIDE
        };
        if found[..batch.len()].iter().all(Result::is_ok) {
            return ctx.emit_batch(out, batch);
        }
        for (frame, found) in batch.drain().zip(found) {
            match found {
                Ok(_) => ctx.emit(out, frame),
                Err(why) => ctx.drop(frame, why),
            }
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("mappings", self.flows.len() as u64),
            ("opened", self.opened_count),
            ("expired", self.expired_count),
            ("no_port", self.no_port_count),
            ("no_mapping", self.no_mapping_count),
        ]
    }
}

#[cfg(test)]
#[path = "dynamic_tests.rs"]
mod tests;
