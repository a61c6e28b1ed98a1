//! Ethernet II headers and IEEE 802.1Q tags.

use crate::WireError;
use core::fmt;
use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes in an untagged header.
pub const HEADER_LEN: usize = 14;
/// Bytes that one 802.1Q tag adds.
pub const VLAN_TAG_LEN: usize = 4;

/// A link-layer address.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Default, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(transparent)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// All ones: every station.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Whether the group bit is set (multicast and broadcast).
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// The group address for an IPv6 multicast address (RFC 2464 section 7).
    pub fn of_ipv6_multicast(addr: core::net::Ipv6Addr) -> Self {
        let o = addr.octets();
        Self([0x33, 0x33, o[12], o[13], o[14], o[15]])
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What an Ethernet frame carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EtherType {
    /// IPv4.
    Ipv4,
    /// ARP.
    Arp,
    /// IPv6.
    Ipv6,
    /// An 802.1Q or 802.1ad tag.
    Vlan,
    /// Anything else, by number.
    Other(u16),
}

impl From<u16> for EtherType {
    fn from(number: u16) -> Self {
        match number {
            0x0800 => Self::Ipv4,
            0x0806 => Self::Arp,
            0x86dd => Self::Ipv6,
            0x8100 | 0x88a8 => Self::Vlan,
            other => Self::Other(other),
        }
    }
}

impl From<EtherType> for u16 {
    fn from(kind: EtherType) -> Self {
        match kind {
            EtherType::Ipv4 => 0x0800,
            EtherType::Arp => 0x0806,
            EtherType::Ipv6 => 0x86dd,
            EtherType::Vlan => 0x8100,
            EtherType::Other(other) => other,
        }
    }
}

/// An Ethernet II header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct EthernetHeader {
    /// Destination.
    pub dst: MacAddr,
    /// Source.
    pub src: MacAddr,
    ether_type: U16,
}

impl EthernetHeader {
    /// A header from `src` to `dst`.
    pub fn new(dst: MacAddr, src: MacAddr, kind: EtherType) -> Self {
        Self { dst, src, ether_type: U16::new(kind.into()) }
    }

    /// The header at the start of `frame`, and what follows it.
    #[inline]
    pub fn parse(frame: &[u8]) -> Result<(&Self, &[u8]), WireError> {
        Self::ref_from_prefix(frame).map_err(|_| WireError::Truncated)
    }

    /// What the frame carries.
    #[inline]
    pub fn ether_type(&self) -> EtherType {
        self.ether_type.get().into()
    }
}
