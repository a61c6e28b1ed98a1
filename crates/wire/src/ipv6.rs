//! IPv6 headers (RFC 8200). Extension headers are not walked: a packet with one is the host's.

use crate::ip::{FlowAddr, IpRepr};
use crate::{WireError, split};
use core::net::{IpAddr, Ipv6Addr};
use tidegate_base::Sum;
use zerocopy::byteorder::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes in the fixed header.
pub const HEADER_LEN: usize = 40;

/// The next-header number of a fragment header.
const NEXT_FRAGMENT: u8 = 44;

/// The fixed IPv6 header.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Ipv6Header {
    version_class_flow: U32,
    payload_len: U16,
    next_header: u8,
    hop_limit: u8,
    src: [u8; 16],
    dst: [u8; 16],
}

impl Ipv6Header {
    /// The header at the start of `bytes`, and the payload that its payload length gives.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(&Self, &[u8]), WireError> {
        let (header, rest) = Self::ref_from_prefix(bytes).map_err(|_| WireError::Truncated)?;
        if header.version_class_flow.get() >> 28 != 6 {
            return Err(WireError::Unsupported);
        }
        if header.next_header == NEXT_FRAGMENT {
            return Err(WireError::Fragment);
        }
        let (payload, _) = split(rest, usize::from(header.payload_len.get()))?;
        Ok((header, payload))
    }

    /// The header at the start of `bytes`, whatever it says: for one that was parsed before.
    #[inline]
    pub fn view(bytes: &[u8]) -> Result<&Self, WireError> {
        Self::ref_from_prefix(bytes).map(|(header, _)| header).map_err(|_| WireError::Truncated)
    }

    /// The fields that transport protocols care about.
    #[inline]
    pub fn repr(&self) -> IpRepr {
        IpRepr {
            src: IpAddr::from(self.src).into(),
            dst: IpAddr::from(self.dst).into(),
            protocol: self.next_header.into(),
            hop_limit: self.hop_limit,
            ecn: (self.version_class_flow.get() >> 20) as u8 & 3,
        }
    }

    /// The header of an answer of `payload_len` bytes to the packet with this one: back to where it came from.
    #[inline]
    #[must_use]
    pub fn answer(&self, hop_limit: u8, payload_len: usize) -> Self {
        Self {
            version_class_flow: U32::new(6 << 28),
            payload_len: U16::new(payload_len as u16),
            next_header: self.next_header,
            hop_limit,
            src: self.dst,
            dst: self.src,
        }
    }

    /// The sum of the pseudo header for `payload_len` bytes of payload.
    #[inline]
    pub fn pseudo_header_sum(&self, payload_len: usize) -> Sum {
        let addresses = Sum::of(&self.src) + Sum::of(&self.dst);
        addresses + Sum::of_u16(self.next_header.into()) + Sum::of_u32(payload_len as u32)
    }

    /// Writes a header for `payload_len` bytes into the first 40 bytes.
    #[inline]
    pub(crate) fn emit(repr: &IpRepr, payload_len: usize, out: &mut [u8]) {
        let header = Self {
            version_class_flow: U32::new(6 << 28 | u32::from(repr.ecn) << 20),
            payload_len: U16::new(payload_len as u16),
            next_header: repr.protocol.into(),
            hop_limit: repr.hop_limit,
            src: octets(repr.src),
            dst: octets(repr.dst),
        };
        out[..HEADER_LEN].copy_from_slice(header.as_bytes());
    }
}

fn octets(addr: FlowAddr) -> [u8; 16] {
    Ipv6Addr::from(addr.bits()).octets()
}
