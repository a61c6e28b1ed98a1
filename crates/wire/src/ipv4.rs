//! IPv4 headers (RFC 791).

use crate::ip::{FlowAddr, IpRepr};
use crate::{WireError, split};
use core::net::{IpAddr, Ipv4Addr};
use tidegate_base::Sum;
use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes in a header without options.
pub const HEADER_LEN: usize = 20;

const FLAG_DONT_FRAGMENT: u16 = 0x4000;
const FLAG_MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET_MASK: u16 = 0x1fff;

/// The fixed part of an IPv4 header.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Ipv4Header {
    version_ihl: u8,
    tos: u8,
    total_len: U16,
    ident: U16,
    flags_fragment: U16,
    ttl: u8,
    protocol: u8,
    checksum: U16,
    src: [u8; 4],
    dst: [u8; 4],
}

impl Ipv4Header {
    /// The header at the start of `bytes`, and the payload that its total length gives. Options are
    /// skipped; a fragment is an error.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(&Self, &[u8]), WireError> {
        let (header, _) = Self::ref_from_prefix(bytes).map_err(|_| WireError::Truncated)?;
        let (header_len, total_len) = (header.header_len(), usize::from(header.total_len.get()));
        if header.version_ihl >> 4 != 4 {
            return Err(WireError::Unsupported);
        }
        if header_len < HEADER_LEN || total_len < header_len {
            return Err(WireError::Malformed);
        }
        if header.is_fragment() {
            return Err(WireError::Fragment);
        }
        let (packet, _) = split(bytes, total_len)?;
        Ok((header, &packet[header_len..]))
    }

    /// Bytes in the header, options included.
    pub const fn header_len(&self) -> usize {
        (self.version_ihl & 0xf) as usize * 4
    }

    /// Whether this is the first, a middle or the last piece of a larger packet.
    pub fn is_fragment(&self) -> bool {
        self.flags_fragment.get() & (FLAG_MORE_FRAGMENTS | FRAGMENT_OFFSET_MASK) != 0
    }

    /// Whether the header's checksum holds; `bytes` are those that [`Ipv4Header::parse`] was given.
    #[inline]
    pub fn checksum_ok(&self, bytes: &[u8]) -> bool {
        bytes.get(..self.header_len()).is_some_and(|header| Sum::of(header).is_valid())
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
            protocol: self.protocol.into(),
            hop_limit: self.ttl,
            ecn: self.tos & 3,
        }
    }

    /// The header of an answer of `payload_len` bytes to the packet with this one: back to where it came from,
    /// without options.
    #[inline]
    #[must_use]
    pub fn answer(&self, hop_limit: u8, payload_len: usize) -> Self {
        let mut answer = Self {
            version_ihl: 0x45,
            tos: 0,
            total_len: U16::new((HEADER_LEN + payload_len) as u16),
            ident: U16::ZERO,
            flags_fragment: U16::new(FLAG_DONT_FRAGMENT),
            ttl: hop_limit,
            checksum: U16::ZERO,
            src: self.dst,
            dst: self.src,
            ..*self
        };
        answer.checksum = U16::new(Sum::of(answer.as_bytes()).finish());
        answer
    }

    /// The sum of the pseudo header for `payload_len` bytes of payload.
    #[inline]
    pub fn pseudo_header_sum(&self, payload_len: usize) -> Sum {
        let [a, b] = [self.src, self.dst].map(|addr| Sum::of_u32(u32::from_be_bytes(addr)));
        a + b + Sum::of_u16(self.protocol.into()) + Sum::of_u32(payload_len as u32)
    }

    /// Writes a header without options for `payload_len` bytes into the first 20 bytes. Don't
    /// Fragment is set: the stack does path MTU discovery, so the identification may be zero (RFC
    /// 6864 section 4.1).
    #[inline]
    pub(crate) fn emit(repr: &IpRepr, payload_len: usize, out: &mut [u8]) {
        let mut header = Self {
            version_ihl: 0x45,
            tos: repr.ecn,
            total_len: U16::new((HEADER_LEN + payload_len) as u16),
            ident: U16::ZERO,
            flags_fragment: U16::new(FLAG_DONT_FRAGMENT),
            ttl: repr.hop_limit,
            protocol: repr.protocol.into(),
            checksum: U16::ZERO,
            src: octets(repr.src),
            dst: octets(repr.dst),
        };
        header.checksum = U16::new(Sum::of(header.as_bytes()).finish());
        out[..HEADER_LEN].copy_from_slice(header.as_bytes());
    }
}

fn octets(addr: FlowAddr) -> [u8; 4] {
    Ipv4Addr::from(addr.bits() as u32).octets()
}
