//! Round trips, refusals of short and contradictory headers, and a second opinion by smoltcp.
use crate::ip::{FlowAddr, IpRepr, Protocol};
use crate::*;
use core::net::IpAddr;
use proptest::prelude::*;
use tidegate_base::{SeqNumber, Sum};

fn addr(text: &str) -> FlowAddr {
    text.parse::<IpAddr>().unwrap().into()
}

fn ip(src: &str, dst: &str, protocol: Protocol) -> IpRepr {
    IpRepr { src: addr(src), dst: addr(dst), protocol, hop_limit: 64, ecn: 0 }
}

fn families() -> [IpRepr; 2] {
    [ip("10.77.0.1", "10.77.0.2", Protocol::Tcp), ip("fd77::1", "fd77::2", Protocol::Tcp)]
}

prop_compose! {
    fn options()(mss in proptest::option::of(any::<u16>()), window_scale in proptest::option::of(0u8..15),
        sack_permitted: bool, ts in proptest::option::of(any::<(u32, u32)>()),
        blocks in proptest::collection::vec(any::<(u32, u32)>(), 0..2)) -> TcpOptions {
        let mut sack = SackBlocks::NONE;
        for (start, end) in blocks {
            sack.push(SackBlock { start: SeqNumber(start), end: SeqNumber(end) });
        }
        let timestamps = ts.map(|(value, echo)| Timestamps { value, echo });
        TcpOptions { mss, window_scale, sack_permitted, timestamps, sack }
    }
}

fn segment(ip: &IpRepr, repr: &TcpRepr, payload: &[u8]) -> Vec<u8> {
    let head = repr.header_len();
    let mut bytes = vec![0; head];
    repr.emit(ip.pseudo_header_sum(head + payload.len()) + Sum::of(payload), &mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

proptest! {
    #[test]
    fn tcp_round_trip(options in options(), seq: u32, ack: u32, flags: u8, window: u16,
                      payload in proptest::collection::vec(any::<u8>(), 0..64)) {
        let repr = TcpRepr { src_port: 80, dst_port: 40000, seq: SeqNumber(seq), ack: SeqNumber(ack),
            flags: TcpFlags(flags), window, options };
        prop_assume!(repr.options.len() <= tcp::OPTIONS_LEN_MAX);
        for ip in families() {
            let bytes = segment(&ip, &repr, &payload);
            let packet = TcpPacket::parse(&bytes).unwrap();
            prop_assert!(packet.checksum_ok(&ip));
            prop_assert_eq!(packet.repr(), repr);
            prop_assert_eq!(packet.payload(), &payload[..]);
        }
    }

    #[test]
    fn smoltcp_reads_our_segments(options in options(), seq: u32, payload in proptest::collection::vec(any::<u8>(), 0..64)) {
        use smoltcp::wire as other;
        let repr = TcpRepr { src_port: 80, dst_port: 40000, seq: SeqNumber(seq), ack: SeqNumber(7),
            flags: TcpFlags::ACK.with(TcpFlags::PSH), window: 1000, options };
        prop_assume!(repr.options.len() <= tcp::OPTIONS_LEN_MAX);
        let bytes = segment(&families()[0], &repr, &payload);
        let packet = other::TcpPacket::new_checked(&bytes[..]).unwrap();
        let (src, dst) = (other::IpAddress::v4(10, 77, 0, 1), other::IpAddress::v4(10, 77, 0, 2));
        prop_assert!(packet.verify_checksum(&src, &dst));
        prop_assert_eq!(packet.seq_number().0 as u32, seq);
        prop_assert_eq!(packet.payload(), &payload[..]);
    }

    #[test]
    fn no_bytes_make_a_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        let _ = EthernetHeader::parse(&bytes);
        let _ = arp::ArpRepr::parse(&bytes);
        let _ = icmp::quoted_flow(&bytes);
        for ip in families() {
            let _ = TcpPacket::parse(&bytes).map(|p| (p.repr(), p.checksum_ok(&ip)));
            let _ = udp::UdpHeader::parse(&bytes).map(|(u, _)| u.checksum_ok(&ip, &bytes));
            for protocol in [Protocol::Icmp, Protocol::Icmpv6] {
                let _ = icmp::parse(&IpRepr { protocol, hop_limit: 255, ..ip }, &bytes);
            }
        }
        let _ = IpRepr::parse(&bytes);
    }

    #[test]
    fn ip_round_trip(payload in proptest::collection::vec(any::<u8>(), 0..64), pad in 0usize..9, ecn in 0u8..4) {
        for ip in families() {
            let ip = IpRepr { ecn, ..ip };
            let mut bytes = vec![0; ip.header_len()];
            ip.emit(payload.len(), &mut bytes);
            bytes.extend_from_slice(&payload);
            bytes.extend(std::iter::repeat_n(0xee, pad));
            let (read, body) = IpRepr::parse(&bytes).unwrap();
            prop_assert_eq!(read, ip);
            prop_assert_eq!(body, &payload[..]);
        }
    }
}

#[test]
fn pseudo_header_sum_is_the_sum_of_its_bytes() {
    let [v4, v6] = families();
    let v4_bytes = [10, 77, 0, 1, 10, 77, 0, 2, 0, 6, 0, 99];
    assert_eq!(v4.pseudo_header_sum(99).fold(), Sum::of(&v4_bytes).fold());
    let mut v6_bytes = Vec::new();
    v6_bytes.extend_from_slice(&v6.src.bits().to_be_bytes());
    v6_bytes.extend_from_slice(&v6.dst.bits().to_be_bytes());
    v6_bytes.extend_from_slice(&[0, 0, 0, 99, 0, 0, 0, 6]);
    assert_eq!(v6.pseudo_header_sum(99).fold(), Sum::of(&v6_bytes).fold());
}

#[test]
fn short_total_length_is_malformed() {
    let mut bytes = vec![0; 20];
    families()[0].emit(0, &mut bytes);
    bytes[3] = 19;
    assert_eq!(IpRepr::parse(&bytes).err(), Some(WireError::Malformed));
    bytes[3] = 21;
    assert_eq!(IpRepr::parse(&bytes).err(), Some(WireError::Truncated));
}

#[test]
fn a_fragment_is_refused() {
    let mut bytes = vec![0; 20];
    families()[0].emit(0, &mut bytes);
    bytes[6] = 0x20;
    assert_eq!(IpRepr::parse(&bytes).err(), Some(WireError::Fragment));
}

#[test]
fn an_option_of_length_zero_ends_the_options() {
    let options = TcpOptions::parse(&[8, 0, 2, 4, 5, 180, 0, 0]);
    assert_eq!(options, TcpOptions::NONE);
}

#[test]
fn a_window_scale_above_fourteen_counts_as_fourteen() {
    assert_eq!(TcpOptions::parse(&[1, 3, 3, 200]).window_scale, Some(14));
}

#[test]
fn neighbour_solicit_round_trip() {
    let (mac, target) = (MacAddr([2, 0, 0, 0, 0, 1]), "fd77::2".parse().unwrap());
    let ip = IpRepr { hop_limit: 255, ..ip("fd77::1", "ff02::1:ff00:2", Protocol::Icmpv6) };
    let mut bytes = [0; icmp::NEIGHBOUR_LEN];
    icmp::emit_neighbour_solicit(&ip, target, mac, &mut bytes);
    assert!(icmp::checksum_ok(&ip, &bytes));
    let expected = icmp::IcmpMessage::NeighbourSolicit { target, source_mac: Some(mac) };
    assert_eq!(icmp::parse(&ip, &bytes), Ok(expected));
    let forwarded = IpRepr { hop_limit: 254, ..ip };
    assert_eq!(icmp::parse(&forwarded, &bytes), Ok(icmp::IcmpMessage::Other));
    assert_eq!(icmp::solicited_node(target), "ff02::1:ff00:2".parse::<core::net::Ipv6Addr>().unwrap());
}

#[test]
fn an_error_names_the_flow_it_quotes() {
    for ip in families() {
        let mut quote = vec![0; ip.header_len()];
        ip.emit(1400, &mut quote);
        quote.extend_from_slice(&[0, 80, 0x9c, 0x40, 0, 0, 0, 9]);
        let flow = icmp::quoted_flow(&quote).unwrap();
        assert_eq!((flow.src, flow.src_port, flow.dst_port, flow.seq), (ip.src, 80, 40000, 9));
        assert!(icmp::quoted_flow(&quote[..quote.len() - 1]).is_none());
    }
}
