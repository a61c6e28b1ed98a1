//! What IPv4 and IPv6 have in common: addresses in one form, a protocol number, a pseudo header.

use crate::{WireError, ipv4, ipv6};
use core::fmt;
use core::net::{IpAddr, Ipv6Addr};
use tidegate_base::Sum;

/// An address of either family in 16 bytes, IPv4 in its mapped form (RFC 4291 section 2.5.5.2), so
/// that one table holds both.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowAddr(u128);

impl FlowAddr {
    /// The address's 128 bits.
    pub const fn bits(self) -> u128 {
        self.0
    }

    /// Whether it is an IPv4 address.
    pub const fn is_ipv4(self) -> bool {
        self.0 >> 32 == 0xffff
    }

    /// The sum of the address's own bytes (four or sixteen) as a pseudo header counts them.
    pub const fn sum(self) -> Sum {
        if self.is_ipv4() {
            return Sum::of_u32(self.0 as u32);
        }
        let hi = (self.0 >> 64) as u64;
        let lo = self.0 as u64;
        let words = (hi >> 48) + (hi >> 32 & 0xffff) + (hi >> 16 & 0xffff) + (hi & 0xffff);
        let words = words + (lo >> 48) + (lo >> 32 & 0xffff) + (lo >> 16 & 0xffff) + (lo & 0xffff);
        Sum::of_u32(words as u32)
    }

    /// Bytes in the IP header that carries it.
    pub const fn header_len(self) -> usize {
        if self.is_ipv4() { ipv4::HEADER_LEN } else { ipv6::HEADER_LEN }
    }

    /// Whether packets may come from it: not multicast, broadcast, unspecified or loopback.
    pub fn is_valid_source(self) -> bool {
        match self.into() {
            IpAddr::V4(a) => !(a.is_multicast() || a.is_broadcast() || a.is_unspecified() || a.is_loopback()),
            IpAddr::V6(a) => !(a.is_multicast() || a.is_unspecified() || a.is_loopback()),
        }
    }
}

impl From<IpAddr> for FlowAddr {
    fn from(addr: IpAddr) -> Self {
        match addr {
            IpAddr::V4(a) => Self(0xffff << 32 | u128::from(u32::from(a))),
            IpAddr::V6(a) => Self(u128::from(a)),
        }
    }
}

impl From<FlowAddr> for IpAddr {
    fn from(addr: FlowAddr) -> Self {
        if addr.is_ipv4() { IpAddr::V4((addr.0 as u32).into()) } else { IpAddr::V6(Ipv6Addr::from(addr.0)) }
    }
}

impl fmt::Debug for FlowAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&IpAddr::from(*self), f)
    }
}

/// What an IP packet carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// ICMP.
    Icmp,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// ICMP for IPv6.
    Icmpv6,
    /// Anything else, by number.
    Other(u8),
}

impl From<u8> for Protocol {
    fn from(number: u8) -> Self {
        match number {
            1 => Self::Icmp,
            6 => Self::Tcp,
            17 => Self::Udp,
            58 => Self::Icmpv6,
            other => Self::Other(other),
        }
    }
}

impl From<Protocol> for u8 {
    fn from(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Icmp => 1,
            Protocol::Tcp => 6,
            Protocol::Udp => 17,
            Protocol::Icmpv6 => 58,
            Protocol::Other(other) => other,
        }
    }
}

/// The part of an IP header that transport protocols care about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpRepr {
    /// Source.
    pub src: FlowAddr,
    /// Destination; of the same family.
    pub dst: FlowAddr,
    /// What the packet carries.
    pub protocol: Protocol,
    /// TTL or hop limit.
    pub hop_limit: u8,
    /// The ECN bits of the traffic class (RFC 3168): 0 not capable, 1 and 2 capable, 3 marked.
    pub ecn: u8,
}

impl IpRepr {
    /// The IP packet at the start of `bytes`, of whichever version, and its payload.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        match bytes.first().ok_or(WireError::Truncated)? >> 4 {
            4 => ipv4::Ipv4Header::parse(bytes).map(|(header, payload)| (header.repr(), payload)),
            6 => ipv6::Ipv6Header::parse(bytes).map(|(header, payload)| (header.repr(), payload)),
            _ => Err(WireError::Unsupported),
        }
    }

    /// The IP header at the start of `bytes`, which need not hold the payload.
    pub fn parse_header(bytes: &[u8]) -> Result<Self, WireError> {
        match bytes.first().ok_or(WireError::Truncated)? >> 4 {
            4 => ipv4::Ipv4Header::view(bytes).map(|header| header.repr()),
            6 => ipv6::Ipv6Header::view(bytes).map(|header| header.repr()),
            _ => Err(WireError::Unsupported),
        }
    }

    /// Bytes that [`IpRepr::emit`] writes.
    pub const fn header_len(&self) -> usize {
        self.dst.header_len()
    }

    /// Writes the header for `payload_len` bytes of payload into the first `header_len()` bytes.
    #[inline]
    pub fn emit(&self, payload_len: usize, header: &mut [u8]) {
        if self.dst.is_ipv4() {
            ipv4::Ipv4Header::emit(self, payload_len, header);
        } else {
            ipv6::Ipv6Header::emit(self, payload_len, header);
        }
    }

    /// The sum of this packet's pseudo header.
    #[inline]
    pub fn pseudo_header_sum(&self, payload_len: usize) -> Sum {
        pseudo_header_sum(self.src, self.dst, self.protocol, payload_len)
    }
}

/// The sum of the pseudo header that transport checksums cover (RFC 9293 section 3.1, RFC 8200
/// section 8.1).
#[inline]
pub fn pseudo_header_sum(src: FlowAddr, dst: FlowAddr, protocol: Protocol, payload_len: usize) -> Sum {
    src.sum() + dst.sum() + Sum::of_u16(u8::from(protocol).into()) + Sum::of_u32(payload_len as u32)
}
