//! Address prefixes, IPv4 as `u32` and IPv6 as `u128`, both in host order.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};
use thiserror::Error;

/// An address whose first bits name a network.
pub trait Address: Copy + Eq + core::hash::Hash + fmt::Debug {
    /// How many bits it has.
    const BITS: u8;

    /// Its `count` bits (at most 32) from bit `first` on, counted from the most significant.
    fn bits(self, first: u8, count: u8) -> u32;

    /// It with all bits from `len` on cleared.
    fn masked(self, len: u8) -> Self;

    /// As people write it.
    fn show(self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl Address for u32 {
    const BITS: u8 = 32;

    #[inline]
    fn bits(self, first: u8, count: u8) -> u32 {
        (self << first) >> (32 - count)
    }

    #[inline]
    fn masked(self, len: u8) -> Self {
        self & !u32::MAX.checked_shr(u32::from(len)).unwrap_or(0)
    }

    fn show(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Ipv4Addr::from(self), f)
    }
}

impl Address for u128 {
    const BITS: u8 = 128;

    #[inline]
    fn bits(self, first: u8, count: u8) -> u32 {
        ((self << first) >> (128 - count)) as u32
    }

    #[inline]
    fn masked(self, len: u8) -> Self {
        self & !u128::MAX.checked_shr(u32::from(len)).unwrap_or(0)
    }

    fn show(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Ipv6Addr::from(self), f)
    }
}

/// A network: the first `len` bits of `address`, whose other bits are zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Prefix<A> {
    address: A,
    len: u8,
}

/// Why something is no prefix.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PrefixError {
    /// More bits than an address has.
    #[error("a prefix of {len} bits: the address has {max}")]
    TooLong {
        /// The bits asked for.
        len: u8,
        /// The bits there are.
        max: u8,
    },
    /// Bits behind the prefix that are not zero.
    #[error("{address}/{len} names a host in that network: the network is {network}/{len}")]
    HostBits {
        /// The address as given.
        address: String,
        /// The prefix length as given.
        len: u8,
        /// The address that would be right.
        network: String,
    },
}

impl<A: Address> Prefix<A> {
    /// The network `address/len`; an error if it is longer than the address or has bits set behind `len`.
    pub fn new(address: A, len: u8) -> Result<Self, PrefixError> {
        if len > A::BITS {
            return Err(PrefixError::TooLong { len, max: A::BITS });
        }
        let network = address.masked(len);
        if network != address {
            let shown = |address| Shown(address).to_string();
            return Err(PrefixError::HostBits { address: shown(address), len, network: shown(network) });
        }
        Ok(Self { address, len })
    }

    /// The network of `len` bits (as many as there are, if that is more) in which `address` is.
    pub fn containing(address: A, len: u8) -> Self {
        let len = len.min(A::BITS);
        Self { address: address.masked(len), len }
    }

    /// The network's first address.
    pub const fn address(self) -> A {
        self.address
    }

    /// How many bits name the network.
    pub const fn len(self) -> u8 {
        self.len
    }

    /// Whether it is the network of all addresses.
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Whether `address` is in the network.
    pub fn contains(self, address: A) -> bool {
        address.masked(self.len) == self.address
    }
}

struct Shown<A>(A);

impl<A: Address> fmt::Display for Shown<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.show(f)
    }
}

impl<A: Address> fmt::Display for Prefix<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Shown(self.address), self.len)
    }
}

impl<A: Address> fmt::Debug for Prefix<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
