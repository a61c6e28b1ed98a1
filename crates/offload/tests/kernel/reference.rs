//! What becomes of a frame, written to be read: what the programs are compared with, together with the model of the rules.

use std::net::{IpAddr, SocketAddr};

use tidegate_base::Sum;
use tidegate_bpf::OffloadOutcome;
use tidegate_offload::REQUEST_LEN_MAX;
use tidegate_offload::lookup::Verdict;

/// Where frames come in.
pub(crate) struct Nic {
    pub(crate) mac: [u8; 6],
    pub(crate) mtu: usize,
    pub(crate) services: Vec<SocketAddr>,
}

/// What becomes of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is for no service.
    Foreign,
    /// It goes to the server as it is.
    Passed(OffloadOutcome),
    /// It becomes this reply.
    Answered(Vec<u8>),
}

use Outcome::{Foreign, Passed};

/// A UDP datagram and where its headers are.
struct Parsed<'a> {
    /// The network header's place.
    network: usize,
    tag_count: usize,
    source: IpAddr,
    destination: SocketAddr,
    header: &'a [u8],
    udp: &'a [u8],
}

impl Nic {
    /// Looks at a frame; `serve` decides about requests.
    pub(crate) fn look(&self, frame: &[u8], serve: impl FnOnce(&[u8]) -> Verdict) -> Outcome {
        let Some(parsed) = parse(frame) else { return Foreign };
        // A service takes IPv4-mapped addresses for IPv4 ones, which they are not on the wire.
        let is_mapped = parsed.destination.ip().to_canonical() != parsed.destination.ip();
        if is_mapped || !self.services.contains(&parsed.destination) {
            return Foreign;
        }
        if let Some(outcome) = self.refusal(frame, &parsed) {
            return Passed(outcome);
        }
        let request = &parsed.udp[8..];
        let verdict = serve(request);
        let is_intact = is_intact(&parsed);
        match verdict {
            Verdict::Pass => Passed(OffloadOutcome::Miss),
            _ if !is_intact => Passed(OffloadOutcome::Checksum),
            Verdict::Invalidate { .. } => Passed(OffloadOutcome::Invalidated),
            Verdict::Answer { reply, .. } if parsed.header.len() + 8 + reply.len() > self.mtu => {
                Passed(OffloadOutcome::Mtu)
            }
            Verdict::Answer { reply, .. } => Outcome::Answered(answer(frame, &parsed, &reply)),
        }
    }

    /// Whether a rule may be asked at all about a frame: where one is, invalid datagrams must not reach it.
    pub(crate) fn is_sound(&self, frame: &[u8]) -> bool {
        parse(frame).is_some_and(|parsed| is_intact(&parsed))
    }

    fn refusal(&self, frame: &[u8], parsed: &Parsed<'_>) -> Option<OffloadOutcome> {
        let has_options = parsed.source.is_ipv4() && parsed.header.len() != 20;
        let source_port = u16_at(parsed.udp, 0);
        if parsed.tag_count > 1 || has_options {
            return Some(OffloadOutcome::Headers);
        }
        if usize::from(u16_at(parsed.udp, 4)) != parsed.udp.len() {
            return Some(OffloadOutcome::Length);
        }
        if !is_peer(parsed.source) || parsed.source == parsed.destination.ip() || source_port == 0 {
            return Some(OffloadOutcome::Address);
        }
        if parsed.source.is_ipv4() && !Sum::of(parsed.header).is_valid() {
            return Some(OffloadOutcome::Checksum);
        }
        if frame[..6] != self.mac {
            return Some(OffloadOutcome::Address);
        }
        (parsed.udp.len() > 8 + REQUEST_LEN_MAX).then_some(OffloadOutcome::TooLong)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// `None`: nothing that the programs find a UDP port in.
fn parse(frame: &[u8]) -> Option<Parsed<'_>> {
    let mut at = 12;
    let mut tag_count = 0;
    while tag_count < 2 && matches!(frame.get(at..at + 2)?, [0x81, 0x00] | [0x88, 0xa8]) {
        tag_count += 1;
        at += 4;
    }
    let (ethertype, packet) = (frame.get(at..at + 2)?, &frame[at + 2..]);
    let (source, destination, header_len, len) = match ethertype {
        [0x08, 0x00] => {
            let header_len = usize::from(packet.first()? & 15) * 4;
            let is_whole = packet.len() >= 20 && packet[0] >> 4 == 4 && header_len >= 20;
            if !is_whole || u16_at(packet, 6) & 0x3fff != 0 || packet[9] != 17 {
                return None;
            }
            let address =
                |at: usize| IpAddr::from(<[u8; 4]>::try_from(&packet[at..at + 4]).expect("four bytes"));
            (address(12), address(16), header_len, usize::from(u16_at(packet, 2)))
        }
        [0x86, 0xdd] => {
            if packet.len() < 40 || packet[0] >> 4 != 6 || packet[6] != 17 {
                return None;
            }
            let address =
                |at: usize| IpAddr::from(<[u8; 16]>::try_from(&packet[at..at + 16]).expect("16 bytes"));
            (address(8), address(24), 40, 40 + usize::from(u16_at(packet, 4)))
        }
        _ => return None,
    };
    let (header, udp) = packet.get(..len)?.split_at_checked(header_len)?;
    let stated = udp.get(4..6).map(|len| usize::from(u16_at(len, 0)))?;
    if udp.len() < 8 || stated < 8 || stated > udp.len() {
        return None;
    }
    let destination = SocketAddr::new(destination, u16_at(udp, 2));
    Some(Parsed { network: at + 2, tag_count, source, destination, header, udp })
}

/// RFC 6890 2.2.2, RFC 4291 2.5 and 2.7: who may be answered.
fn is_peer(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [first, ..] = address.octets();
            !matches!(first, 0 | 127 | 224..)
        }
        IpAddr::V6(address) => {
            let is_one_host = !address.is_unspecified() && !address.is_loopback() && !address.is_multicast();
            is_one_host && address.to_ipv4_mapped().is_none()
        }
    }
}

fn pseudo_header(parsed: &Parsed<'_>, udp_len: usize) -> Sum {
    let addresses = match parsed.source {
        IpAddr::V4(_) => &parsed.header[12..20],
        IpAddr::V6(_) => &parsed.header[8..40],
    };
    Sum::of(addresses) + Sum::of_u16(17) + Sum::of_u16(udp_len as u16)
}

fn is_intact(parsed: &Parsed<'_>) -> bool {
    match u16_at(parsed.udp, 6) {
        0 => parsed.source.is_ipv4(),
        _ => (pseudo_header(parsed, parsed.udp.len()) + Sum::of(parsed.udp)).is_valid(),
    }
}

fn answer(frame: &[u8], parsed: &Parsed<'_>, reply: &[u8]) -> Vec<u8> {
    let udp_len = 8 + reply.len();
    let mut udp: Vec<u8> =
        [&parsed.udp[2..4], &parsed.udp[..2], &(udp_len as u16).to_be_bytes(), &[0; 2]].concat();
    udp.extend(reply);
    let check = (pseudo_header(parsed, udp_len) + Sum::of(&udp)).finish_udp();
    udp[6..8].copy_from_slice(&check.to_be_bytes());

    let header = match parsed.source {
        IpAddr::V4(_) => ipv4_header(parsed, udp_len),
        IpAddr::V6(_) => {
            let mut header = vec![0x60, 0, 0, 0, 0, 0, 17, 64];
            header[4..6].copy_from_slice(&(udp_len as u16).to_be_bytes());
            header.extend(&parsed.header[24..40]);
            header.extend(&parsed.header[8..24]);
            header
        }
    };
    let mut answer = [&frame[6..12], &frame[..6], &frame[12..parsed.network], &header, &udp].concat();
    if frame.len() >= 60 && answer.len() < 60 {
        answer.resize(60, 0);
    }
    answer
}

fn ipv4_header(parsed: &Parsed<'_>, udp_len: usize) -> Vec<u8> {
    let native = |bytes: &[u8], at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
    let id = native(parsed.header, 4).wrapping_add(native(parsed.udp, 6));
    let total_len = (20 + udp_len) as u16;
    let mut header =
        [&[0x45, 0][..], &total_len.to_be_bytes(), &id.to_ne_bytes(), &[0, 0, 64, 17, 0, 0]].concat();
    header.extend(&parsed.header[16..20]);
    header.extend(&parsed.header[12..16]);
    let check = Sum::of(&header).finish();
    header[10..12].copy_from_slice(&check.to_be_bytes());
    header
}
