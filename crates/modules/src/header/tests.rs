//! Each module on real packets, read back by the views of `wire` or computed again the plain way, and on hostile ones.
use super::*;
use crate::ParameterError;
use crate::rig::{Rig, hostile_frames, ipv4_frame, naive_checksum, survives};
use tidegate_base::{DropReason, Rng};
use tidegate_wire::ipv4::Ipv4Header;
use tidegate_wire::tcp::TcpPacket;
use tidegate_wire::udp::UdpHeader;
use tidegate_wire::{EtherType, EthernetHeader};

fn random_bytes(rng: &mut Rng, len_max: u64) -> Vec<u8> {
    (0..rng.below(len_max)).map(|_| rng.next_u32() as u8).collect()
}

/// `frame` with tags in front of its EtherType, the outer first.
fn tagged(frame: &[u8], tags: &[[u8; 4]]) -> Vec<u8> {
    [&frame[..12], tags.as_flattened(), &frame[12..]].concat()
}

#[test]
fn mac_swap_sends_frames_back() {
    let frame = ipv4_frame(17, b"hello");
    let mut rig = Rig::new(MacSwap);
    let out = rig.pass_one(&frame);
    let (was, is) = (EthernetHeader::parse(&frame).unwrap(), EthernetHeader::parse(&out).unwrap());
    assert_eq!((is.0.src, is.0.dst, is.1), (was.0.dst, was.0.src, was.1));
    let odd: Vec<u8> = (0..12).collect();
    assert_eq!(rig.pass_one(&odd), [6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5]);
    assert_eq!(rig.pass_one(&odd[..11]), odd[..11]);
}

#[test]
fn ip_swap_sends_packets_back_with_checksums_that_hold() {
    let mut rig = Rig::new(IpSwap);
    let mut verify = Rig::new(L4Checksum::new(true));
    for protocol in [6, 17] {
        for tags in [&[][..], &[[0x81, 0, 0, 5]], &[[0x88, 0xa8, 0, 7], [0x81, 0, 0, 5]]] {
            let frame = tagged(&ipv4_frame(protocol, b"ping"), tags);
            let out = rig.pass_one(&frame);
            let start = 14 + tags.len() * 4;
            let (header, payload) = Ipv4Header::parse(&out[start..]).unwrap();
            assert!(header.checksum_ok(&out[start..]));
            assert_eq!(out[start + 12..start + 20], [10, 0, 0, 2, 10, 0, 0, 1]);
            assert_eq!(payload[..4], [0x08, 0xae, 0x04, 0x57]);
            assert_eq!(verify.pass_one(&out), out);
            assert_eq!(rig.pass_one(&out), frame, "twice is as before");
        }
    }
}

#[test]
fn ip_swap_knows_ipv6_and_leaves_what_has_no_ports() {
    let mut v6 = vec![0; 14 + 40 + 8];
    v6[12..14].copy_from_slice(&[0x86, 0xdd]);
    (v6[14], v6[19], v6[20]) = (0x60, 8, 17);
    (22..62).for_each(|n| v6[n] = n as u8);
    let out = Rig::new(IpSwap).pass_one(&v6);
    assert_eq!([&out[22..38], &out[38..54]], [&v6[38..54], &v6[22..38]]);
    assert_eq!([&out[54..56], &out[56..58], &out[58..]], [&v6[56..58], &v6[54..56], &v6[58..]]);

    let mut fragment = ipv4_frame(17, b"second piece");
    fragment[21] = 4;
    let out = Rig::new(IpSwap).pass_one(&fragment);
    assert_eq!(out[34..], fragment[34..]);
    assert_eq!(out[26..34], [10, 0, 0, 2, 10, 0, 0, 1]);
}

#[test]
fn vlan_tags_are_pushed_and_popped() {
    let frame = ipv4_frame(17, b"data");
    let mut push = Rig::new(VlanPush::new(0x2005).unwrap());
    let mut pop = Rig::new(VlanPop);
    let once = push.pass_one(&frame);
    assert_eq!(once, tagged(&frame, &[[0x81, 0, 0x20, 0x05]]));
    assert_eq!(EthernetHeader::parse(&once).unwrap().0.ether_type(), EtherType::Vlan);
    push.module::<VlanPush>().set_tci(9).unwrap();
    let twice = push.pass_one(&once);
    assert_eq!(twice, tagged(&frame, &[[0x88, 0xa8, 0, 9], [0x81, 0, 0x20, 0x05]]));
    assert_eq!(pop.pass_one(&twice), once);
    assert_eq!(pop.pass_one(&once), frame);
    assert_eq!(pop.pass_one(&frame), frame);
    assert!(push.pass(&[vec![1; 13]]).is_empty());
    assert_eq!(push.drops(DropReason::Malformed), 1);
    let text = VlanPush::new(0x1_0000).err().unwrap().to_string();
    assert_eq!(text, "a tag's control information is 65536: give 0 to 65535");
}

fn labelled(frame: &[u8], labels: &[[u8; 4]]) -> Vec<u8> {
    [&frame[..12], &[0x88, 0x47], labels.as_flattened(), &frame[14..]].concat()
}

#[test]
fn mpls_labels_are_popped() {
    let frame = ipv4_frame(17, b"data");
    let last = labelled(&frame, &[[0, 1, 1, 64]]);
    let inner = labelled(&frame, &[[0, 2, 0, 64], [0, 1, 1, 64]]);
    let mut rig = Rig::new(MplsPop::new(MplsPopParams::default()).unwrap());
    assert_eq!(rig.pass_one(&last), frame);
    assert_eq!(rig.pass_one(&inner), last);
    assert_eq!(rig.pass(std::slice::from_ref(&frame)), [(1, frame.clone())]);
    rig.module::<MplsPop>().set(MplsPopParams { remove_eth_header: true, next_ether_type: 0 }).unwrap();
    assert_eq!(rig.pass_one(&last), frame[14..]);
    assert_eq!(rig.pass(std::slice::from_ref(&inner)), [(1, inner)]);
    assert!(MplsPop::new(MplsPopParams { remove_eth_header: false, next_ether_type: 0x1_0000 }).is_err());
}

#[test]
fn update_writes_fields_in_their_order() {
    let fields = [
        UpdateField { offset: 0, size: 6, value: 0x0102_0304_0506 },
        UpdateField { offset: 4, size: 1, value: 0xff },
        UpdateField { offset: 20, size: 8, value: u64::MAX },
    ];
    let mut rig = Rig::new(Update::new(&fields).unwrap());
    assert_eq!(rig.pass_one(&[0; 24])[..8], [1, 2, 3, 4, 0xff, 6, 0, 0]);
    assert_eq!(rig.pass_one(&[0; 28])[20..], [0xff; 8]);
    assert_eq!(rig.pass_one(&[7; 5]), [7, 7, 7, 7, 0xff], "what does not fit is left out");
    rig.module::<Update>().clear();
    assert_eq!(rig.pass_one(&[0; 24]), [0; 24]);
    let wrong = UpdateField { offset: 2, size: 2, value: 0x1_0000 };
    assert!(rig.module::<Update>().add(&[fields[0], wrong]).is_err());
    assert_eq!(rig.pass_one(&[0; 24]), [0; 24], "all of them or none");
}

#[test]
fn update_is_bytes_copied_one_by_one() {
    let mut rng = Rng::new(5);
    for _ in 0..100 {
        let fields: Vec<UpdateField> = (0..rng.below(5))
            .map(|_| {
                let size = 1 + rng.below(8);
                UpdateField { offset: rng.below(80), size, value: rng.next_u64() >> (64 - 8 * size) }
            })
            .collect();
        let frame = random_bytes(&mut rng, 100);
        let mut expected = frame.clone();
        for UpdateField { offset, size, value } in &fields {
            if let Some(bytes) = expected.get_mut(*offset as usize..(offset + size) as usize) {
                bytes.copy_from_slice(&value.to_be_bytes()[8 - *size as usize..]);
            }
        }
        assert_eq!(Rig::new(Update::new(&fields).unwrap()).pass_one(&frame), expected);
    }
}

#[test]
fn random_update_stays_in_its_bounds_and_reaches_all_of_them() {
    let field = RandomField { offset: 30, size: 2, min: 1000, max: 1003 };
    let mut rig = Rig::new(RandomUpdate::new(&[field], 3).unwrap());
    let out = rig.pass(&vec![vec![0; 60]; 4000]);
    let mut seen = [0; 4];
    for (_, data) in &out {
        seen[usize::from(u16::from_be_bytes([data[30], data[31]])) - 1000] += 1;
        assert!(data[..30].iter().chain(&data[32..]).all(|byte| *byte == 0));
    }
    assert!(seen.iter().all(|count| (900..1100).contains(count)), "{seen:?}");
    let again = Rig::new(RandomUpdate::new(&[field], 3).unwrap()).pass(&vec![vec![0; 60]; 4000]);
    assert_eq!(again, out, "the same seed gives the same");
}

#[test]
fn random_update_takes_the_whole_range_and_refuses_none() {
    let whole = RandomField { offset: 0, size: 8, min: 0, max: u64::MAX };
    let out = Rig::new(RandomUpdate::new(&[whole], 1).unwrap()).pass(&vec![vec![0; 8]; 64]);
    assert!((0..64).all(|bit| out.iter().any(|(_, data)| data[bit / 8] >> (bit % 8) & 1 == 1)));
    let wrong = |field| RandomUpdate::new(&[field], 1).err().unwrap();
    assert_eq!(
        wrong(RandomField { offset: 0, size: 1, min: 5, max: 4 }),
        ParameterError::EmptyRange { min: 5, max: 4 }
    );
    assert!(matches!(
        wrong(RandomField { offset: 0, size: 1, min: 0, max: 256 }),
        ParameterError::TooLarge { .. }
    ));
}

#[test]
fn rewrite_puts_templates_in_turn() {
    let templates: Vec<Vec<u8>> = [60, 1, 64, 65, 1536].map(|len| vec![len as u8; len]).into();
    let mut rig = Rig::new(Rewrite::new(&templates).unwrap());
    let out = rig.pass(&vec![vec![9; 100]; 12]);
    let expected: Vec<_> = templates.iter().cycle().take(12).map(|bytes| (0, bytes.clone())).collect();
    assert_eq!(out, expected);
    rig.module::<Rewrite>().clear();
    assert_eq!(rig.pass_one(b"as it was"), b"as it was");
    rig.module::<Rewrite>().add(&templates[..1]).unwrap();
    assert_eq!(rig.pass(&vec![Vec::new(); 40]), vec![(0, vec![60; 60]); 40]);
    assert!(matches!(Rewrite::new(&[Vec::new()]), Err(ParameterError::OutOfRange { value: 0, .. })));
    assert!(matches!(Rewrite::new(&[vec![0; 1537]]), Err(ParameterError::OutOfRange { value: 1537, .. })));
}

#[test]
fn update_ttl_counts_down_and_drops_what_has_expired() {
    let mut rig = Rig::new(UpdateTtl::default());
    let mut frame = ipv4_frame(17, b"data");
    for ttl in (1..64).rev() {
        frame = rig.pass_one(&frame);
        assert_eq!(frame[22], ttl);
        let mut header = frame[14..34].to_vec();
        header[10..12].fill(0);
        assert_eq!(frame[24..26], naive_checksum(&header).to_be_bytes());
    }
    assert!(rig.pass(&[frame.clone()]).is_empty());
    frame[22] = 0;
    assert!(rig.pass(&[frame]).is_empty());
    assert_eq!((rig.drops(DropReason::Policy), rig.counter("expired")), (2, 2));
    assert_eq!(rig.pass_one(&[8; 33]), [8; 33]);
}

#[test]
fn ip_checksums_are_computed_and_verified() {
    let mut rng = Rng::new(11);
    let (mut compute, mut verify) = (Rig::new(IpChecksum::new(false)), Rig::new(IpChecksum::new(true)));
    for words in 5..=15 {
        for _ in 0..50 {
            let mut frame = random_bytes(&mut rng, 50);
            frame.splice(0..0, (0..14 + words * 4).map(|_| rng.next_u32() as u8));
            frame[12..15].copy_from_slice(&[8, 0, 0x40 | words as u8]);
            let end = 14 + words * 4;
            let mut header = frame[14..end].to_vec();
            header[10..12].fill(0);
            let check = naive_checksum(&header);
            let was_right = frame[24..26] == check.to_be_bytes();
            assert_eq!(verify.pass(&[frame.clone()])[0].0, usize::from(!was_right));
            frame[24..26].copy_from_slice(&[[0, 0], [0xff, 0xff], [1, 2]][rng.below(3) as usize]);
            let out = compute.pass_one(&frame);
            frame[24..26].copy_from_slice(&check.to_be_bytes());
            assert_eq!(out, frame);
            assert_eq!(verify.pass_one(&out), out);
        }
    }
}

#[test]
fn l4_checksums_are_computed_and_verified() {
    let mut rng = Rng::new(12);
    let (mut compute, mut verify) = (Rig::new(L4Checksum::new(false)), Rig::new(L4Checksum::new(true)));
    for round in 0..200 {
        let protocol = if round % 2 == 0 { 6 } else { 17 };
        let good = ipv4_frame(protocol, &random_bytes(&mut rng, 300));
        let (header, segment) = Ipv4Header::parse(&good[14..]).unwrap();
        let is_good = match protocol {
            6 => TcpPacket::parse(segment).unwrap().checksum_ok(&header.repr()),
            _ => UdpHeader::parse(segment).unwrap().0.checksum_ok(&header.repr(), segment),
        };
        assert!(is_good);
        assert_eq!(verify.pass_one(&good), good);
        let padded = [&good[..], &[0xee; 7]].concat();
        assert_eq!(verify.pass_one(&padded), padded, "padding is not covered");

        let mut damaged = good.clone();
        let at = 34 + rng.below(good.len() as u64 - 34) as usize;
        damaged[at] ^= 1 << rng.below(8);
        let udp_len_or_none = protocol == 17 && (38..42).contains(&at);
        assert!(udp_len_or_none || verify.pass(&[damaged])[0].0 == 1);

        let mut blank = good.clone();
        let check = if protocol == 6 { 50 } else { 40 };
        blank[check..check + 2].copy_from_slice(&[(round % 3) as u8; 2]);
        assert_eq!(compute.pass_one(&blank), good);
    }
}

#[test]
fn udp_without_a_checksum_is_good_over_ipv4_only() {
    let mut rig = Rig::new(L4Checksum::new(true));
    let mut v4 = ipv4_frame(17, b"data");
    v4[40..42].fill(0);
    assert_eq!(rig.pass_one(&v4), v4);
    let mut v6 = vec![0; 14 + 40 + 8];
    v6[12..14].copy_from_slice(&[0x86, 0xdd]);
    (v6[14], v6[19], v6[20], v6[59]) = (0x60, 8, 17, 8);
    assert_eq!(rig.pass(&[v6.clone()])[0].0, 1);
    let sealed = Rig::new(L4Checksum::new(false)).pass_one(&v6);
    assert_eq!(rig.pass_one(&sealed), sealed);
    assert_eq!(rig.counter("bad"), 1);
    let cut = &ipv4_frame(6, b"cut off behind this")[..50];
    assert_eq!(rig.pass(&[cut.to_vec()])[0].0, 1);
    assert_eq!(Rig::new(L4Checksum::new(false)).pass_one(cut), cut);
}

#[test]
fn hostile_frames_stop_no_module() {
    survives(MacSwap, 0);
    survives(IpSwap, 0);
    survives(VlanPush::new(5).unwrap(), 0);
    survives(VlanPop, 0);
    for remove_eth_header in [false, true] {
        survives(MplsPop::new(MplsPopParams { remove_eth_header, next_ether_type: 0 }).unwrap(), 0);
    }
    survives(Update::new(&[UpdateField { offset: 13, size: 3, value: 7 }]).unwrap(), 0);
    survives(RandomUpdate::new(&[RandomField { offset: 2, size: 4, min: 0, max: 9 }], 1).unwrap(), 0);
    survives(Rewrite::new(&[vec![1; 60], vec![2; 200]]).unwrap(), 0);
    survives(UpdateTtl::default(), 0);
    for verify in [false, true] {
        survives(IpChecksum::new(verify), 0);
        survives(L4Checksum::new(verify), 0);
    }
}

#[test]
fn what_is_computed_on_hostile_frames_verifies() {
    let frames = hostile_frames(99, 1000);
    let (mut compute, mut verify) = (Rig::new(IpChecksum::new(false)), Rig::new(IpChecksum::new(true)));
    let computed: Vec<_> = compute.pass(&frames).into_iter().map(|(_, data)| data).collect();
    assert!(verify.pass(&computed).iter().all(|(gate, _)| *gate == 0));
}
