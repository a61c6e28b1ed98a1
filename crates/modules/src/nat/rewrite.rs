//! Where a packet's address and port are, and how they are changed with its checksums (RFC 1624).

use crate::layers::{self, IPV4_LEN, Packet};
use tidegate_base::{DropReason, Sum};

pub(super) const ICMP: u8 = 1;
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;

/// Types of ICMP messages (RFC 792).
const ECHO_REPLY: u8 = 0;
const ECHO_REQUEST: u8 = 8;

/// Which end of a packet is translated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// On the way out.
    Source,
    /// On the way in.
    Destination,
}

/// One end of a packet, and where in its frame it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Endpoint {
    pub(super) address: u32,
    /// The port, or an echo's identifier.
    pub(super) port: u16,
    pub(super) protocol: u8,
    /// Those of TCP; zero for other protocols.
    pub(super) flags: u8,
    address_at: usize,
    port_at: usize,
    ip_check_at: usize,
    check_at: usize,
}

impl Endpoint {
    /// The end of the packet in an Ethernet frame; why it cannot be translated, if not.
    #[inline]
    pub(super) fn find(data: &[u8], end: End) -> Result<Self, DropReason> {
        let (start, packet) = ipv4(data)?;
        if packet.is_fragment {
            return Err(DropReason::Fragment);
        }
        let l4 = packet.payload.start;
        let is_source = end == End::Source;
        let port_offset = if is_source { 0 } else { 2 };
        let (header_len, check, port) = match packet.protocol {
            TCP => (20, 16, port_offset),
            UDP => (8, 6, port_offset),
            ICMP => (8, 2, 4),
            _ => return Err(DropReason::UnknownProtocol),
        };
        let header = data.get(l4..l4 + header_len).ok_or(DropReason::Malformed)?;
        let echo = if is_source { ECHO_REQUEST } else { ECHO_REPLY };
        if packet.protocol == ICMP && header[0] != echo {
            return Err(DropReason::UnknownProtocol);
        }
        let address_at = packet.addresses.start + if is_source { 0 } else { 4 };
        Ok(Self {
            address: u32_at(data, address_at),
            port: u16::from_be_bytes([header[port], header[port + 1]]),
            protocol: packet.protocol,
            flags: if packet.protocol == TCP { header[13] } else { 0 },
            address_at,
            port_at: l4 + port,
            ip_check_at: start + 10,
            check_at: l4 + check,
        })
    }

    /// Gives this end of the packet another address and port. `data` is that in which it was found.
    #[inline]
    pub(super) fn rewrite(&self, data: &mut [u8], address: u32, port: u16) {
        let addresses = Sum::of_u32(address).without(Sum::of_u32(self.address));
        let ports = Sum::of_u16(port).without(Sum::of_u16(self.port));
        put(data, self.address_at, address.to_be_bytes());
        put(data, self.port_at, port.to_be_bytes());
        adjust(data, self.ip_check_at, addresses);
        match self.protocol {
            UDP => adjust_udp(data, self.check_at, addresses + ports),
            ICMP => adjust(data, self.check_at, ports),
            _ => adjust(data, self.check_at, addresses + ports),
        }
    }
}

/// One address of any IPv4 packet, a fragment too.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressOnly {
    pub(super) address: u32,
    address_at: usize,
    ip_check_at: usize,
    /// The checksum that covers it, and whether it may be absent.
    check: Option<(usize, bool)>,
}

impl AddressOnly {
    pub(super) fn find(data: &[u8], end: End) -> Result<Self, DropReason> {
        let (start, packet) = ipv4(data)?;
        let address_at = packet.addresses.start + if end == End::Source { 0 } else { 4 };
        // Only a packet's first piece has the header.
        let is_later = u16::from_be_bytes([data[start + 6], data[start + 7]]) & 0x1fff != 0;
        let offset = match packet.protocol {
            TCP => Some((16, false)),
            UDP => Some((6, true)),
            _ => None,
        };
        let check = offset.filter(|_| !is_later).map(|(at, optional)| (packet.payload.start + at, optional));
        let check = check.filter(|(at, _)| at + 2 <= data.len());
        Ok(Self { address: u32_at(data, address_at), address_at, ip_check_at: start + 10, check })
    }

    pub(super) fn rewrite(&self, data: &mut [u8], address: u32) {
        let change = Sum::of_u32(address).without(Sum::of_u32(self.address));
        put(data, self.address_at, address.to_be_bytes());
        adjust(data, self.ip_check_at, change);
        match self.check {
            Some((at, true)) => adjust_udp(data, at, change),
            Some((at, false)) => adjust(data, at, change),
            None => {}
        }
    }
}

/// Where the IPv4 header starts, and what is in it.
#[inline]
fn ipv4(data: &[u8]) -> Result<(usize, Packet), DropReason> {
    let (kind, start) = layers::network(data).ok_or(DropReason::Malformed)?;
    if kind != layers::ETHER_TYPE_IPV4 {
        return Err(DropReason::UnknownProtocol);
    }
    let packet = Packet::ipv4(data, start).ok_or(DropReason::Malformed)?;
    debug_assert!(data.len() >= start + IPV4_LEN, "the header is whole");
    Ok((start, packet))
}

#[inline]
fn u32_at(data: &[u8], at: usize) -> u32 {
    data.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

#[inline]
fn put<const N: usize>(data: &mut [u8], at: usize, bytes: [u8; N]) {
    if let Some(place) = data.get_mut(at..at + N) {
        place.copy_from_slice(&bytes);
    }
}

#[inline]
fn adjusted(data: &[u8], at: usize, change: Sum) -> (u16, Sum) {
    let check = data.get(at..at + 2).map_or(0, |bytes| u16::from_be_bytes([bytes[0], bytes[1]]));
    (check, Sum::of_u16(!check) + change)
}

#[inline]
fn adjust(data: &mut [u8], at: usize, change: Sum) {
    let (_, sum) = adjusted(data, at, change);
    put(data, at, sum.finish().to_be_bytes());
}

/// UDP may go without a checksum (RFC 768).
#[inline]
fn adjust_udp(data: &mut [u8], at: usize, change: Sum) {
    let (before, sum) = adjusted(data, at, change);
    if before != 0 {
        put(data, at, sum.finish_udp().to_be_bytes());
    }
}
