//! The link header: where a frame came from, and how to answer there.
//!
//! A reply goes to the MAC address, and under the VLAN tag, that the request came with: no routing
//! table and no neighbour cache stand between a server and its answer.

use tidegate_packet::Frame;
use tidegate_wire::ethernet::{HEADER_LEN, VLAN_TAG_LEN};
use tidegate_wire::{EtherType, EthernetHeader, MacAddr, WireError};

/// The other end of a link, as seen in one frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The neighbour's address.
    pub peer: MacAddr,
    /// The 802.1Q tag control information that its frames carry.
    pub vlan: Option<u16>,
}

/// A frame's link header, read.
pub(crate) struct LinkHeader {
    pub(crate) link: Link,
    pub(crate) dst: MacAddr,
    pub(crate) kind: EtherType,
    pub(crate) len: usize,
}

/// Reads the header at the start of `frame`, and one VLAN tag if there is one.
#[inline]
pub(crate) fn parse(frame: &[u8]) -> Result<LinkHeader, WireError> {
    let (header, rest) = EthernetHeader::parse(frame)?;
    let plain =
        |kind, vlan, len| LinkHeader { link: Link { peer: header.src, vlan }, dst: header.dst, kind, len };
    match header.ether_type() {
        EtherType::Vlan => {
            let [a, b, c, d] = *rest.first_chunk().ok_or(WireError::Truncated)?;
            let kind = EtherType::from(u16::from_be_bytes([c, d]));
            Ok(plain(kind, Some(u16::from_be_bytes([a, b])), HEADER_LEN + VLAN_TAG_LEN))
        }
        kind => Ok(plain(kind, None, HEADER_LEN)),
    }
}

impl Link {
    /// Every station on the link.
    pub(crate) const BROADCAST: Self = Self { peer: MacAddr::BROADCAST, vlan: None };

    /// Pushes the link header for a frame from `mac` to this neighbour. False if there is no headroom.
    #[inline]
    pub(crate) fn push_header(&self, frame: &mut Frame, mac: MacAddr, kind: EtherType) -> bool {
        let (outer, tag_len) = if self.vlan.is_some() { (EtherType::Vlan, VLAN_TAG_LEN) } else { (kind, 0) };
        let Some(room) = frame.push_front(HEADER_LEN + tag_len) else { return false };
        let [dst, src] = [self.peer.0, mac.0];
        room[..6].copy_from_slice(&dst);
        room[6..12].copy_from_slice(&src);
        room[12..14].copy_from_slice(&u16::from(outer).to_be_bytes());
        if let Some(tci) = self.vlan {
            room[14..16].copy_from_slice(&tci.to_be_bytes());
            room[16..18].copy_from_slice(&u16::from(kind).to_be_bytes());
        }
        true
    }
}
