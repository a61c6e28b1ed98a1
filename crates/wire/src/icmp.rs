//! ICMP (RFC 792, RFC 1191), ICMPv6 (RFC 4443) and the two neighbour discovery messages that a host
//! answers and sends (RFC 4861).

use crate::ip::{FlowAddr, IpRepr, Protocol};
use crate::{MacAddr, WireError, split};
use core::net::{IpAddr, Ipv6Addr};
use tidegate_base::Sum;

/// Bytes before the body of any ICMP message.
pub const HEADER_LEN: usize = 8;
/// Bytes of a neighbour solicitation or advertisement with its link-layer address option.
pub const NEIGHBOUR_LEN: usize = 32;

/// An ICMP or ICMPv6 message, by what a host does with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IcmpMessage<'a> {
    /// An echo request: identifier and sequence number as they stand, and the data.
    EchoRequest {
        /// Identifier and sequence number.
        ident_seq: [u8; 4],
        /// What is to be sent back.
        data: &'a [u8],
    },
    /// Something that we sent did not arrive.
    Error {
        /// What went wrong.
        error: IcmpError,
        /// The start of the packet that caused it, IP header first.
        quote: &'a [u8],
    },
    /// Who has this address? (ICMPv6)
    NeighbourSolicit {
        /// The address asked for.
        target: Ipv6Addr,
        /// Who asks, by link address; absent in duplicate address detection.
        source_mac: Option<MacAddr>,
    },
    /// I have this address. (ICMPv6)
    NeighbourAdvert {
        /// The address.
        target: Ipv6Addr,
        /// Its link address.
        target_mac: Option<MacAddr>,
    },
    /// Anything else.
    Other,
}

/// What an ICMP error says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IcmpError {
    /// The packet was too big for a link whose MTU this is (zero: an old router did not say).
    PacketTooBig {
        /// The next hop's MTU.
        mtu: u32,
    },
    /// No such port or protocol there: a hard error, but soft for TCP (RFC 5927).
    PortUnreachable,
    /// Everything else: host or network unreachable, time exceeded.
    Unreachable,
}

/// Reads the message that fills `bytes`, the payload of `ip`. The checksum is not checked here.
pub fn parse<'a>(ip: &IpRepr, bytes: &'a [u8]) -> Result<IcmpMessage<'a>, WireError> {
    let (header, body) = split(bytes, HEADER_LEN)?;
    let (kind, code) = (header[0], header[1]);
    let word = [header[4], header[5], header[6], header[7]];
    Ok(match ip.protocol {
        Protocol::Icmp => parse_v4(kind, code, word, body),
        Protocol::Icmpv6 => parse_v6(ip, kind, code, word, body),
        _ => IcmpMessage::Other,
    })
}

fn parse_v4(kind: u8, code: u8, word: [u8; 4], body: &[u8]) -> IcmpMessage<'_> {
    let error = match (kind, code) {
        (8, 0) => return IcmpMessage::EchoRequest { ident_seq: word, data: body },
        // RFC 1191 section 4: the MTU is the low half of the second word.
        (3, 4) => IcmpError::PacketTooBig { mtu: u16::from_be_bytes([word[2], word[3]]).into() },
        (3, 2 | 3) => IcmpError::PortUnreachable,
        (3 | 11, _) => IcmpError::Unreachable,
        _ => return IcmpMessage::Other,
    };
    IcmpMessage::Error { error, quote: body }
}

fn parse_v6<'a>(ip: &IpRepr, kind: u8, code: u8, word: [u8; 4], body: &'a [u8]) -> IcmpMessage<'a> {
    let error = match (kind, code) {
        (128, 0) => return IcmpMessage::EchoRequest { ident_seq: word, data: body },
        (135, 0) => return parse_neighbour(ip, body, 1, true),
        (136, 0) => return parse_neighbour(ip, body, 2, false),
        (2, _) => IcmpError::PacketTooBig { mtu: u32::from_be_bytes(word) },
        (1, 4) => IcmpError::PortUnreachable,
        (1 | 3, _) => IcmpError::Unreachable,
        _ => return IcmpMessage::Other,
    };
    IcmpMessage::Error { error, quote: body }
}

fn parse_neighbour<'a>(ip: &IpRepr, body: &'a [u8], mac_option: u8, solicit: bool) -> IcmpMessage<'a> {
    let Some((target, options)) = body.split_first_chunk::<16>() else { return IcmpMessage::Other };
    // RFC 4861 section 7.1: a hop limit below 255 means that a router forwarded it.
    if ip.hop_limit != 255 {
        return IcmpMessage::Other;
    }
    let target = Ipv6Addr::from(*target);
    let mac = link_layer_option(options, mac_option);
    if solicit {
        IcmpMessage::NeighbourSolicit { target, source_mac: mac }
    } else {
        IcmpMessage::NeighbourAdvert { target, target_mac: mac }
    }
}

/// The link-layer address in the first option of type `kind` (RFC 4861 section 4.6.1).
fn link_layer_option(mut options: &[u8], kind: u8) -> Option<MacAddr> {
    while let [this, units, ..] = *options {
        let (option, rest) = options.split_at_checked(usize::from(units) * 8)?;
        if this == kind && option.len() == 8 {
            return option[2..].first_chunk().map(|mac| MacAddr(*mac));
        }
        // A length of zero would loop for ever (RFC 4861 section 4.6).
        if units == 0 {
            return None;
        }
        options = rest;
    }
    None
}

/// Whether the checksum of the message that fills `bytes` holds; ICMPv6's covers a pseudo header.
pub fn checksum_ok(ip: &IpRepr, bytes: &[u8]) -> bool {
    (covered(ip, bytes.len()) + Sum::of(bytes)).is_valid()
}

fn covered(ip: &IpRepr, len: usize) -> Sum {
    if ip.dst.is_ipv4() { Sum::ZERO } else { ip.pseudo_header_sum(len) }
}

fn seal(ip: &IpRepr, message: &mut [u8]) {
    message[2..4].fill(0);
    let checksum = (covered(ip, message.len()) + Sum::of(message)).finish();
    message[2..4].copy_from_slice(&checksum.to_be_bytes());
}

/// Makes the echo request that fills `message` the reply to it, to go out under `ip`.
pub fn make_echo_reply(ip: &IpRepr, message: &mut [u8]) {
    message[0] = if ip.dst.is_ipv4() { 0 } else { 129 };
    seal(ip, message);
}

/// Writes a "port unreachable" error about `quote` into `message`, which is `HEADER_LEN` bytes longer.
pub fn emit_port_unreachable(ip: &IpRepr, quote: &[u8], message: &mut [u8]) {
    let (kind, code) = if ip.dst.is_ipv4() { (3, 3) } else { (1, 4) };
    message[..HEADER_LEN].copy_from_slice(&[kind, code, 0, 0, 0, 0, 0, 0]);
    message[HEADER_LEN..].copy_from_slice(quote);
    seal(ip, message);
}

/// Writes a neighbour advertisement for `target` at `mac` into the first [`NEIGHBOUR_LEN`] bytes:
/// solicited and override set (RFC 4861 section 7.2.4), or unsolicited to all nodes.
pub fn emit_neighbour_advert(ip: &IpRepr, target: Ipv6Addr, mac: MacAddr, solicited: bool, out: &mut [u8]) {
    let flags = if solicited { 0x60 } else { 0x20 };
    emit_neighbour(ip, [136, 0, 0, 0, flags, 0, 0, 0], target, 2, mac, out);
}

/// Writes a neighbour solicitation for `target` from `mac` into the first [`NEIGHBOUR_LEN`] bytes.
pub fn emit_neighbour_solicit(ip: &IpRepr, target: Ipv6Addr, mac: MacAddr, out: &mut [u8]) {
    emit_neighbour(ip, [135, 0, 0, 0, 0, 0, 0, 0], target, 1, mac, out);
}

fn emit_neighbour(ip: &IpRepr, head: [u8; 8], target: Ipv6Addr, kind: u8, mac: MacAddr, out: &mut [u8]) {
    let message = &mut out[..NEIGHBOUR_LEN];
    message[..8].copy_from_slice(&head);
    message[8..24].copy_from_slice(&target.octets());
    message[24..26].copy_from_slice(&[kind, 1]);
    message[26..].copy_from_slice(&mac.0);
    seal(ip, message);
}

/// The group that listens for solicitations of `addr` (RFC 4291 section 2.7.1).
pub fn solicited_node(addr: Ipv6Addr) -> Ipv6Addr {
    let o = addr.octets();
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(o[13]), u16::from_be_bytes([o[14], o[15]]))
}

/// The 4-tuple of the TCP or UDP packet that an ICMP error quotes, as we sent it: source first.
pub fn quoted_flow(quote: &[u8]) -> Option<QuotedFlow> {
    let (ip, transport) = parse_quoted_ip(quote)?;
    let ports = transport.first_chunk::<8>()?;
    Some(QuotedFlow {
        protocol: ip.protocol,
        src: ip.src,
        dst: ip.dst,
        src_port: u16::from_be_bytes([ports[0], ports[1]]),
        dst_port: u16::from_be_bytes([ports[2], ports[3]]),
        seq: u32::from_be_bytes([ports[4], ports[5], ports[6], ports[7]]),
    })
}

/// Which flow an ICMP error is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuotedFlow {
    /// TCP or UDP.
    pub protocol: Protocol,
    /// Our address.
    pub src: FlowAddr,
    /// The peer's address.
    pub dst: FlowAddr,
    /// Our port.
    pub src_port: u16,
    /// The peer's port.
    pub dst_port: u16,
    /// TCP's sequence number, against blind attacks (RFC 5927 section 4).
    pub seq: u32,
}

/// A quoted IP header: the quote is cut short, so lengths in it say nothing of what is there.
fn parse_quoted_ip(quote: &[u8]) -> Option<(IpRepr, &[u8])> {
    let byte = |at: usize| quote.get(at).copied();
    match byte(0)? >> 4 {
        4 => {
            let header_len = usize::from(byte(0)? & 0xf) * 4;
            let addr = |at: usize| quote.get(at..)?.first_chunk::<4>().map(|a| IpAddr::from(*a).into());
            let repr = IpRepr {
                src: addr(12)?,
                dst: addr(16)?,
                protocol: byte(9)?.into(),
                hop_limit: byte(8)?,
                ecn: 0,
            };
            Some((repr, quote.get(header_len.max(20)..)?))
        }
        6 => {
            let addr = |at: usize| quote.get(at..)?.first_chunk::<16>().map(|a| IpAddr::from(*a).into());
            let repr = IpRepr {
                src: addr(8)?,
                dst: addr(24)?,
                protocol: byte(6)?.into(),
                hop_limit: byte(7)?,
                ecn: 0,
            };
            Some((repr, quote.get(40..)?))
        }
        _ => None,
    }
}
