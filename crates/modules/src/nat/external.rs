//! The external side of a NAT: which ports of which addresses are free, and whose the others are.

use super::rewrite::{ICMP, TCP, UDP};
use std::net::Ipv4Addr;
use thiserror::Error;
use tidegate_base::Rng;
use tidegate_table::{FlowId, FlowsError};

const PORT_COUNT: usize = 1 << 16;
const WORD_COUNT: usize = PORT_COUNT / 64;
const PROTOCOL_COUNT: usize = 3;
/// Ports below are for servers (RFC 4787 REQ-3).
const FIRST_PORT: u16 = 1024;

/// Ports from `begin` to `end`, both among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NatPortRange {
    /// The lowest.
    pub begin: u16,
    /// The highest.
    pub end: u16,
    /// No new mapping is given one of them.
    pub suspended: bool,
}

/// An address that the NAT has outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalAddress {
    /// The address.
    pub address: Ipv4Addr,
    /// Its ports and identifiers for mappings; none: 1,024 to 65,535.
    pub port_ranges: Vec<NatPortRange>,
}

/// Why there is no such NAT.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum NatError {
    /// No address outside.
    #[error("no external addresses: give at least one")]
    NoAddress,
    /// An address twice.
    #[error("the external address {0} is given twice: give all its port ranges at once")]
    Twice(Ipv4Addr),
    /// A range that is none.
    #[error("the port range {begin}-{end} of {address} is empty: give its lower port first")]
    EmptyRange {
        /// Whose.
        address: Ipv4Addr,
        /// Its first port.
        begin: u16,
        /// Its last port.
        end: u16,
    },
    /// No table of that size.
    #[error(transparent)]
    Flows(#[from] FlowsError),
}

/// The ports of an address and a protocol.
struct Ports {
    /// A bit for each that is free.
    free: Box<[u64; WORD_COUNT]>,
    /// Whose each is.
    owners: Box<[Option<FlowId>]>,
}

impl Ports {
    fn new(ranges: &[NatPortRange]) -> Self {
        let mut free = Box::new([0; WORD_COUNT]);
        let all = [NatPortRange { begin: FIRST_PORT, end: u16::MAX, suspended: false }];
        let ranges = if ranges.is_empty() { &all } else { ranges };
        for range in ranges {
            for port in (range.begin..=range.end).map(usize::from) {
                let bit = 1 << (port % 64);
                free[port / 64] =
                    if range.suspended { free[port / 64] & !bit } else { free[port / 64] | bit };
            }
        }
        Self { free, owners: vec![None; PORT_COUNT].into_boxed_slice() }
    }

    /// A free port, the first from `start` on, and round.
    fn take(&mut self, start: u16) -> Option<u16> {
        let (first, bit) = (usize::from(start) / 64, start % 64);
        let ahead = self.free[first] & (u64::MAX << bit);
        let word = if ahead != 0 {
            first
        } else {
            (1..=WORD_COUNT).map(|n| (first + n) % WORD_COUNT).find(|word| self.free[*word] != 0)?
        };
        let bits = if ahead != 0 { ahead } else { self.free[word] };
        let bit = bits.trailing_zeros() as usize;
        self.free[word] &= !(1 << bit);
        Some((word * 64 + bit) as u16)
    }

    fn put_back(&mut self, port: u16) {
        self.owners[usize::from(port)] = None;
        self.free[usize::from(port) / 64] |= 1 << (port % 64);
    }
}

/// A port outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lease {
    pub(super) address: u32,
    pub(super) port: u16,
    /// Which of the NAT's addresses and protocols it is of.
    pool: u32,
}

/// All addresses outside.
pub(super) struct External {
    /// Rising.
    addresses: Vec<u32>,
    /// For each address one a protocol.
    pools: Vec<Ports>,
    rng: Rng,
}

impl External {
    pub(super) fn new(addresses: &[ExternalAddress], seed: u64) -> Result<Self, NatError> {
        if addresses.is_empty() {
            return Err(NatError::NoAddress);
        }
        let mut sorted: Vec<&ExternalAddress> = addresses.iter().collect();
        sorted.sort_by_key(|it| it.address);
        if let Some(pair) = sorted.array_windows().find(|[a, b]| a.address == b.address) {
            return Err(NatError::Twice(pair[0].address));
        }
        for ExternalAddress { address, port_ranges } in addresses {
            if let Some(NatPortRange { begin, end, .. }) = port_ranges.iter().find(|it| it.begin > it.end) {
                return Err(NatError::EmptyRange { address: *address, begin: *begin, end: *end });
            }
        }
        let pools = sorted.iter().flat_map(|it| (0..PROTOCOL_COUNT).map(|_| Ports::new(&it.port_ranges)));
        Ok(Self {
            pools: pools.collect(),
            addresses: sorted.iter().map(|it| it.address.to_bits()).collect(),
            rng: Rng::new(seed),
        })
    }

    /// A free port. An internal address has one external address as long as that has ports (RFC 4787 REQ-2), and its
    /// ports are not foreseen (RFC 6056).
    pub(super) fn take(&mut self, internal: u32, protocol: u8) -> Option<Lease> {
        let count = self.addresses.len();
        let home = (u64::from(internal.wrapping_mul(0x9e37_79b9)) * count as u64) >> 32;
        let start = self.rng.next_u32() as u16;
        (0..count).map(|n| (home as usize + n) % count).find_map(|index| {
            let pool = pool_of(index, protocol)?;
            let port = self.pools[pool].take(start)?;
            Some(Lease { address: self.addresses[index], port, pool: pool as u32 })
        })
    }

    /// Notes whose a port is.
    pub(super) fn assign(&mut self, lease: Lease, owner: FlowId) {
        self.pools[lease.pool as usize].owners[usize::from(lease.port)] = Some(owner);
    }

    pub(super) fn put_back(&mut self, lease: Lease) {
        self.pools[lease.pool as usize].put_back(lease.port);
    }

    /// Whose a port is.
    #[inline]
    pub(super) fn owner(&self, address: u32, protocol: u8, port: u16) -> Option<FlowId> {
        let index = self.addresses.binary_search(&address).ok()?;
        self.pools[pool_of(index, protocol)?].owners[usize::from(port)]
    }
}

#[inline]
fn pool_of(address: usize, protocol: u8) -> Option<usize> {
    let protocol = match protocol {
        TCP => 0,
        UDP => 1,
        ICMP => 2,
        _ => return None,
    };
    Some(address * PROTOCOL_COUNT + protocol)
}
