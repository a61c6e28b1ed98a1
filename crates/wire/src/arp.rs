//! ARP for IPv4 over Ethernet (RFC 826).

use crate::{MacAddr, WireError};
use core::net::Ipv4Addr;
use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes in a packet.
pub const PACKET_LEN: usize = 28;

/// What an ARP packet wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Who has this address?
    Request,
    /// I have it.
    Reply,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Packet {
    hardware: U16,
    protocol: U16,
    hardware_len: u8,
    protocol_len: u8,
    operation: U16,
    sender_mac: MacAddr,
    sender_ip: [u8; 4],
    target_mac: MacAddr,
    target_ip: [u8; 4],
}

/// An ARP packet for IPv4 over Ethernet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArpRepr {
    /// Request or reply.
    pub operation: Operation,
    /// Who sends it, by link address.
    pub sender_mac: MacAddr,
    /// Who sends it, by IP address.
    pub sender_ip: Ipv4Addr,
    /// Whom it is for, by link address; zero in a request.
    pub target_mac: MacAddr,
    /// Whom it asks about or is for.
    pub target_ip: Ipv4Addr,
}

impl ArpRepr {
    /// The packet at the start of `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let (p, _) = Packet::ref_from_prefix(bytes).map_err(|_| WireError::Truncated)?;
        if (p.hardware.get(), p.protocol.get(), p.hardware_len, p.protocol_len) != (1, 0x0800, 6, 4) {
            return Err(WireError::Unsupported);
        }
        let operation = match p.operation.get() {
            1 => Operation::Request,
            2 => Operation::Reply,
            _ => return Err(WireError::Unsupported),
        };
        Ok(Self {
            operation,
            sender_mac: p.sender_mac,
            sender_ip: p.sender_ip.into(),
            target_mac: p.target_mac,
            target_ip: p.target_ip.into(),
        })
    }

    /// Writes the packet into the first [`PACKET_LEN`] bytes.
    pub fn emit(&self, out: &mut [u8]) {
        let packet = Packet {
            hardware: U16::new(1),
            protocol: U16::new(0x0800),
            hardware_len: 6,
            protocol_len: 4,
            operation: U16::new(match self.operation {
                Operation::Request => 1,
                Operation::Reply => 2,
            }),
            sender_mac: self.sender_mac,
            sender_ip: self.sender_ip.octets(),
            target_mac: self.target_mac,
            target_ip: self.target_ip.octets(),
        };
        out[..PACKET_LEN].copy_from_slice(packet.as_bytes());
    }
}
