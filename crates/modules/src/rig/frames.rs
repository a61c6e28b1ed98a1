//! Frames for tests: right ones, and such as nobody should send.

use tidegate_base::{Rng, Sum};

/// Frames that no well-behaved station sends: random bytes, and packets with lengths, versions and types that lie.
pub(crate) fn hostile_frames(seed: u64, count: usize) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(seed);
    (0..count).map(|_| hostile_frame(&mut rng)).collect()
}

fn hostile_frame(rng: &mut Rng) -> Vec<u8> {
    let len = if rng.chance(0.3) { rng.below(20) } else { rng.below(200) } as usize;
    let mut data: Vec<u8> = (0..len).map(|_| rng.next_u32() as u8).collect();
    let mut put = |offset: usize, choices: &[&[u8]], rng: &mut Rng| {
        let choice = choices[rng.below(choices.len() as u64) as usize];
        if rng.chance(0.8)
            && let Some(bytes) = data.get_mut(offset..offset + choice.len())
        {
            bytes.copy_from_slice(choice);
        }
    };
    put(12, &[&[8, 0], &[8, 6], &[0x86, 0xdd], &[0x81, 0], &[0x88, 0xa8], &[0x88, 0x47]], rng);
    let mut start = 14;
    while rng.chance(0.2) {
        start += 4;
        put(start - 2, &[&[8, 0], &[0x86, 0xdd], &[0x81, 0]], rng);
    }
    put(start, &[&[0x45], &[0x46], &[0x4f], &[0x44], &[0x60], &[0x55]], rng);
    put(start + 2, &[&[0, 20], &[0, 0], &[0, 60], &[0, 100], &[0xff, 0xff]], rng);
    put(start + 6, &[&[0, 0], &[0x40, 0], &[0x20, 0], &[0, 9]], rng);
    put(start + 8, &[&[0], &[1], &[64]], rng);
    put(start + 9, &[&[6], &[17], &[47], &[1]], rng);
    put(start + 20, &[&[0, 0, 0x65, 0x58], &[0xb0, 0, 8, 0], &[0x12, 0xb5, 0x12, 0xb5]], rng);
    put(start + 24, &[&[0, 8], &[0, 0], &[0, 40], &[0xff, 0xff]], rng);
    put(start + 28, &[&[8, 0, 0, 0], &[0, 0, 0x65, 0x58], &[0x3f, 0, 0x65, 0x58]], rng);
    data
}

/// The checksum of RFC 1071, word by word.
pub(crate) fn naive_checksum(bytes: &[u8]) -> u16 {
    let words =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low)));
    let sum = words.fold(0, |sum: u32, word| {
        let sum = sum + word;
        (sum & 0xffff) + (sum >> 16)
    });
    !(sum as u16)
}

/// An Ethernet frame with an IPv4 packet, both checksums right: UDP or TCP from 10.0.0.1 port 1111 to 10.0.0.2 port 2222.
pub(crate) fn ipv4_frame(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut segment = vec![0x04, 0x57, 0x08, 0xae];
    if protocol == 6 {
        segment.extend([0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 0x20, 0, 0, 0, 0, 0]);
    } else {
        segment.extend(((8 + payload.len()) as u16).to_be_bytes());
        segment.extend([0, 0]);
    }
    segment.extend(payload);
    let check_at = if protocol == 6 { 16 } else { 6 };
    let mut covered = vec![10, 0, 0, 1, 10, 0, 0, 2, 0, protocol];
    covered.extend((segment.len() as u16).to_be_bytes());
    covered.extend(&segment);
    segment[check_at..check_at + 2].copy_from_slice(&naive_checksum(&covered).to_be_bytes());

    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    let mut header = vec![0x45, 0];
    header.extend(((20 + segment.len()) as u16).to_be_bytes());
    header.extend([0x12, 0x34, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    let check = naive_checksum(&header).to_be_bytes();
    header[10..12].copy_from_slice(&check);
    frame.extend(header);
    frame.extend(segment);
    frame
}

/// Noise, or `model` cut off and damaged.
pub(super) fn garbage(rng: &mut Rng, model: &[u8]) -> Vec<u8> {
    if rng.chance(0.3) {
        return (0..rng.below(120)).map(|_| rng.next_u32() as u8).collect();
    }
    let mut frame = model.to_vec();
    frame.truncate(rng.below(model.len() as u64 + 1) as usize);
    for _ in 0..rng.below(4) {
        let at = rng.below(frame.len() as u64) as usize;
        if let Some(byte) = frame.get_mut(at) {
            *byte = rng.next_u32() as u8;
        }
    }
    frame
}

/// An Ethernet frame with an IPv4 packet whose checksums are right: TCP (with these flags), UDP or an ICMP echo whose
/// identifier is the source port.
pub(crate) fn packet(protocol: u8, src: (u32, u16), dst: (u32, u16), flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut segment = match protocol {
        6 => [
            &src.1.to_be_bytes()[..],
            &dst.1.to_be_bytes(),
            &[0, 0, 0, 1, 0, 0, 0, 2, 0x50, flags, 0x20, 0, 0, 0, 0, 0],
        ]
        .concat(),
        17 => [
            &src.1.to_be_bytes()[..],
            &dst.1.to_be_bytes(),
            &(8 + payload.len() as u16).to_be_bytes(),
            &[0, 0],
        ]
        .concat(),
        _ => [&[flags, 0, 0, 0][..], &src.1.to_be_bytes(), &[0, 7]].concat(),
    };
    segment.extend(payload);
    let pseudo = Sum::of_u32(src.0) + Sum::of_u32(dst.0) + Sum::of_u16(protocol.into());
    let pseudo = pseudo + Sum::of_u16(segment.len() as u16);
    let (at, sum) = match protocol {
        6 => (16, (pseudo + Sum::of(&segment)).finish()),
        17 => (6, (pseudo + Sum::of(&segment)).finish_udp()),
        _ => (2, Sum::of(&segment).finish()),
    };
    segment[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    let mut ip =
        [&[0x45, 0][..], &(20 + segment.len() as u16).to_be_bytes(), &[0, 9, 0x40, 0, 64, protocol, 0, 0]]
            .concat();
    ip.extend(src.0.to_be_bytes());
    ip.extend(dst.0.to_be_bytes());
    let sum = Sum::of(&ip).finish();
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0][..], &ip, &segment].concat()
}

/// Whether both checksums of such a frame hold.
pub(crate) fn checksums_hold(frame: &[u8]) -> bool {
    let (ip, segment) = frame[14..].split_at(20);
    let pseudo = Sum::of(&ip[12..20]) + Sum::of_u16(ip[9].into()) + Sum::of_u16(segment.len() as u16);
    let covered = if ip[9] == 1 { Sum::of(segment) } else { pseudo + Sum::of(segment) };
    let is_without = ip[9] == 17 && segment[6..8] == [0, 0];
    Sum::of(ip).is_valid() && (is_without || covered.is_valid())
}
