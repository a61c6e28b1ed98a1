//! A TCP segment in a frame, bare or inside VXLAN: where its headers are, and what they must say when its length changes.
//!
//! ```text
//!   | Ethernet | IP | UDP | VXLAN | Ethernet | IP | TCP | payload |
//!   ^0         ^outer                         ^ip  ^tcp  ^payload_start
//! ```
//! Invariant: all headers are inside the data that the segment was found in, and each length says that its packet ends
//! where the others end.

use crate::layers::{IPV6_LEN, PROTOCOL_TCP, PROTOCOL_UDP, Packet, u16_at};
use tidegate_base::Sum;

/// The port that is VXLAN's (RFC 7348).
pub(crate) const VXLAN_PORT: u16 = 4789;
/// The longest IP packet there is.
pub(crate) const IP_LEN_MAX: usize = 65_535;

const UDP_LEN: usize = 8;
const VXLAN_LEN: usize = 8;
/// The flag that a VXLAN header has (RFC 7348 section 5), in its first byte.
const VXLAN_HAS_ID: u8 = 0x08;
const TCP_LEN: usize = 20;

pub(crate) const FIN: u8 = 0x01;
pub(crate) const SYN: u8 = 0x02;
pub(crate) const RST: u8 = 0x04;
pub(crate) const PSH: u8 = 0x08;
pub(crate) const ACK: u8 = 0x10;
pub(crate) const URG: u8 = 0x20;
pub(crate) const ECE: u8 = 0x40;
pub(crate) const CWR: u8 = 0x80;

/// Where a header has a field.
pub(crate) mod field {
    pub(crate) const IPV4_TOTAL_LEN: usize = 2;
    pub(crate) const IPV4_IDENT: usize = 4;
    pub(crate) const IPV4_FLAGS: usize = 6;
    pub(crate) const IPV4_CHECK: usize = 10;
    pub(crate) const IPV6_PAYLOAD_LEN: usize = 4;
    pub(crate) const UDP_LEN: usize = 4;
    pub(crate) const UDP_CHECK: usize = 6;
    pub(crate) const TCP_SEQ: usize = 4;
    pub(crate) const TCP_FLAGS: usize = 13;
    pub(crate) const TCP_CHECK: usize = 16;
}

/// A segment's headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The packet of the tunnel, if it is in one.
    pub(crate) outer: Option<Packet>,
    /// The packet that it is in.
    pub(crate) ip: Packet,
    pub(crate) payload_start: usize,
}

impl Segment {
    /// The segment in a frame; `None` if there is none, or none that is whole in its headers.
    #[inline]
    pub(crate) fn find(data: &[u8]) -> Option<Self> {
        let packet = Packet::find(data).filter(|packet| !packet.is_fragment)?;
        match packet.protocol {
            PROTOCOL_TCP => Self::of(data, None, packet),
            PROTOCOL_UDP => Self::in_vxlan(data, packet),
            _ => None,
        }
    }

    fn in_vxlan(data: &[u8], outer: Packet) -> Option<Self> {
        let udp = outer.payload.start;
        let vxlan = udp + UDP_LEN;
        let is_vxlan = u16_at(data, udp + 2)? == VXLAN_PORT && data.get(vxlan)? & VXLAN_HAS_ID != 0;
        let udp_len = usize::from(u16_at(data, udp + field::UDP_LEN)?);
        if !is_vxlan || udp_len != outer.payload.len() {
            return None;
        }
        let inner = Packet::find_at(data, vxlan + VXLAN_LEN)?;
        let is_ours = inner.protocol == PROTOCOL_TCP && !inner.is_fragment;
        (is_ours && inner.payload.end == outer.payload.end).then_some(())?;
        Self::of(data, Some(outer), inner)
    }

    fn of(data: &[u8], outer: Option<Packet>, ip: Packet) -> Option<Self> {
        let tcp = ip.payload.start;
        let header_len = usize::from(data.get(tcp + 12)? >> 4) * 4;
        let payload_start = tcp + header_len;
        let is_whole = header_len >= TCP_LEN && payload_start <= data.len().min(ip.payload.end);
        is_whole.then_some(Self { outer, ip, payload_start })
    }

    /// Where the TCP header is.
    #[inline]
    pub(crate) const fn tcp(&self) -> usize {
        self.ip.payload.start
    }

    /// Where the frame's packet begins: the tunnel's, if there is one.
    #[inline]
    pub(crate) fn packet_start(&self) -> usize {
        self.outer.as_ref().unwrap_or(&self.ip).start()
    }

    /// Where the packet ends by what its headers say.
    #[inline]
    pub(crate) const fn end(&self) -> usize {
        self.ip.payload.end
    }

    /// Bytes of payload.
    #[inline]
    pub(crate) const fn payload_len(&self) -> usize {
        self.end() - self.payload_start
    }

    #[inline]
    pub(crate) fn flags(&self, data: &[u8]) -> u8 {
        data[self.tcp() + field::TCP_FLAGS]
    }

    #[inline]
    pub(crate) fn seq(&self, data: &[u8]) -> u32 {
        let at = self.tcp() + field::TCP_SEQ;
        data[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
    }

    /// The packets that have lengths of their own, from the outside.
    #[inline]
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.outer.iter().chain([&self.ip])
    }

    /// Has the headers in `data` tell of `payload_len` bytes of payload, and the IPv4 packets be the `number`th behind
    /// those that they are. Of the checksums only IPv4's are right then.
    #[inline]
    pub(crate) fn set_len(&self, data: &mut [u8], payload_len: usize, number: u16) {
        let end = self.payload_start + payload_len;
        for packet in self.packets() {
            set_packet_len(data, packet, end, number);
        }
        if let Some(outer) = &self.outer {
            put(data, outer.payload.start + field::UDP_LEN, (end - outer.payload.start) as u16);
        }
    }

    /// The sum of the TCP pseudo header where there are `payload_len` bytes of payload.
    #[inline]
    pub(crate) fn pseudo_sum(&self, data: &[u8], payload_len: usize) -> Sum {
        let len = self.payload_start + payload_len - self.tcp();
        Sum::of(&data[self.ip.addresses.clone()]) + Sum::of_u16(PROTOCOL_TCP.into()) + Sum::of_u32(len as u32)
    }

    /// Writes the checksums of TCP and of the tunnel's UDP, if that has one; `data` ends where the packet does.
    #[inline]
    pub(crate) fn seal(&self, data: &mut [u8]) {
        let tcp = self.tcp();
        put(data, tcp + field::TCP_CHECK, 0);
        let sum = self.pseudo_sum(data, data.len() - self.payload_start) + Sum::of(&data[tcp..]);
        put(data, tcp + field::TCP_CHECK, sum.finish());
        if let Some(outer) = &self.outer
            && u16_at(data, outer.payload.start + field::UDP_CHECK) != Some(0)
        {
            seal_udp(data, outer);
        }
    }

    /// Whether the IPv4 headers and the TCP segment are intact, and the tunnel's UDP has no checksum.
    #[inline]
    pub(crate) fn is_intact(&self, data: &[u8]) -> bool {
        let header_ok = |packet: &Packet| {
            !packet.is_ipv4() || Sum::of(&data[packet.start()..packet.payload.start]).is_valid()
        };
        let unsummed = |outer: &Packet| u16_at(data, outer.payload.start + field::UDP_CHECK) == Some(0);
        let Some(segment) = data.get(self.tcp()..self.end()) else { return false };
        self.packets().all(header_ok)
            && self.outer.as_ref().is_none_or(unsummed)
            && (self.pseudo_sum(data, self.payload_len()) + Sum::of(segment)).is_valid()
    }
}

#[inline]
fn set_packet_len(data: &mut [u8], packet: &Packet, end: usize, number: u16) {
    let start = packet.start();
    if !packet.is_ipv4() {
        return put(data, start + field::IPV6_PAYLOAD_LEN, (end - start - IPV6_LEN) as u16);
    }
    let ident = u16_at(data, start + field::IPV4_IDENT).unwrap_or(0);
    put(data, start + field::IPV4_TOTAL_LEN, (end - start) as u16);
    put(data, start + field::IPV4_IDENT, ident.wrapping_add(number));
    put(data, start + field::IPV4_CHECK, 0);
    let check = Sum::of(&data[start..packet.payload.start]).finish();
    put(data, start + field::IPV4_CHECK, check);
}

fn seal_udp(data: &mut [u8], outer: &Packet) {
    let udp = outer.payload.start;
    put(data, udp + field::UDP_CHECK, 0);
    let len = data.len() - udp;
    let pseudo = Sum::of(&data[outer.addresses.clone()]) + Sum::of_u16(PROTOCOL_UDP.into());
    let check = (pseudo + Sum::of_u32(len as u32) + Sum::of(&data[udp..])).finish_udp();
    put(data, udp + field::UDP_CHECK, check);
}

#[inline]
pub(crate) fn put(data: &mut [u8], at: usize, value: u16) {
    data[at..at + 2].copy_from_slice(&value.to_be_bytes());
}
