//! Where in a frame the headers of its layers are, for modules that change them.
//!
//! Unlike the views of `wire` it takes what it can: a packet whose payload is cut off still has a header to change.

use std::ops::Range;

/// Bytes of an Ethernet header without tags.
pub(crate) const ETHER_LEN: usize = 14;
/// Bytes of an 802.1Q tag.
pub(crate) const TAG_LEN: usize = 4;
/// Bytes of an IPv4 header without options.
pub(crate) const IPV4_LEN: usize = 20;
/// Bytes of an IPv6 header.
pub(crate) const IPV6_LEN: usize = 40;

pub(crate) const ETHER_TYPE_IPV4: u16 = 0x0800;
pub(crate) const ETHER_TYPE_VLAN: u16 = 0x8100;
pub(crate) const ETHER_TYPE_QINQ: u16 = 0x88a8;
pub(crate) const ETHER_TYPE_MPLS: u16 = 0x8847;
pub(crate) const ETHER_TYPE_BRIDGED: u16 = 0x6558;
const ETHER_TYPE_IPV6: u16 = 0x86dd;

pub(crate) const PROTOCOL_TCP: u8 = 6;
pub(crate) const PROTOCOL_UDP: u8 = 17;
pub(crate) const PROTOCOL_GRE: u8 = 47;

/// Tags that are looked behind: one, or two of 802.1ad.
const TAG_COUNT_MAX: usize = 2;

/// EtherType and version of an IPv4 packet whose header has no options, in an untagged frame.
const PLAIN: [u8; 3] = [0x08, 0x00, 0x45];
/// Bytes of such a frame up to the end of its IPv4 header.
pub(crate) const PLAIN_LEN: usize = ETHER_LEN + IPV4_LEN;

/// Whether it is a plain IPv4 packet, as nearly all are: neither tags nor options. Then all is where it always is.
#[inline]
pub(crate) fn is_plain_ipv4(headers: &[u8; PLAIN_LEN]) -> bool {
    headers[12..15] == PLAIN
}

/// The number of two bytes at `offset`.
#[inline]
pub(crate) fn u16_at(data: &[u8], offset: usize) -> Option<u16> {
    data.get(offset..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
}

/// Whether `ether_type` announces a tag (802.1Q, 802.1ad).
#[inline]
pub(crate) const fn is_tag(ether_type: u16) -> bool {
    matches!(ether_type, ETHER_TYPE_VLAN | ETHER_TYPE_QINQ)
}

/// The EtherType behind the tags, and where its header starts.
#[inline]
pub(crate) fn network(data: &[u8]) -> Option<(u16, usize)> {
    let ether_type = u16_at(data, ETHER_LEN - 2)?;
    if is_tag(ether_type) { behind_tags(data) } else { Some((ether_type, ETHER_LEN)) }
}

#[cold]
fn behind_tags(data: &[u8]) -> Option<(u16, usize)> {
    let mut start = ETHER_LEN;
    for _ in 0..TAG_COUNT_MAX {
        start += TAG_LEN;
        let ether_type = u16_at(data, start - 2)?;
        if !is_tag(ether_type) {
            return Some((ether_type, start));
        }
    }
    None
}

/// Where the IPv4 header starts, if the frame has one whole, options included, and how long it is.
#[inline]
pub(crate) fn ipv4(data: &[u8]) -> Option<Range<usize>> {
    match network(data)? {
        (ETHER_TYPE_IPV4, start) => ipv4_at(data, start),
        _ => None,
    }
}

/// The IPv4 header at `start`, options included, if it is whole.
#[inline]
pub(crate) fn ipv4_at(data: &[u8], start: usize) -> Option<Range<usize>> {
    let version_ihl = *data.get(start)?;
    let end = start + usize::from(version_ihl & 0xf) * 4;
    let is_whole = version_ihl >> 4 == 4 && end >= start + IPV4_LEN && end <= data.len();
    is_whole.then_some(start..end)
}

/// Where a packet's addresses and its payload are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    /// Source, then destination.
    pub(crate) addresses: Range<usize>,
    /// What the payload is.
    pub(crate) protocol: u8,
    /// From behind the IP header to where the IP header says that the packet ends, which may be behind the frame.
    pub(crate) payload: Range<usize>,
    /// A piece of a larger packet, of which only the first has ports.
    pub(crate) is_fragment: bool,
}

impl Packet {
    /// The packet in an Ethernet frame, of either version. IPv6 extension headers are not looked behind.
    #[inline]
    pub(crate) fn find(data: &[u8]) -> Option<Self> {
        Self::find_at(data, 0)
    }

    /// The same of the Ethernet frame that begins at `frame_start`.
    #[inline]
    pub(crate) fn find_at(data: &[u8], frame_start: usize) -> Option<Self> {
        let (ether_type, offset) = network(data.get(frame_start..)?)?;
        match ether_type {
            ETHER_TYPE_IPV4 => Self::ipv4(data, frame_start + offset),
            ETHER_TYPE_IPV6 => Self::ipv6(data, frame_start + offset),
            _ => None,
        }
    }

    /// Whether it is of version 4.
    #[inline]
    pub(crate) const fn is_ipv4(&self) -> bool {
        self.addresses.end - self.addresses.start == 2 * 4
    }

    /// Where its header begins.
    #[inline]
    pub(crate) const fn start(&self) -> usize {
        // The addresses end the fixed header.
        self.addresses.end - if self.is_ipv4() { IPV4_LEN } else { IPV6_LEN }
    }

    #[inline]
    pub(crate) fn ipv4(data: &[u8], start: usize) -> Option<Self> {
        let header = ipv4_at(data, start)?;
        let bytes: &[u8; IPV4_LEN] = data[header.clone()].first_chunk()?;
        let end = start + usize::from(u16::from_be_bytes([bytes[2], bytes[3]]));
        Some(Self {
            addresses: start + 12..start + IPV4_LEN,
            protocol: bytes[9],
            payload: header.end..end.max(header.end),
            is_fragment: u16::from_be_bytes([bytes[6], bytes[7]]) & 0x3fff != 0,
        })
    }

    fn ipv6(data: &[u8], start: usize) -> Option<Self> {
        let bytes: &[u8; IPV6_LEN] = data.get(start..)?.first_chunk()?;
        let payload_start = start + IPV6_LEN;
        let is_version_6 = bytes[0] >> 4 == 6;
        is_version_6.then_some(Self {
            addresses: start + 8..payload_start,
            protocol: bytes[6],
            payload: payload_start..payload_start + usize::from(u16::from_be_bytes([bytes[4], bytes[5]])),
            is_fragment: false,
        })
    }

    /// Where the ports of TCP or UDP are, if the frame has them: source, then destination.
    #[inline]
    pub(crate) fn ports(&self, data: &[u8]) -> Option<Range<usize>> {
        let has_ports = matches!(self.protocol, PROTOCOL_TCP | PROTOCOL_UDP) && !self.is_fragment;
        let ports = self.payload.start..self.payload.start + 4;
        (has_ports && ports.end <= data.len()).then_some(ports)
    }
}
