//! Headers as they stand on the wire, and as values.
//!
//! Each protocol has a *view* or a header struct, laid over bytes without copying, and a *repr*, a
//! validated value. The contract of a view:
//!
//! - `parse` checks every length that the accessors rely on, once; after it no accessor can fail.
//! - `parse` does not check checksums: `checksum_ok` does, because hardware may have.
//! - the payload a view returns is cut to what the header says, never to what the frame happens to
//!   hold (Ethernet pads short frames).
//!
//! `emit` writes a repr into exactly `header_len()` bytes. Nothing here allocates or keeps state.
#![forbid(unsafe_code)]

pub mod arp;
pub mod egress;
pub mod ethernet;
pub mod icmp;
pub mod ingress;
pub mod ip;
pub mod ipv4;
pub mod ipv6;
pub mod tcp;
pub mod udp;

pub use ethernet::{EtherType, EthernetHeader, MacAddr};
pub use ip::{FlowAddr, IpRepr, Protocol, pseudo_header_sum};
pub use tcp::{SackBlock, SackBlocks, TcpFlags, TcpOptions, TcpPacket, TcpRepr, Timestamps};

/// Why bytes are not the header they were taken for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WireError {
    /// Fewer bytes than the header, or than a length in it says.
    Truncated,
    /// A field that contradicts another or the protocol.
    Malformed,
    /// A fragment of an IP packet.
    Fragment,
    /// A protocol, version or option that this crate does not read.
    Unsupported,
}

impl core::fmt::Display for WireError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Truncated => "truncated header",
            Self::Malformed => "contradictory header fields",
            Self::Fragment => "IP fragment",
            Self::Unsupported => "unsupported protocol or extension",
        })
    }
}

impl core::error::Error for WireError {}

/// The bytes before `at` and from it on; an error if there are fewer.
#[inline]
pub(crate) fn split(bytes: &[u8], at: usize) -> Result<(&[u8], &[u8]), WireError> {
    bytes.split_at_checked(at).ok_or(WireError::Truncated)
}

#[cfg(test)]
mod tests;
