//! A host's duties on a link: ARP and neighbour discovery, ping, "port unreachable". Done only where
//! the stack owns its addresses; elsewhere the kernel does them.

use crate::egress::Egress;
use crate::interface::Interface;
use crate::link::Link;
use crate::neighbours::Neighbours;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tidegate_base::{DropReason, Duration, Instant};
use tidegate_wire::arp::{self, ArpRepr, Operation};
use tidegate_wire::icmp::{self, IcmpError, IcmpMessage, QuotedFlow};
use tidegate_wire::{EtherType, FlowAddr, IpRepr, MacAddr, Protocol};

/// The hop limit of packets that this host originates.
pub(crate) const HOP_LIMIT: u8 = 64;
/// The hop limit that neighbour discovery demands (RFC 4861 section 7.1).
const ND_HOP_LIMIT: u8 = 255;
/// Error messages sent in one second at most (RFC 4443 section 2.4 (f)).
const ERRORS_PER_SECOND: u32 = 1000;
/// How much of an offending packet an error quotes: enough for any header, small enough never to
/// exceed the minimum MTU.
const QUOTE_LEN_MAX: usize = 512;

/// What an ICMP message means to the layers above.
pub(crate) struct PathNews {
    pub(crate) flow: QuotedFlow,
    pub(crate) error: IcmpError,
}

/// The duties, and what they need to remember.
pub(crate) struct Host {
    pub(crate) interface: Interface,
    pub(crate) neighbours: Neighbours,
    errors: RateLimit,
}

impl Host {
    pub(crate) fn new(interface: Interface) -> Self {
        Self { interface, neighbours: Neighbours::new(), errors: RateLimit::new(ERRORS_PER_SECOND) }
    }

    /// RFC 826: answers who asks for us, and learns who answers us.
    pub(crate) fn on_arp(&mut self, link: Link, body: &[u8], out: &mut dyn Egress) -> Result<(), DropReason> {
        let packet = ArpRepr::parse(body).map_err(|_| DropReason::Malformed)?;
        let sender = FlowAddr::from(IpAddr::V4(packet.sender_ip));
        self.neighbours.learn(sender, packet.sender_mac);
        if !self.interface.owns_address() || !self.interface.has(IpAddr::V4(packet.target_ip).into()) {
            return Err(DropReason::NotOurAddress);
        }
        if packet.operation == Operation::Request {
            let reply = ArpRepr {
                operation: Operation::Reply,
                sender_mac: self.interface.mac(),
                sender_ip: packet.target_ip,
                target_mac: packet.sender_mac,
                target_ip: packet.sender_ip,
            };
            send_arp(&self.interface, link, &reply, out)?;
        }
        Ok(())
    }

    /// Answers ping and neighbour solicitations; hands errors about our packets up.
    pub(crate) fn on_icmp(
        &mut self,
        link: Link,
        ip: &IpRepr,
        body: &[u8],
        out: &mut dyn Egress,
    ) -> Result<Option<PathNews>, DropReason> {
        if !icmp::checksum_ok(ip, body) {
            return Err(DropReason::BadChecksum);
        }
        match icmp::parse(ip, body).map_err(|_| DropReason::Malformed)? {
            IcmpMessage::Error { error, quote } => {
                let flow = icmp::quoted_flow(quote).ok_or(DropReason::Malformed)?;
                Ok(Some(PathNews { flow, error }))
            }
            IcmpMessage::EchoRequest { .. } => self.on_echo(link, ip, body, out),
            IcmpMessage::NeighbourSolicit { target, source_mac } => {
                self.on_solicit(link, ip, target, source_mac, out)
            }
            IcmpMessage::NeighbourAdvert { target, target_mac } => {
                let mac = target_mac.unwrap_or(link.peer);
                self.neighbours.learn(IpAddr::V6(target).into(), mac);
                Ok(None)
            }
            IcmpMessage::Other => Err(DropReason::UnknownProtocol),
        }
    }

    fn on_echo(
        &self,
        link: Link,
        ip: &IpRepr,
        body: &[u8],
        out: &mut dyn Egress,
    ) -> Result<Option<PathNews>, DropReason> {
        if !self.interface.owns_address() || !self.interface.has(ip.dst) {
            return Err(DropReason::NotOurAddress);
        }
        let reply = answer_to(ip);
        send_ip(&self.interface, link, &reply, body.len(), out, |message| {
            message.copy_from_slice(body);
            icmp::make_echo_reply(&reply, message);
        })?;
        Ok(None)
    }

    /// RFC 4861 section 7.2.3 and 7.2.4.
    fn on_solicit(
        &mut self,
        link: Link,
        ip: &IpRepr,
        target: Ipv6Addr,
        source_mac: Option<MacAddr>,
        out: &mut dyn Egress,
    ) -> Result<Option<PathNews>, DropReason> {
        let target_addr = FlowAddr::from(IpAddr::V6(target));
        if !self.interface.owns_address() || !self.interface.has(target_addr) {
            return Err(DropReason::NotOurAddress);
        }
        // Somebody checks whether our address is free: tell all nodes that it is not.
        let probing = IpAddr::from(ip.src).is_unspecified();
        let (dst, peer) = if probing {
            (IpAddr::V6(ALL_NODES).into(), MacAddr::of_ipv6_multicast(ALL_NODES))
        } else {
            (ip.src, source_mac.unwrap_or(link.peer))
        };
        let reply = IpRepr { src: target_addr, dst, hop_limit: ND_HOP_LIMIT, ..answer_to(ip) };
        let mac = self.interface.mac();
        send_ip(&self.interface, Link { peer, ..link }, &reply, icmp::NEIGHBOUR_LEN, out, |message| {
            icmp::emit_neighbour_advert(&reply, target, mac, !probing, message);
        })?;
        Ok(None)
    }

    /// Tells the sender of `packet` that nobody serves its port (RFC 1122 section 3.2.2.1), unless it
    /// came by multicast or there were too many.
    pub(crate) fn refuse_port(
        &mut self,
        now: Instant,
        link: Link,
        ip: &IpRepr,
        packet: &[u8],
        out: &mut dyn Egress,
    ) -> Result<(), DropReason> {
        if !self.interface.owns_address() || !self.interface.has(ip.dst) {
            return Err(DropReason::NoListener);
        }
        if !self.errors.admit(now) {
            return Err(DropReason::RateLimited);
        }
        let protocol = if ip.dst.is_ipv4() { Protocol::Icmp } else { Protocol::Icmpv6 };
        let reply = IpRepr { protocol, ..answer_to(ip) };
        let quote = &packet[..packet.len().min(QUOTE_LEN_MAX)];
        send_ip(&self.interface, link, &reply, icmp::HEADER_LEN + quote.len(), out, |message| {
            icmp::emit_port_unreachable(&reply, quote, message);
        })?;
        Err(DropReason::NoListener)
    }

    /// Asks the link who has `target`, or the kernel, if our addresses are its own.
    pub(crate) fn solicit(
        &mut self,
        source: FlowAddr,
        target: FlowAddr,
        out: &mut dyn Egress,
    ) -> Result<(), DropReason> {
        if !self.interface.owns_address() {
            self.neighbours.want(target);
            return Ok(());
        }
        match (IpAddr::from(source), IpAddr::from(target)) {
            (IpAddr::V4(sender_ip), IpAddr::V4(target_ip)) => self.solicit_v4(sender_ip, target_ip, out),
            (IpAddr::V6(_), IpAddr::V6(target_ip)) => self.solicit_v6(source, target_ip, out),
            _ => Err(DropReason::NoNeighbour),
        }
    }

    fn solicit_v4(
        &self,
        sender_ip: Ipv4Addr,
        target_ip: Ipv4Addr,
        out: &mut dyn Egress,
    ) -> Result<(), DropReason> {
        let request = ArpRepr {
            operation: Operation::Request,
            sender_mac: self.interface.mac(),
            sender_ip,
            target_mac: MacAddr([0; 6]),
            target_ip,
        };
        send_arp(&self.interface, Link::BROADCAST, &request, out)
    }

    fn solicit_v6(&self, src: FlowAddr, target: Ipv6Addr, out: &mut dyn Egress) -> Result<(), DropReason> {
        let group = icmp::solicited_node(target);
        let dst = IpAddr::V6(group).into();
        let ip = IpRepr { src, dst, protocol: Protocol::Icmpv6, hop_limit: ND_HOP_LIMIT, ecn: 0 };
        let (mac, link) =
            (self.interface.mac(), Link { peer: MacAddr::of_ipv6_multicast(group), vlan: None });
        send_ip(&self.interface, link, &ip, icmp::NEIGHBOUR_LEN, out, |message| {
            icmp::emit_neighbour_solicit(&ip, target, mac, message);
        })
    }
}

const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// The header of an answer to a packet with header `ip`.
pub(crate) fn answer_to(ip: &IpRepr) -> IpRepr {
    IpRepr { src: ip.dst, dst: ip.src, protocol: ip.protocol, hop_limit: HOP_LIMIT, ecn: 0 }
}

/// Builds and sends an IP packet whose `len` bytes of payload `fill` writes.
pub(crate) fn send_ip(
    interface: &Interface,
    link: Link,
    ip: &IpRepr,
    len: usize,
    out: &mut dyn Egress,
    fill: impl FnOnce(&mut [u8]),
) -> Result<(), DropReason> {
    if out.room() == 0 {
        return Err(DropReason::RingFull);
    }
    if len + ip.header_len() > interface.mtu() {
        return Err(DropReason::TooLong);
    }
    let mut frame = out.pool().alloc().ok_or(DropReason::NoFrame)?;
    let Some(body) = frame.push_back(len) else {
        out.pool().free(frame);
        return Err(DropReason::TooLong);
    };
    fill(body);
    if let Some(header) = frame.push_front(ip.header_len()) {
        ip.emit(len, header);
    }
    let kind = if ip.dst.is_ipv4() { EtherType::Ipv4 } else { EtherType::Ipv6 };
    link.push_header(&mut frame, interface.mac(), kind);
    out.send(frame);
    Ok(())
}

fn send_arp(
    interface: &Interface,
    link: Link,
    packet: &ArpRepr,
    out: &mut dyn Egress,
) -> Result<(), DropReason> {
    if out.room() == 0 {
        return Err(DropReason::RingFull);
    }
    let mut frame = out.pool().alloc().ok_or(DropReason::NoFrame)?;
    if let Some(body) = frame.push_back(arp::PACKET_LEN) {
        packet.emit(body);
    }
    link.push_header(&mut frame, interface.mac(), EtherType::Arp);
    out.send(frame);
    Ok(())
}

/// So many events a second, and no more.
struct RateLimit {
    per_second: u32,
    window_start: Instant,
    count: u32,
}

impl RateLimit {
    const fn new(per_second: u32) -> Self {
        Self { per_second, window_start: Instant::ZERO, count: 0 }
    }

    fn admit(&mut self, now: Instant) -> bool {
        if now.since(self.window_start) >= Duration::from_secs(1) {
            self.window_start = now;
            self.count = 0;
        }
        self.count += 1;
        self.count <= self.per_second
    }
}
