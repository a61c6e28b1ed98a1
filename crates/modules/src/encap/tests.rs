//! Headers in front, read back by the views of `wire` and byte by byte; tunnels there and back.
use super::*;
use crate::ParameterError;
use crate::mark::{MetadataSource, MetadataValue, SetMetadata};
use crate::rig::{Packet, Rig, ipv4_frame, naive_checksum, survives};
use tidegate_base::DropReason;
use tidegate_packet::SCRATCH_LEN;
use tidegate_pipeline::Module;
use tidegate_pipeline::metadata::{Attribute, Place};
use tidegate_wire::ipv4::Ipv4Header;
use tidegate_wire::udp::UdpHeader;
use tidegate_wire::{EtherType, EthernetHeader, Protocol};

const SRC: [u8; 4] = [192, 0, 2, 1];
const DST: [u8; 4] = [198, 51, 100, 2];
const ID: u32 = 0x00ab_cdef;

/// Places one behind the other, each at a multiple of eight.
fn places(attributes: &[Attribute]) -> Vec<Place> {
    (0..attributes.len()).map(|n| Place::At(n as u8 * 8)).collect()
}

fn scratch_of(values: &[&[u8]]) -> [u8; SCRATCH_LEN] {
    let mut scratch = [0xcc; SCRATCH_LEN];
    for (n, value) in values.iter().enumerate() {
        scratch[n * 8..n * 8 + value.len()].copy_from_slice(value);
    }
    scratch
}

fn packet(data: &[u8], scratch: [u8; SCRATCH_LEN]) -> Packet {
    Packet { gate: 0, data: data.to_vec(), scratch }
}

/// The tunnel's ends and number, for a module of the way in.
fn ends() -> [u8; SCRATCH_LEN] {
    scratch_of(&[&SRC, &DST, &ID.to_be_bytes()])
}

#[test]
fn attributes_have_the_names_and_sizes_of_bess() {
    let shown = |attributes: &[Attribute]| -> Vec<String> {
        attributes.iter().map(|it| format!("{} {} {:?}", it.name, it.size, it.access)).collect()
    };
    assert_eq!(
        shown(EtherEncap::new().attributes()),
        ["ether_src 6 Read", "ether_dst 6 Read", "ether_type 2 Read"]
    );
    assert_eq!(
        shown(IpEncap::new().attributes()),
        ["ip_src 4 Read", "ip_dst 4 Read", "ip_proto 1 Read", "ip_nexthop 4 Write", "ether_type 2 Write"]
    );
    assert_eq!(
        shown(VxlanEncap::new(VXLAN_PORT).unwrap().attributes()),
        [
            "tun_ip_src 4 Read",
            "tun_ip_dst 4 Read",
            "tun_id 4 Read",
            "ip_src 4 Write",
            "ip_dst 4 Write",
            "ip_proto 1 Write"
        ]
    );
    assert_eq!(
        shown(VxlanDecap::new().attributes()),
        ["tun_ip_src 4 Write", "tun_ip_dst 4 Write", "tun_id 4 Write", "ether_type 2 Write"]
    );
}

#[test]
fn ether_encap_puts_its_attributes_in_front() {
    let mut module = EtherEncap::new();
    let places = places(module.attributes());
    module.bind(&places);
    let scratch = scratch_of(&[&[1; 6], &[2; 6], &[8, 0]]);
    let out = Rig::new(module).pass_packets(&[packet(b"inside", scratch)]);
    assert_eq!(out[0].data, [&[2; 6][..], &[1; 6], &[8, 0], b"inside"].concat());
    assert_eq!(Rig::new(EtherEncap::new()).pass_one(b"x"), [&[0; 14][..], b"x"].concat(), "unbound: zeros");
}

#[test]
fn ip_encap_writes_a_whole_header_and_says_what_follows() {
    let mut module = IpEncap::new();
    let places = places(module.attributes());
    module.bind(&places);
    let out = Rig::new(module).pass_packets(&[packet(b"payload", scratch_of(&[&SRC, &DST, &[17]]))]);
    let (header, payload) = Ipv4Header::parse(&out[0].data).unwrap();
    assert_eq!(payload, b"payload");
    assert!(header.checksum_ok(&out[0].data));
    assert_eq!(header.repr().protocol, Protocol::Udp);
    assert_eq!(out[0].data[12..20], [SRC, DST].concat());
    assert_eq!(out[0].scratch[24..28], DST);
    assert_eq!(out[0].scratch[32..34], [8, 0]);
}

#[test]
fn generic_encap_composes_values_and_attributes() {
    let value = |size, value| EncapField { size, insertion: Insertion::Value(value) };
    let attribute = |size, name: &str| EncapField { size, insertion: Insertion::Attribute(name.into()) };
    let fields = [value(2, 0x0102), attribute(6, "a"), value(1, 9), attribute(8, "b"), attribute(3, "none")];
    let mut module = GenericEncap::new(&fields).unwrap();
    assert_eq!(module.attributes().len(), 3);
    module.bind(&[Place::At(0), Place::At(8), Place::Unwritten]);
    let scratch = scratch_of(&[&[0xa; 6], &[0xb; 8]]);
    let mut rig = Rig::new(module);
    let out = rig.pass_packets(&[packet(b"end", scratch)]);
    let expected = [&[1, 2][..], &[0xa; 6], &[9], &[0xb; 8], &[0; 3], b"end"].concat();
    assert_eq!(out[0].data, expected);

    assert_eq!(GenericEncap::new(&[]).err(), Some(ParameterError::Missing("fields")));
    assert!(matches!(GenericEncap::new(&[value(1, 256)]), Err(ParameterError::TooLarge { .. })));
    assert!(matches!(GenericEncap::new(&[value(9, 0)]), Err(ParameterError::OutOfRange { .. })));
    assert!(matches!(GenericEncap::new(&[attribute(33, "a")]), Err(ParameterError::OutOfRange { .. })));
    assert_eq!(GenericEncap::new(&[attribute(1, "")]).err(), Some(ParameterError::Nameless));
    let long: Vec<_> = (0..33).map(|_| value(8, 0)).collect();
    assert!(matches!(GenericEncap::new(&long), Err(ParameterError::OutOfRange { value: 264, .. })));
}

fn finds_no_headroom(module: impl Module) {
    let mut rig = Rig::without_headroom(module);
    assert_eq!(rig.pass(&vec![vec![1; 60]; 3]), []);
    assert_eq!(rig.drops(DropReason::TooLong), 3);
}

#[test]
fn headers_that_find_no_headroom_are_counted() {
    finds_no_headroom(EtherEncap::new());
    finds_no_headroom(IpEncap::new());
    finds_no_headroom(VxlanEncap::new(4789).unwrap());
    finds_no_headroom(GreEncap::new(GreParams::default()));
    finds_no_headroom(crate::header::VlanPush::new(1).unwrap());
    let longest: Vec<_> = (0..32).map(|n| EncapField { size: 8, insertion: Insertion::Value(n) }).collect();
    assert_eq!(Rig::new(GenericEncap::new(&longest).unwrap()).pass_one(b"x").len(), 257);
    finds_no_headroom(GenericEncap::new(&longest).unwrap());
}

#[test]
fn generic_decap_takes_bytes_and_drops_what_has_fewer() {
    let mut rig = Rig::new(GenericDecap::new(14).unwrap());
    assert_eq!(rig.pass(&[vec![1; 20], vec![2; 13], vec![3; 14]]), [(0, vec![1; 6]), (0, Vec::new())]);
    assert_eq!(rig.drops(DropReason::Malformed), 1);
    assert!(GenericDecap::new(0).is_err());
    assert!(GenericDecap::new(2049).is_err());
}

/// What a way in makes of `inner`, with the IPv4 and Ethernet headers that its attributes ask for in front, and padding
/// behind.
fn over_the_wire(encap: Box<dyn Fn() -> Packet>) -> Vec<u8> {
    let tunnelled = encap();
    let at = |n: usize, len: usize| &tunnelled.scratch[n * 8..n * 8 + len];
    let mut header = vec![0x45, 0];
    header.extend(((20 + tunnelled.data.len()) as u16).to_be_bytes());
    header.extend([0, 0, 0x40, 0, 64, at(5, 1)[0], 0, 0]);
    header.extend([at(3, 4), at(4, 4)].concat());
    let check = naive_checksum(&header).to_be_bytes();
    header[10..12].copy_from_slice(&check);
    [&[2; 12][..], &[8, 0], &header, &tunnelled.data, &[0; 3]].concat()
}

fn check_way_out(out: &Packet, inner: &[u8], id: u32, ether_type: u16) {
    assert_eq!(out.data, inner);
    assert_eq!([&out.scratch[..4], &out.scratch[8..12]], [SRC, DST]);
    assert_eq!(out.scratch[16..20], id.to_be_bytes());
    assert_eq!(out.scratch[24..26], ether_type.to_be_bytes());
}

macro_rules! bound {
    ($module:expr) => {{
        let mut module = $module;
        let places = places(module.attributes());
        module.bind(&places);
        module
    }};
}

fn through(module: impl Module, data: &[u8], scratch: [u8; SCRATCH_LEN]) -> Packet {
    let mut out = Rig::new(module).pass_packets(&[packet(data, scratch)]);
    assert_eq!(out.len(), 1);
    out.remove(0)
}

#[test]
fn vxlan_goes_there_and_back() {
    let inner = ipv4_frame(6, b"in a tunnel");
    let frame = inner.clone();
    let wire =
        over_the_wire(Box::new(move || through(bound!(VxlanEncap::new(4789).unwrap()), &frame, ends())));
    let (ethernet, packet) = EthernetHeader::parse(&wire).unwrap();
    assert_eq!(ethernet.ether_type(), EtherType::Ipv4);
    let (ip, datagram) = Ipv4Header::parse(packet).unwrap();
    let (udp, tunnelled) = UdpHeader::parse(datagram).unwrap();
    assert_eq!((ip.repr().protocol, udp.dst_port()), (Protocol::Udp, 4789));
    assert!(udp.src_port() >= 49_152);
    assert_eq!(tunnelled[..8], [8, 0, 0, 0, 0xab, 0xcd, 0xef, 0]);
    assert_eq!(tunnelled[8..], inner);
    check_way_out(&through(bound!(VxlanDecap::new()), &wire, [0; SCRATCH_LEN]), &inner, ID, 0x6558);
}

#[test]
fn tunnels_over_udp_keep_flows_on_one_port_and_spread_them() {
    let ports = |flow: u8| -> Vec<u16> {
        let mut inner = ipv4_frame(17, b"data");
        inner[35] = flow;
        let again = [&inner[..], b"more"].concat();
        let port = |data: &[u8]| {
            let out = through(bound!(VxlanEncap::new(4789).unwrap()), data, ends());
            u16::from_be_bytes([out.data[0], out.data[1]])
        };
        vec![port(&inner), port(&again)]
    };
    let all: Vec<_> = (0..20).map(ports).collect();
    assert!(all.iter().all(|pair| pair[0] == pair[1]));
    let mut firsts: Vec<_> = all.iter().map(|pair| pair[0]).collect();
    firsts.sort_unstable();
    firsts.dedup();
    assert!(firsts.len() >= 18, "{firsts:?}");
    assert!(VxlanEncap::new(0).is_err());
    assert!(GeneveEncap::new(65_536).is_err());
}

#[test]
fn geneve_goes_there_and_back() {
    let inner = ipv4_frame(17, b"in a tunnel");
    let frame = inner.clone();
    let wire =
        over_the_wire(Box::new(move || through(bound!(GeneveEncap::new(6081).unwrap()), &frame, ends())));
    assert_eq!(wire[42..50], [0, 0, 0x65, 0x58, 0xab, 0xcd, 0xef, 0]);
    check_way_out(&through(bound!(GeneveDecap::new()), &wire, [0; SCRATCH_LEN]), &inner, ID, 0x6558);

    // Two words of options: to be ignored, unless the header says that they are critical.
    let mut optioned = [&wire[..50], &[1, 2, 3, 1, 9, 9, 9, 9], &wire[50..]].concat();
    optioned[17] += 8;
    optioned[39] += 8;
    optioned[42] = 2;
    check_way_out(&through(bound!(GeneveDecap::new()), &optioned, [0; SCRATCH_LEN]), &inner, ID, 0x6558);
    for flag in [0x80, 0x40] {
        optioned[43] = flag;
        let mut rig = Rig::new(GeneveDecap::new());
        assert_eq!(rig.pass(&[optioned.clone()]), []);
        assert_eq!(rig.drops(DropReason::UnknownProtocol), 1);
    }
}

#[test]
fn gre_goes_there_and_back_with_and_without_key_and_checksum() {
    for (key, checksum) in [(false, false), (true, false), (false, true), (true, true)] {
        let inner = ipv4_frame(6, b"odd in a tunnel");
        let frame = inner.clone();
        let params = GreParams { key, checksum, protocol: 0x6558 };
        let wire = over_the_wire(Box::new(move || through(bound!(GreEncap::new(params)), &frame, ends())));
        let (_, payload) = Ipv4Header::parse(&wire[14..]).unwrap();
        assert_eq!(payload.len(), inner.len() + 4 + usize::from(key) * 4 + usize::from(checksum) * 4);
        assert!(!checksum || naive_checksum(payload) == 0);
        let id = if key { ID } else { 0 };
        check_way_out(&through(bound!(GreDecap::new()), &wire, [0; SCRATCH_LEN]), &inner, id, 0x6558);
        let mut damaged = wire.clone();
        damaged[60] ^= 1;
        assert_eq!(Rig::new(GreDecap::new()).pass(&[damaged]).len(), usize::from(!checksum));
    }
}

#[test]
fn gre_skips_sequence_numbers_and_refuses_what_is_old_or_new() {
    let gre = |head: &[u8]| {
        let mut header = vec![0x45, 0, 0, (20 + head.len() + 2) as u8, 0, 0, 0, 0, 64, 47, 0, 0];
        header.extend([SRC, DST].concat());
        [&[2; 12][..], &[8, 0], &header, head, b"in"].concat()
    };
    let sequenced = gre(&[0x30, 0, 8, 0, 0, 0, 0, 5, 0, 0, 0, 1]);
    check_way_out(&through(bound!(GreDecap::new()), &sequenced, [0; SCRATCH_LEN]), b"in", 5, 0x0800);
    let mut rig = Rig::new(GreDecap::new());
    for flags in [[0x40, 0], [0x08, 0], [0x04, 0], [0, 1]] {
        assert_eq!(rig.pass(&[gre(&[flags[0], flags[1], 8, 0])]), []);
    }
    assert_eq!(rig.pass(&[gre(&[0x20, 0, 8, 0])]), [], "the key is cut off");
    assert_eq!(rig.drops(DropReason::UnknownProtocol), 5);
}

#[test]
fn what_is_in_no_tunnel_is_dropped() {
    let mut rig = Rig::new(VxlanDecap::new());
    let mut no_flag = ipv4_frame(17, &[0; 20]);
    no_flag[42] = 0;
    let mut fragment = ipv4_frame(17, &[8; 20]);
    fragment[20] = 0x20;
    let cut = &ipv4_frame(17, &[8; 20])[..55];
    assert_eq!(rig.pass(&[no_flag, fragment, cut.to_vec(), ipv4_frame(6, &[8; 20])]), []);
    assert_eq!(rig.drops(DropReason::UnknownProtocol), 4);
}

/// ```text
///   source -> set_metadata -> vxlan_encap -> ip_encap -> ether_encap -> vxlan_decap -> collector
/// ```
#[test]
fn the_pipeline_lays_a_tunnels_attributes_out() {
    let fixed = |name: &str, value: &[u8]| MetadataValue {
        name: name.into(),
        size: value.len() as u64,
        source: MetadataSource::Bytes(value.to_vec()),
    };
    let set = SetMetadata::new(&[
        fixed("tun_ip_src", &SRC),
        fixed("tun_ip_dst", &DST),
        fixed("tun_id", &ID.to_be_bytes()),
        fixed("ether_src", &[2; 6]),
        fixed("ether_dst", &[4; 6]),
    ]);
    let row: Vec<Box<dyn Module>> = vec![
        Box::new(set.unwrap()),
        Box::new(VxlanEncap::new(4789).unwrap()),
        Box::new(IpEncap::new()),
        Box::new(EtherEncap::new()),
    ];
    let inner = ipv4_frame(6, b"in a tunnel");
    let wire = Rig::row(row).pass_one(&inner);
    assert_eq!(wire[..14], [&[4; 6][..], &[2; 6], &[8, 0]].concat());
    let (header, _) = Ipv4Header::parse(&wire[14..]).unwrap();
    assert!(header.checksum_ok(&wire[14..]));
    assert_eq!(wire[26..34], [SRC, DST].concat());
    assert_eq!(wire[46..50], id_of_wire());
    assert_eq!(wire[50..], inner);
    assert_eq!(Rig::row(vec![Box::new(VxlanDecap::new())]).pass_one(&wire), inner);
}

fn id_of_wire() -> [u8; 4] {
    (ID << 8).to_be_bytes()
}

#[test]
fn hostile_frames_stop_no_module() {
    survives(EtherEncap::new(), 0);
    survives(IpEncap::new(), 0);
    survives(GenericEncap::new(&[EncapField { size: 5, insertion: Insertion::Value(1) }]).unwrap(), 0);
    survives(GenericDecap::new(15).unwrap(), 0);
    survives(VxlanEncap::new(4789).unwrap(), 0);
    survives(bound!(VxlanDecap::new()), 0);
    survives(GeneveEncap::new(6081).unwrap(), 0);
    survives(bound!(GeneveDecap::new()), 0);
    survives(GreEncap::new(GreParams { key: true, checksum: true, protocol: 0x800 }), 0);
    survives(bound!(GreDecap::new()), 0);
}
