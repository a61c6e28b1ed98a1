//! For whom a frame is that came in: the end of a flow that it is addressed to, or that an ICMP error is about.
//!
//! The kernel asks the same of each frame before it hands it to anybody (`crates/bpf/src/xdp/parse.h`); a test of `bpf` compares
//! the two over any frames. Not a validator: what is checked is what a wrong end could come from, versions, lengths and
//! fragments. Checksums, addresses and flags are the stack's to look at.
//!
//! Invariant: no byte outside the frame, and none outside the length that the IP header states, decides anything.

use crate::egress::Transport;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// One end of a flow: that of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Destination {
    /// By what it was sent.
    pub transport: Transport,
    /// As it stands in the IP header: an IPv4-mapped IPv6 address is not an IPv4 one.
    pub address: IpAddr,
    /// In host byte order.
    pub port: u16,
}

impl Destination {
    /// The same port of every address of its IP version, which the unspecified one stands for.
    #[must_use]
    pub const fn any_address(self) -> Self {
        let address = match self.address {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        Self { address, ..self }
    }
}

/// VLAN tags that may be in front of an IP packet (IEEE 802.1Q, QinQ).
const TAG_COUNT_MAX: usize = 2;
/// Errors that quote the datagram that they are about (RFC 792, RFC 4443 2.1).
const ICMP_ERRORS: [u8; 3] = [3, 11, 12];
const ICMPV6_ERRORS: [u8; 4] = [1, 2, 3, 4];
const ICMP_LEN: usize = 8;

/// For whom `frame` is; `None` for what no tuple can be for: other protocols, fragments, what is cut or contradicts itself.
#[inline]
pub fn destination(frame: &[u8]) -> Option<Destination> {
    let mut at = 12;
    for _ in 0..TAG_COUNT_MAX {
        if !matches!(u16_at(frame, at)?, 0x8100 | 0x88a8) {
            break;
        }
        at += 4;
    }
    let packet = frame.get(at + 2..)?;
    match u16_at(frame, at)? {
        0x0800 => ipv4(packet),
        0x86dd => ipv6(packet),
        _ => None,
    }
}

/// RFC 791 section 3.1. Options are stepped over: the stack reads them.
fn ipv4(packet: &[u8]) -> Option<Destination> {
    let header = packet.first_chunk::<20>()?;
    let payload = ipv4_payload(header, packet, usize::from(u16_at(header, 2)?))?;
    if u16_at(header, 6)? & 0x3fff != 0 {
        return None;
    }
    match header[9] {
        1 => quoted_ipv4(icmp_quote(payload, &ICMP_ERRORS)?),
        protocol => transport(protocol, ipv4_at(header, 16), payload),
    }
}

/// What is behind the header of a datagram of `total_len` bytes.
fn ipv4_payload<'a>(header: &[u8; 20], packet: &'a [u8], total_len: usize) -> Option<&'a [u8]> {
    let header_len = usize::from(header[0] & 0xf) * 4;
    if header[0] >> 4 != 4 || header_len < 20 {
        return None;
    }
    packet.get(header_len..total_len)
}

/// RFC 8200 section 3. What has extension headers is the host's.
fn ipv6(packet: &[u8]) -> Option<Destination> {
    let (header, rest) = packet.split_first_chunk::<40>()?;
    let payload = rest.get(..usize::from(u16_at(header, 4)?)).filter(|_| header[0] >> 4 == 6)?;
    match header[6] {
        58 => quoted_ipv6(icmp_quote(payload, &ICMPV6_ERRORS)?),
        protocol => transport(protocol, ipv6_at(header, 24), payload),
    }
}

fn transport(protocol: u8, address: IpAddr, segment: &[u8]) -> Option<Destination> {
    let (transport, port) = match protocol {
        6 => {
            let header = segment.first_chunk::<20>()?;
            let header_len = usize::from(header[12] >> 4) * 4;
            (20..=segment.len()).contains(&header_len).then_some((Transport::Tcp, u16_at(header, 2)?))?
        }
        17 => {
            let header = segment.first_chunk::<8>()?;
            let len = usize::from(u16_at(header, 4)?);
            (8..=segment.len()).contains(&len).then_some((Transport::Udp, u16_at(header, 2)?))?
        }
        _ => return None,
    };
    Some(Destination { transport, address, port })
}

fn icmp_quote<'a>(message: &'a [u8], errors: &[u8]) -> Option<&'a [u8]> {
    let (header, quote) = message.split_first_chunk::<ICMP_LEN>()?;
    errors.contains(&header[0]).then_some(quote)
}

/// The sender of a quoted datagram, of which only the first fragment has ports.
fn quoted_ipv4(quote: &[u8]) -> Option<Destination> {
    let header = quote.first_chunk::<20>()?;
    let payload = ipv4_payload(header, quote, quote.len())?;
    if u16_at(header, 6)? & 0x1fff != 0 {
        return None;
    }
    quoted_ports(header[9], ipv4_at(header, 12), payload)
}

fn quoted_ipv6(quote: &[u8]) -> Option<Destination> {
    let (header, payload) = quote.split_first_chunk::<40>()?;
    if header[0] >> 4 != 6 {
        return None;
    }
    quoted_ports(header[6], ipv6_at(header, 8), payload)
}

/// RFC 792 and RFC 4443 2.4 quote at least the ports.
fn quoted_ports(protocol: u8, address: IpAddr, payload: &[u8]) -> Option<Destination> {
    let transport = match protocol {
        6 => Transport::Tcp,
        17 => Transport::Udp,
        _ => return None,
    };
    let ports = payload.first_chunk::<4>()?;
    Some(Destination { transport, address, port: u16_at(ports, 0)? })
}

#[inline]
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_be_bytes)
}

fn ipv4_at(header: &[u8; 20], at: usize) -> IpAddr {
    Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]).into()
}

fn ipv6_at(header: &[u8; 40], at: usize) -> IpAddr {
    let mut octets = [0; 16];
    octets.copy_from_slice(&header[at..at + 16]);
    Ipv6Addr::from(octets).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A datagram from 198.51.100.7 to 192.0.2.1 port 53.
    fn datagram() -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend([8, 0, 0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 198, 51, 100, 7, 192, 0, 2, 1]);
        frame.extend([0x9c, 0x40, 0, 53, 0, 12, 0, 0, 1, 2, 3, 4]);
        frame
    }

    fn at(address: [u8; 4], port: u16) -> Option<Destination> {
        Some(Destination { transport: Transport::Udp, address: address.into(), port })
    }

    #[test]
    fn a_datagram_is_for_its_destination_tagged_or_not() {
        let mut frame = datagram();
        assert_eq!(destination(&frame), at([192, 0, 2, 1], 53));
        for tag in [[0x81, 0, 0, 7], [0x88, 0xa8, 0, 8]] {
            frame.splice(12..12, tag);
            assert_eq!(destination(&frame), at([192, 0, 2, 1], 53));
        }
        frame.splice(12..12, [0x81, 0, 0, 9]);
        assert_eq!(destination(&frame), None);
    }

    #[test]
    fn an_error_is_for_whom_it_quotes() {
        let datagram = datagram();
        let mut frame = datagram[..14].to_vec();
        frame.extend([0x45, 0, 0, 60, 0, 0, 0, 0, 64, 1, 0, 0, 203, 0, 113, 1, 198, 51, 100, 7]);
        frame.extend([3, 3, 0, 0, 0, 0, 0, 0]);
        frame.extend(&datagram[14..]);
        assert_eq!(destination(&frame), at([198, 51, 100, 7], 0x9c40));
        // An echo quotes nobody.
        frame[34] = 8;
        assert_eq!(destination(&frame), None);
    }

    #[test]
    fn what_is_cut_is_for_nobody() {
        let frame = datagram();
        for len in 0..frame.len() {
            assert_eq!(destination(&frame[..len]), None, "{len} bytes");
        }
    }
}
