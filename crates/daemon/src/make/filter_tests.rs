//! Expressions against libpcap's own filter, on random frames.
use super::*;
use tidegate_base::Rng;

const EXPRESSIONS: [&str; 14] = [
    "",
    "ip",
    "ip6 or arp",
    "tcp port 80",
    "udp and src portrange 1000-2000",
    "host 10.0.0.1",
    "net 10.0.0.0/8 and not tcp",
    "ip6 host fd00::1",
    "ether host 02:00:00:00:00:01",
    "vlan 5 and icmp",
    "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
    "ip[0] & 0xf != 5 or (ip[6:2] & 0x1fff) != 0",
    "greater 100 and len % 7 = 3",
    "dst 10.0.0.2 or (mpls 9 and ip)",
];

fn frame(rng: &mut Rng) -> Vec<u8> {
    let mut data: Vec<u8> = (0..14 + rng.below(180)).map(|_| rng.next_u32() as u8).collect();
    let types: [[u8; 2]; 6] = [[8, 0], [8, 0], [0x86, 0xdd], [8, 6], [0x81, 0], [0x88, 0x47]];
    data[12..14].copy_from_slice(&types[rng.below(6) as usize]);
    for (at, bytes) in [
        (0, &[2, 0, 0, 0, 0, 1][..]),
        (14, &[0x45]),
        (20, &[0, 0]),
        (23, &[6]),
        (26, &[10, 0, 0, 1]),
        (30, &[10, 0, 0, 2]),
        (34, &[4, 0, 0, 80]),
    ] {
        if rng.chance(0.5)
            && let Some(place) = data.get_mut(at..at + bytes.len())
        {
            place.copy_from_slice(bytes);
        }
    }
    data
}

#[test]
fn frames_match_as_libpcap_has_it() {
    let mut rng = Rng::new(3);
    let frames: Vec<_> = (0..2000).map(|_| frame(&mut rng)).collect();
    for expression in EXPRESSIONS {
        let ours = compile(expression).unwrap();
        let theirs = Capture::dead(Linktype::ETHERNET).unwrap().compile(expression, true).unwrap();
        for frame in &frames {
            assert_eq!(ours.run(frame) != 0, theirs.filter(frame), "{expression}: {frame:02x?}");
        }
    }
}

#[test]
fn what_is_no_expression_is_refused_with_a_reason() {
    let why = |expression: &str| compile(expression).unwrap_err().to_string();
    assert!(why("tcp port").contains("syntax error"), "{}", why("tcp port"));
    assert!(why("nul\0").contains("nul"));
    assert!(why(&"(".repeat(5000)).contains("5000 bytes"));
    assert!(compile(&"(".repeat(4000)).is_err());
}

#[test]
fn filters_are_removed_all_or_none_and_told_again_in_their_order() {
    let filter = |priority, filter: &str, gate| bpf_arg::Filter { priority, filter: filter.into(), gate };
    let list = |filters: &[bpf_arg::Filter]| bess::BpfArg { filters: filters.to_vec() };
    let (arp, ip, tcp) = (filter(1, "arp", 1), filter(1, "ip", 2), filter(5, "tcp", 3));
    let mut module = Bpf::new(filters(list(&[arp.clone(), ip.clone(), tcp.clone()])).unwrap()).unwrap();
    let missing = delete(&mut module, &list(&[arp.clone(), filter(2, "ip", 2)])).unwrap_err();
    assert!(missing.text.contains("no filter `ip` of priority 2 to gate 2"), "{missing}");
    assert_eq!(bpf_record(&module), list(&[tcp.clone(), arp.clone(), ip.clone()]));
    delete(&mut module, &list(&[arp])).unwrap();
    assert_eq!(bpf_record(&module), list(&[tcp, ip]));
}
