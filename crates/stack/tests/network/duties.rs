//! ARP, neighbour discovery, ping, closed ports, and frames that are nobody's.
use crate::cable::{CLIENT, CLIENT_MAC, End, SERVER, SERVER_MAC, stack};
use crate::service::{Peer, Side};
use std::net::{IpAddr, SocketAddr};
use tidegate_base::{DropReason, Instant, Sum};
use tidegate_packet::Batch;
use tidegate_stack::{Interface, Limits, Ownership, Secrets, Stack};
use tidegate_wire::arp::{ArpRepr, Operation};
use tidegate_wire::icmp::{self, IcmpMessage};
use tidegate_wire::{EtherType, EthernetHeader, FlowAddr, IpRepr, MacAddr, Protocol, udp};
use zerocopy::IntoBytes;

fn addr(text: &str) -> FlowAddr {
    text.parse::<IpAddr>().unwrap().into()
}

fn ethernet(dst: MacAddr, kind: EtherType, body: &[u8]) -> Vec<u8> {
    let mut frame = EthernetHeader::new(dst, CLIENT_MAC, kind).as_bytes().to_vec();
    frame.extend_from_slice(body);
    frame
}

fn packet(ip: &IpRepr, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; ip.header_len()];
    ip.emit(body.len(), &mut bytes);
    bytes.extend_from_slice(body);
    let kind = if ip.dst.is_ipv4() { EtherType::Ipv4 } else { EtherType::Ipv6 };
    ethernet(SERVER_MAC, kind, &bytes)
}

fn to_server(family: usize, protocol: Protocol) -> IpRepr {
    IpRepr { src: addr(CLIENT[family]), dst: addr(SERVER[family]), protocol, hop_limit: 255, ecn: 0 }
}

struct Host {
    stack: Stack<Peer>,
    end: End,
}

impl Host {
    fn new() -> Self {
        Self { stack: stack(SERVER_MAC, SERVER, Limits::default(), Side::Server), end: End::new() }
    }

    /// What it answers to one frame.
    fn answers(&mut self, frame: &[u8]) -> Vec<Vec<u8>> {
        let frame = self.end.frame(frame);
        self.stack.on_frame(Instant::from_millis(5), frame, &mut self.end);
        let sent = self.end.take_sent();
        assert_eq!(self.end.pool.free_count(), 512);
        sent
    }

    fn dropped(&mut self, frame: &[u8]) -> DropReason {
        let before = self.stack.drops().clone();
        assert!(self.answers(frame).is_empty());
        let counted: Vec<_> =
            self.stack.drops().iter().filter(|(reason, n)| *n > before.of(*reason)).collect();
        assert_eq!(counted.len(), 1, "one reason a packet: {counted:?}");
        counted[0].0
    }
}

fn arp_request(target: &str) -> Vec<u8> {
    let request = ArpRepr {
        operation: Operation::Request,
        sender_mac: CLIENT_MAC,
        sender_ip: CLIENT[0].parse().unwrap(),
        target_mac: MacAddr::default(),
        target_ip: target.parse().unwrap(),
    };
    let mut body = [0; 28];
    request.emit(&mut body);
    ethernet(MacAddr::BROADCAST, EtherType::Arp, &body)
}

#[test]
fn arp_for_our_address_is_answered() {
    let mut host = Host::new();
    let answers = host.answers(&arp_request(SERVER[0]));
    let reply = ArpRepr::parse(&answers[0][14..]).unwrap();
    assert_eq!(
        (reply.operation, reply.sender_mac, reply.target_mac),
        (Operation::Reply, SERVER_MAC, CLIENT_MAC)
    );
    assert_eq!(answers[0][..6], CLIENT_MAC.0);
    assert_eq!(host.dropped(&arp_request("10.77.0.9")), DropReason::NotOurAddress);
}

fn solicit(src: &str) -> Vec<u8> {
    let target = SERVER[1].parse().unwrap();
    let group = icmp::solicited_node(target);
    let ip = IpRepr { src: addr(src), dst: IpAddr::V6(group).into(), ..to_server(1, Protocol::Icmpv6) };
    let mut body = [0; icmp::NEIGHBOUR_LEN];
    icmp::emit_neighbour_solicit(&ip, target, CLIENT_MAC, &mut body);
    let mut frame = packet(&ip, &body);
    frame[..6].copy_from_slice(&MacAddr::of_ipv6_multicast(group).0);
    frame
}

#[test]
fn a_neighbour_solicitation_is_answered() {
    let answers = Host::new().answers(&solicit(CLIENT[1]));
    let (ip, body) = IpRepr::parse(&answers[0][14..]).unwrap();
    assert!(icmp::checksum_ok(&ip, body));
    assert_eq!(ip.dst, addr(CLIENT[1]));
    let target = SERVER[1].parse().unwrap();
    let advert = IcmpMessage::NeighbourAdvert { target, target_mac: Some(SERVER_MAC) };
    assert_eq!(icmp::parse(&ip, body), Ok(advert));
}

#[test]
fn who_probes_our_address_is_told_with_all_nodes() {
    let answers = Host::new().answers(&solicit("::"));
    let (ip, _) = IpRepr::parse(&answers[0][14..]).unwrap();
    assert_eq!(ip.dst, addr("ff02::1"));
    assert_eq!(answers[0][..6], [0x33, 0x33, 0, 0, 0, 1]);
}

fn echo(family: usize) -> Vec<u8> {
    let protocol = [Protocol::Icmp, Protocol::Icmpv6][family];
    let ip = to_server(family, protocol);
    let mut body = vec![[8, 128][family], 0, 0, 0, 0, 1, 0, 2];
    body.extend_from_slice(b"are you there?");
    let covered = if family == 0 { Sum::ZERO } else { ip.pseudo_header_sum(body.len()) };
    let checksum = (covered + Sum::of(&body)).finish();
    body[2..4].copy_from_slice(&checksum.to_be_bytes());
    packet(&ip, &body)
}

#[test]
fn ping_is_answered_over_both_families() {
    for family in 0..2 {
        let request = echo(family);
        let answers = Host::new().answers(&request);
        let (ip, body) = IpRepr::parse(&answers[0][14..]).unwrap();
        assert!(icmp::checksum_ok(&ip, body));
        assert_eq!(body[0], [0, 129][family]);
        assert_eq!(body[4..], IpRepr::parse(&request[14..]).unwrap().1[4..]);
    }
}

fn datagram(port: u16, data: &[u8]) -> Vec<u8> {
    datagram_over(0, port, data)
}

fn datagram_over(family: usize, port: u16, data: &[u8]) -> Vec<u8> {
    datagram_from(family, 5000, port, data)
}

fn datagram_from(family: usize, src_port: u16, port: u16, data: &[u8]) -> Vec<u8> {
    let ip = to_server(family, Protocol::Udp);
    let mut body = vec![0; 8];
    udp::UdpHeader::emit(&ip, src_port, port, data.len(), Sum::of(data), &mut body);
    body.extend_from_slice(data);
    packet(&ip, &body)
}

/// The payload of a datagram in a frame whose headers are `len` bytes, and its ports; the checksum holds.
fn payload(frame: &[u8], len: usize) -> (Vec<u8>, u16, u16) {
    let (ip, body) = IpRepr::parse(&frame[len..]).unwrap();
    let (header, data) = udp::UdpHeader::parse(body).unwrap();
    assert!(header.checksum_ok(&ip, body));
    (data.to_vec(), header.src_port(), header.dst_port())
}

#[test]
fn a_datagram_is_answered_in_its_frame_or_by_another_over_both_families() {
    for (family, port) in [(0, 7), (0, 8), (1, 7), (1, 8)] {
        let answers = Host::new().answers(&datagram_over(family, port, b"abc"));
        assert_eq!(payload(&answers[0], 14), (b"cba".to_vec(), port, 5000));
        assert_eq!(answers[0][..6], CLIENT_MAC.0);
    }
}

#[test]
fn an_answer_goes_back_under_the_vlan_tag_and_without_the_options_of_its_request() {
    let plain = datagram(7, b"abc");
    let mut frame = plain[..12].to_vec();
    frame.extend([0x81, 0, 0x20, 7]);
    frame.extend(&plain[12..14]);
    // Four bytes of "no operation" behind the fixed header.
    let mut header = plain[14..34].to_vec();
    (header[0], header[3]) = (0x46, header[3] + 4);
    header[10..12].fill(0);
    header.extend([1; 4]);
    let checksum = Sum::of(&header).finish();
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    frame.extend(header);
    frame.extend(&plain[34..]);
    let answers = Host::new().answers(&frame);
    assert_eq!(answers[0][12..16], [0x81, 0, 0x20, 7]);
    assert_eq!(payload(&answers[0], 18), (b"cba".to_vec(), 7, 5000));
}

#[test]
fn datagrams_of_a_batch_reach_the_service_together_and_32_at_most() {
    let mut host = Host::new();
    for len in [1, 5, 32] {
        let mut batch = Batch::new();
        for n in 0..len {
            let frame = host.end.frame(&datagram(7, &[n]));
            assert!(batch.push(frame).is_ok());
        }
        host.stack.on_batch(Instant::from_millis(5), &mut batch, &mut host.end);
        let answers = host.end.take_sent();
        let numbers: Vec<u8> = answers.iter().map(|frame| payload(frame, 14).0[0]).collect();
        assert_eq!(numbers, (0..len).collect::<Vec<_>>(), "in order");
    }
    assert_eq!(host.stack.service().bursts, [1, 5, 32]);
    assert_eq!(host.stack.counters().tx_datagram_count, 38);
}

#[test]
fn datagrams_beyond_the_transmit_rings_room_are_dropped_before_they_are_answered() {
    let mut host = Host::new();
    host.end.room = 3;
    let mut batch = Batch::new();
    for n in 0..5 {
        let frame = host.end.frame(&datagram(7, &[n]));
        assert!(batch.push(frame).is_ok());
    }
    host.stack.on_batch(Instant::from_millis(5), &mut batch, &mut host.end);
    assert_eq!(host.end.take_sent().len(), 3);
    assert_eq!(host.stack.service().bursts, [3]);
    assert_eq!(host.stack.drops().of(DropReason::RingFull), 2);
    assert_eq!(host.end.pool.free_count(), 512);
}

#[test]
fn an_answer_longer_than_the_mtu_allows_is_dropped() {
    for (family, len_max) in [(0u8, 1472u16), (1, 1452)] {
        let mut host = Host::new();
        let ask = |len: u16| datagram_over(family.into(), 10, &len.to_be_bytes());
        assert_eq!(payload(&host.answers(&ask(len_max))[0], 14).0.len(), usize::from(len_max));
        assert_eq!(host.dropped(&ask(len_max + 1)), DropReason::TooLong);
    }
}

#[test]
fn a_silent_service_sends_nothing_and_keeps_no_frame() {
    let mut host = Host::new();
    assert!(host.answers(&datagram(11, b"abc")).is_empty());
    assert_eq!(host.stack.drops().total(), 0);
}

#[test]
fn a_datagram_to_a_closed_port_draws_an_error_that_quotes_it() {
    let answers = Host::new().answers(&datagram(9, b"abc"));
    let (ip, body) = IpRepr::parse(&answers[0][14..]).unwrap();
    let Ok(IcmpMessage::Error { quote, .. }) = icmp::parse(&ip, body) else { panic!("not an error") };
    let flow = icmp::quoted_flow(quote).unwrap();
    assert_eq!((flow.src_port, flow.dst_port, flow.protocol), (5000, 9, Protocol::Udp));
}

#[test]
fn errors_are_limited_in_rate() {
    let mut host = Host::new();
    let sent: usize = (0..1500).map(|_| host.answers(&datagram(9, b"x")).len()).sum();
    assert_eq!(sent, 1000);
    assert_eq!(host.stack.drops().of(DropReason::RateLimited), 500);
}

/// A stack with ports of the kernel's addresses.
fn ports_only() -> Host {
    let interface = Interface::new(SERVER_MAC, crate::cable::addresses(SERVER), 1500, Ownership::Ports);
    let key = tidegate_base::HashKey::new([1; 16]);
    let secrets = Secrets { isn: key, cookie: key, flow: 1 };
    let (limits, service) = (Limits::default(), Peer::new(Side::Server));
    let stack = Stack::new(Instant::ZERO, interface, Default::default(), limits, &secrets, service);
    Host { stack, end: End::new() }
}

#[test]
fn a_stack_that_owns_ports_only_leaves_the_hosts_duties_alone() {
    let mut host = ports_only();
    assert!(host.answers(&arp_request(SERVER[0])).is_empty());
    assert!(host.answers(&echo(0)).is_empty());
    assert!(host.answers(&solicit(CLIENT[1])).is_empty());
    assert!(host.answers(&datagram(9, b"x")).is_empty());
}

#[test]
fn a_stack_that_owns_ports_only_names_whom_the_kernel_is_to_be_asked_for() {
    let Host { mut stack, mut end } = ports_only();
    let [local, remote] = [SERVER[0], CLIENT[0]].map(|ip| SocketAddr::new(ip.parse().unwrap(), 9));
    let mut send = |stack: &mut Stack<Peer>| {
        let sent = stack.send_datagram(local, remote, None, b"x", &mut end);
        (sent, end.take_sent())
    };
    let unknown = (Err(DropReason::NoNeighbour), Vec::new());
    assert_eq!(send(&mut stack), unknown, "the link is not asked");
    assert_eq!(send(&mut stack), unknown);
    assert!(stack.has_unresolved());
    assert_eq!(stack.poll_unresolved(), Some(remote.ip()));
    assert_eq!(stack.poll_unresolved(), None);
    stack.set_neighbour(remote.ip(), CLIENT_MAC);
    let (sent, frames) = send(&mut stack);
    assert_eq!((sent, &frames[0][..6]), (Ok(()), &CLIENT_MAC.0[..]));
    stack.forget_neighbour(remote.ip());
    assert_eq!(send(&mut stack), unknown);
}

#[test]
fn each_packet_that_is_not_served_has_its_reason() {
    let mut host = Host::new();
    let good = datagram(7, b"abc");
    let changed = |at: usize, to: u8| {
        let mut frame = good.clone();
        frame[at] = to;
        frame
    };
    assert_eq!(host.dropped(&good[..10]), DropReason::Malformed);
    assert_eq!(host.dropped(&good[..20]), DropReason::Malformed);
    assert_eq!(host.dropped(&changed(0, 4)), DropReason::NotOurMac);
    assert_eq!(host.dropped(&changed(13, 0x42)), DropReason::UnknownProtocol);
    assert_eq!(host.dropped(&changed(24, 0)), DropReason::BadChecksum);
    assert_eq!(host.dropped(&changed(43, b'z')), DropReason::BadChecksum);
    let elsewhere = IpRepr { dst: addr("10.77.0.77"), ..to_server(0, Protocol::Udp) };
    assert_eq!(host.dropped(&packet(&elsewhere, &[0; 8])), DropReason::NotOurAddress);
    let martian = IpRepr { src: addr("255.255.255.255"), ..to_server(0, Protocol::Udp) };
    assert_eq!(host.dropped(&packet(&martian, &[0; 8])), DropReason::MartianSource);
    assert_eq!(host.dropped(&datagram_from(0, 0, 7, b"abc")), DropReason::MartianSource);
    let strange = to_server(0, Protocol::Other(99));
    assert_eq!(host.dropped(&packet(&strange, &[0; 8])), DropReason::UnknownProtocol);
}
