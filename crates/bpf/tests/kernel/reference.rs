//! The program's rules once more, written to be read and not to be fast: what the differential tests compare
//! the kernel's answer with, and `tidegate_wire::ingress`, by which frames find stacks behind memif.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tidegate_bpf::{Protocol, Reason, Steering, Tuple};
use tidegate_wire::egress::Transport;
use tidegate_wire::ingress::{self, destination};

/// The registered tuples.
pub(crate) type Registered = HashMap<Tuple, Steering>;

/// Where a frame is for, or why nobody but the host can want it.
enum Destination {
    Tuple(Tuple),
    Quoted(Tuple),
    Host(Reason),
}

use Destination::Host;

impl Destination {
    /// The same as `tidegate_wire::ingress` has it, for stacks behind memif.
    fn end(&self) -> Option<ingress::Destination> {
        let (Self::Tuple(tuple) | Self::Quoted(tuple)) = self else { return None };
        let transport = match tuple.protocol {
            Protocol::Tcp => Transport::Tcp,
            Protocol::Udp => Transport::Udp,
        };
        Some(ingress::Destination { transport, address: tuple.address, port: tuple.port })
    }
}

/// What must become of `frame` on a device that the host shares, with a live socket on the queue.
pub(crate) fn classify(frame: &[u8], registered: &Registered) -> Reason {
    let found = ethernet(frame);
    assert_eq!(found.end(), destination(frame), "{frame:02x?}");
    match found {
        Host(reason) => reason,
        Destination::Tuple(tuple) => {
            steer(tuple, registered, Reason::Tuple, Reason::Wildcard, Reason::Unregistered)
        }
        Destination::Quoted(tuple) => {
            steer(tuple, registered, Reason::IcmpQuote, Reason::IcmpQuote, Reason::IcmpUnrelated)
        }
    }
}

fn steer(tuple: Tuple, registered: &Registered, exact: Reason, wildcard: Reason, neither: Reason) -> Reason {
    let any = match tuple.address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // A tuple takes IPv4-mapped addresses for IPv4 ones, which they are not on the wire.
    let mapped = tuple.address.to_canonical() != tuple.address;
    let found = registered.get(&tuple).filter(|_| !mapped).map(|steering| (steering, exact));
    let found = found
        .or_else(|| registered.get(&Tuple { address: any, ..tuple }).map(|steering| (steering, wildcard)));
    match found {
        None => neither,
        Some((Steering::Host, _)) => Reason::Exempt,
        Some((Steering::Socket, reason)) => reason,
        Some((Steering::SlotSocket { .. }, _)) => Reason::SlotSocket,
        Some((Steering::Device { .. }, _)) => Reason::Device,
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn ethernet(frame: &[u8]) -> Destination {
    let mut at = 12;
    for tag_count in 0.. {
        let Some(ethertype) = u16_at(frame, at) else { return Host(Reason::MalformedEthernet) };
        at += 2;
        match ethertype {
            0x8100 | 0x88a8 if tag_count < 2 => at += 2,
            0x0800 => return ipv4(&frame[at..]),
            0x86dd => return ipv6(&frame[at..]),
            _ => break,
        }
    }
    Host(Reason::NotIp)
}

/// The header and the payload of an IPv4 datagram whose header is whole and states possible lengths.
/// `total` overrides the length that the header states, for quotes, which are shorter.
fn split_ipv4(packet: &[u8], total: Option<usize>) -> Option<(&[u8], &[u8])> {
    let header_len = usize::from(packet.first()? & 0xf) * 4;
    let total = total.or_else(|| u16_at(packet, 2).map(usize::from))?;
    if packet[0] >> 4 != 4 || header_len < 20 || packet.len() < 20 || total < header_len {
        return None;
    }
    packet.get(..total).map(|datagram| datagram.split_at(header_len))
}

fn ipv4(packet: &[u8]) -> Destination {
    let Some((header, payload)) = split_ipv4(packet, None) else { return Host(Reason::MalformedIpv4) };
    if u16_at(header, 6).is_none_or(|fragment| fragment & 0x3fff != 0) {
        return Host(Reason::Fragment);
    }
    let address = IpAddr::from([header[16], header[17], header[18], header[19]]);
    match header[9] {
        1 => icmp(payload, &[3, 11, 12], quoted_ipv4),
        protocol => transport(protocol, address, payload),
    }
}

fn ipv6(packet: &[u8]) -> Destination {
    let Some((header, rest)) = packet.split_at_checked(40) else { return Host(Reason::MalformedIpv6) };
    let payload = u16_at(header, 4).and_then(|len| rest.get(..len.into()));
    let Some(payload) = payload.filter(|_| header[0] >> 4 == 6) else { return Host(Reason::MalformedIpv6) };
    match header[6] {
        58 => icmp(payload, &[1, 2, 3, 4], quoted_ipv6),
        44 => Host(Reason::Fragment),
        0 | 43 | 50 | 51 | 60 | 135 | 139 | 140 => Host(Reason::Ipv6Extension),
        protocol => transport(protocol, ipv6_address(&header[24..40]), payload),
    }
}

fn ipv6_address(bytes: &[u8]) -> IpAddr {
    IpAddr::from(<[u8; 16]>::try_from(bytes).expect("an address has 16 bytes"))
}

fn transport(protocol: u8, address: IpAddr, segment: &[u8]) -> Destination {
    let port = u16_at(segment, 2);
    match protocol {
        6 => match (port, segment.get(12).map(|offset| usize::from(offset >> 4) * 4)) {
            (Some(port), Some(header_len)) if header_len >= 20 && header_len <= segment.len() => {
                Destination::Tuple(Tuple::tcp(address, port))
            }
            _ => Host(Reason::MalformedTcp),
        },
        17 => match (port, u16_at(segment, 4).map(usize::from)) {
            (Some(port), Some(len)) if segment.len() >= 8 && len >= 8 && len <= segment.len() => {
                Destination::Tuple(Tuple::udp(address, port))
            }
            _ => Host(Reason::MalformedUdp),
        },
        _ => Host(Reason::OtherProtocol),
    }
}

fn icmp(message: &[u8], errors: &[u8], quoted: fn(&[u8]) -> Option<Destination>) -> Destination {
    let malformed = Host(Reason::MalformedIcmp);
    match message.split_at_checked(8) {
        None => malformed,
        Some((header, _)) if !errors.contains(&header[0]) => Host(Reason::IcmpUnrelated),
        Some((_, quote)) => quoted(quote).unwrap_or(malformed),
    }
}

fn quoted_ipv4(quote: &[u8]) -> Option<Destination> {
    let (header, payload) = split_ipv4(quote, Some(quote.len()))?;
    if u16_at(header, 6)? & 0x1fff != 0 {
        return Some(Host(Reason::IcmpUnrelated));
    }
    quoted_ports(header[9], IpAddr::from([header[12], header[13], header[14], header[15]]), payload)
}

fn quoted_ipv6(quote: &[u8]) -> Option<Destination> {
    let (header, payload) = quote.split_at_checked(40)?;
    if header[0] >> 4 != 6 {
        return None;
    }
    quoted_ports(header[6], ipv6_address(&header[8..24]), payload)
}

fn quoted_ports(protocol: u8, address: IpAddr, payload: &[u8]) -> Option<Destination> {
    let protocol = match protocol {
        6 => Protocol::Tcp,
        17 => Protocol::Udp,
        _ => return Some(Host(Reason::IcmpUnrelated)),
    };
    let port = u16_at(payload.get(..4)?, 0)?;
    Some(Destination::Quoted(Tuple { protocol, address, port }))
}
