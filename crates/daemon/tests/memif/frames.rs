//! Frames of a stack on the testbed's server, made by hand.

use std::path::Path;
use tidegate_testbed::Side;

pub(crate) const ETHERNET_LEN: usize = 14;

/// A datagram from the server's port to the client's, without a UDP checksum.
pub(crate) fn datagram(from: u16, to: u16, text: &[u8]) -> Vec<u8> {
    let mut frame = [Side::Client.mac(), Side::Server.mac()].concat();
    let udp_len = 8 + text.len() as u16;
    frame.extend([8, 0, 0x45, 0]);
    frame.extend((20 + udp_len).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    frame.extend(Side::Server.ipv4().octets());
    frame.extend(Side::Client.ipv4().octets());
    let sum = checksum(&frame[ETHERNET_LEN..]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    [from, to, udp_len, 0].into_iter().for_each(|field| frame.extend(field.to_be_bytes()));
    frame.extend(text);
    frame
}

/// The datagram that answers one over IPv4.
pub(crate) fn answer(question: &[u8], text: &str) -> Vec<u8> {
    let port = |at: usize| u16::from_be_bytes([question[at], question[at + 1]]);
    let mut frame = datagram(port(36), port(34), text.as_bytes());
    frame[..6].copy_from_slice(&question[6..12]);
    frame
}

fn checksum(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

/// The frames of the kernel's table of what stacks may send, moved to this NIC: good ones are of its owner's tuples TCP
/// 10.78.0.2:9000, UDP [fd78::2]:9053 and TCP 0.0.0.0:9100.
pub(crate) fn golden() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bpf/tests/egress");
    let paths = std::fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("an entry").path());
    paths.map(|path| moved(parse(&std::fs::read_to_string(path).expect("text")))).collect()
}

fn parse(text: &str) -> Vec<u8> {
    let lines = text.lines().filter(|line| !line.contains(['#', ':']));
    let bytes = lines.flat_map(str::split_whitespace).map(|byte| u8::from_str_radix(byte, 16));
    bytes.collect::<Result<_, _>>().expect("bytes in hexadecimal")
}

fn moved(mut frame: Vec<u8>) -> Vec<u8> {
    let v6 = |text: &str| text.parse::<std::net::Ipv6Addr>().expect("an address").octets();
    replace(&mut frame, 0, &[2, 0, 0, 0, 0, 1], &Side::Server.mac());
    replace(&mut frame, 0, &[2, 0, 0, 0, 0, 2], &Side::Client.mac());
    replace(&mut frame, 6, &[2, 0, 0, 0, 0, 1], &Side::Server.mac());
    replace(&mut frame, 26, &[192, 0, 2, 1], &Side::Server.ipv4().octets());
    replace(&mut frame, 22, &v6("2001:db8::1"), &Side::Server.ipv6().octets());
    frame
}

fn replace(frame: &mut [u8], at: usize, old: &[u8], new: &[u8]) {
    if let Some(place) = frame.get_mut(at..at + old.len()).filter(|place| *place == old) {
        place.copy_from_slice(new);
    }
}
