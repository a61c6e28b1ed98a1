//! Who this host is: addresses, link, and which of the host's duties are its own.

use std::net::IpAddr;
use tidegate_wire::{FlowAddr, MacAddr, ethernet, tcp};

/// Which duties of a host the stack has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ownership {
    /// The addresses are the stack's own: it answers ARP, neighbour discovery and ping, and says
    /// when a port is closed.
    Address,
    /// The kernel owns the addresses and does all that; the stack serves its ports only and is
    /// silent about everything else.
    Ports,
}

/// The network as the stack sees it.
#[derive(Clone, Debug)]
pub struct Interface {
    mac: MacAddr,
    addresses: Vec<FlowAddr>,
    mtu: usize,
    ownership: Ownership,
    trusts_checksums: bool,
}

/// The smallest MTU that an IPv6 link may have (RFC 8200 section 5).
const MTU_MIN: usize = 1280;

impl Interface {
    /// An interface with link address `mac`, `addresses`, and an MTU in bytes of IP packet (raised to
    /// 1280 where it is smaller).
    pub fn new(
        mac: MacAddr,
        addresses: impl IntoIterator<Item = IpAddr>,
        mtu: usize,
        ownership: Ownership,
    ) -> Self {
        let addresses = addresses.into_iter().map(FlowAddr::from).collect();
        Self { mac, addresses, mtu: mtu.max(MTU_MIN), ownership, trusts_checksums: false }
    }

    /// The same, but for a link that delivers nothing broken, and whose senders may leave transport
    /// checksums unfinished (CHECKSUM_PARTIAL across a veth).
    #[must_use]
    pub const fn trusting_checksums(mut self) -> Self {
        self.trusts_checksums = true;
        self
    }

    /// Whether transport checksums are not looked at.
    #[inline]
    pub(crate) const fn trusts_checksums(&self) -> bool {
        self.trusts_checksums
    }

    /// The link address.
    pub const fn mac(&self) -> MacAddr {
        self.mac
    }

    /// Whether `addr` is one of ours.
    #[inline]
    pub fn has(&self, addr: FlowAddr) -> bool {
        self.addresses.contains(&addr)
    }

    /// Our addresses.
    pub fn addresses(&self) -> &[FlowAddr] {
        &self.addresses
    }

    /// The largest IP packet that fits a frame.
    pub const fn mtu(&self) -> usize {
        self.mtu
    }

    /// The MSS that a peer at `addr` is told (RFC 9293 section 3.7.1): what fits without options.
    pub fn mss_for(&self, addr: FlowAddr) -> u16 {
        let room = self.mtu - addr.header_len() - tcp::HEADER_LEN;
        room.min(usize::from(u16::MAX)) as u16
    }

    /// The largest frame, without a VLAN tag.
    pub const fn frame_len_max(&self) -> usize {
        self.mtu + ethernet::HEADER_LEN
    }

    /// Whether the stack does a host's duties for its addresses.
    pub fn owns_address(&self) -> bool {
        self.ownership == Ownership::Address
    }
}
