//! UDP headers (RFC 768).

use crate::ip::IpRepr;
use crate::{WireError, split};
use tidegate_base::Sum;
use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes in a header.
pub const HEADER_LEN: usize = 8;

/// A UDP header.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct UdpHeader {
    src_port: U16,
    dst_port: U16,
    len: U16,
    checksum: U16,
}

impl UdpHeader {
    /// The header at the start of `bytes`, and the payload that its length gives.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(&Self, &[u8]), WireError> {
        let (header, _) = Self::ref_from_prefix(bytes).map_err(|_| WireError::Truncated)?;
        let len = usize::from(header.len.get());
        if len < HEADER_LEN {
            return Err(WireError::Malformed);
        }
        let (datagram, _) = split(bytes, len)?;
        Ok((header, &datagram[HEADER_LEN..]))
    }

    /// The header at the start of `bytes`, whatever it says: for one that was parsed before.
    #[inline]
    pub fn view(bytes: &[u8]) -> Option<&Self> {
        Self::ref_from_prefix(bytes).ok().map(|(header, _)| header)
    }

    /// Source port.
    pub fn src_port(&self) -> u16 {
        self.src_port.get()
    }

    /// Destination port.
    pub fn dst_port(&self) -> u16 {
        self.dst_port.get()
    }

    /// Whether the checksum of the datagram in `bytes` holds. None at all is allowed over IPv4 only
    /// (RFC 8200 section 8.1).
    #[inline]
    pub fn checksum_ok(&self, ip: &IpRepr, bytes: &[u8]) -> bool {
        let len = usize::from(self.len.get());
        if self.checksum.get() == 0 {
            return ip.dst.is_ipv4();
        }
        bytes.get(..len).is_some_and(|d| (ip.pseudo_header_sum(len) + Sum::of(d)).is_valid())
    }

    /// The header of an answer to the datagram with this one: its payload is `payload_len` bytes, whose sum,
    /// that of the pseudo header included, is `sum`.
    #[inline]
    #[must_use]
    pub fn answer(&self, payload_len: usize, sum: Sum) -> Self {
        let (src_port, dst_port) = (self.dst_port, self.src_port);
        let len = (HEADER_LEN + payload_len) as u16;
        let ports = Sum::of_u16(src_port.get()) + Sum::of_u16(dst_port.get());
        let checksum = U16::new((sum + ports + Sum::of_u16(len)).finish_udp());
        Self { src_port, dst_port, len: U16::new(len), checksum }
    }

    /// Writes a header for a payload of `payload_len` bytes whose sum is `payload_sum` into the first
    /// eight bytes.
    pub fn emit(
        ip: &IpRepr,
        src_port: u16,
        dst_port: u16,
        payload_len: usize,
        payload_sum: Sum,
        out: &mut [u8],
    ) {
        let len = HEADER_LEN + payload_len;
        let mut header = Self {
            src_port: U16::new(src_port),
            dst_port: U16::new(dst_port),
            len: U16::new(len as u16),
            checksum: U16::ZERO,
        };
        let sum = ip.pseudo_header_sum(len) + Sum::of(header.as_bytes()) + payload_sum;
        header.checksum = U16::new(sum.finish_udp());
        out[..HEADER_LEN].copy_from_slice(header.as_bytes());
    }
}
