//! What a stack that is not trusted may send through a NIC: its own datagrams, whole, plain and from the NIC's address.
//!
//! The kernel checks the same of stacks behind a veth of their own (`crates/bpf/src/xdp/egress.h`), rule by rule in the same
//! order; a test of `bpf` compares the two over any frames. Not looked at: checksums, flags, sequence numbers,
//! destinations behind the link. What is wrong in them harms the stack's own flows only.
//!
//! Invariant: what is not known here is refused.

mod pace;

pub use pace::{Pace, Rate};

use crate::{EtherType, MacAddr};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Declares [`EgressVerdict`] with a name for each.
macro_rules! verdicts {
    ($($(#[doc = $doc:literal])* $verdict:ident = $number:literal, $name:literal;)*) => {
        /// What became of a frame that a stack sent. Each frame counts under exactly one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum EgressVerdict {
            $($(#[doc = $doc])* $verdict = $number,)*
        }

        impl EgressVerdict {
            /// Every verdict, in the order of their numbers.
            pub const ALL: [Self; [$($number),*].len()] = [$(Self::$verdict),*];

            /// The name in statistics and metrics.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$verdict => $name,)*
                }
            }
        }
    };
}

verdicts! {
    /// It goes out; all others are drops.
    Sent = 0, "sent";
    /// The source is not the NIC's MAC address, or the frame ends within its Ethernet header.
    SourceMac = 1, "source_mac";
    /// The destination is a group, nobody (all zero) or the NIC itself.
    DestinationMac = 2, "destination_mac";
    /// A VLAN tag.
    Vlan = 3, "vlan";
    /// ARP, anything else that is not IP.
    NotIp = 4, "not_ip";
    /// A cut IPv4 header, or a version or length in it that cannot be true.
    MalformedIpv4 = 5, "malformed_ipv4";
    /// A cut IPv6 header, or a version or length in it that cannot be true.
    MalformedIpv6 = 6, "malformed_ipv6";
    /// An IPv4 option, be it a source route or any other.
    Ipv4Options = 7, "ipv4_options";
    /// An IPv6 extension header other than a fragment's.
    Ipv6Extension = 8, "ipv6_extension";
    /// A fragment.
    Fragment = 9, "fragment";
    /// A packet that is longer than the NIC's MTU.
    TooLong = 10, "too_long";
    /// ICMP, which is the host's to send.
    Icmp = 11, "icmp";
    /// IP, but neither UDP nor TCP.
    OtherProtocol = 12, "other_protocol";
    /// A cut TCP header, or a data offset that cannot be true.
    MalformedTcp = 13, "malformed_tcp";
    /// A cut UDP header, or a length other than the IP packet's payload has.
    MalformedUdp = 14, "malformed_udp";
    /// The source is no tuple of this stack's.
    NotOwner = 15, "not_owner";
    /// The port is this stack's for every address, but the address is not the NIC's.
    ForeignAddress = 16, "foreign_address";
    /// The stack's own, but more than its rate.
    OverRate = 17, "over_rate";
}

/// What frames of a NIC look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EgressRules {
    /// The NIC's address.
    pub mac: MacAddr,
    /// The longest IP packet, in bytes.
    pub mtu: usize,
}

/// A transport protocol that stacks send by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    /// RFC 9293.
    Tcp,
    /// RFC 768.
    Udp,
}

/// Who a frame says that it is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// By what it was sent.
    pub transport: Transport,
    /// As it stands in the IP header: an IPv4-mapped IPv6 address is not an IPv4 one.
    pub address: IpAddr,
    /// In host byte order.
    pub port: u16,
}

/// Whose a tuple is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The sender's.
    Own,
    /// Somebody else's.
    Foreign,
}

/// What is registered on a NIC, as far as one stack goes.
pub trait Claims {
    /// Whose the tuple `source` is, whose address is unspecified where every address is meant; `None`: nobody's.
    fn claim(&self, source: &Source) -> Option<Claim>;

    /// Whether the NIC has `address`.
    fn is_local(&self, address: IpAddr) -> bool;
}

/// What becomes of `frame` by every rule but the rate.
pub fn check(frame: &[u8], rules: &EgressRules, claims: &impl Claims) -> EgressVerdict {
    match check_form(frame, rules) {
        Ok(source) => check_owner(source, claims),
        Err(verdict) => verdict,
    }
}

/// Whom a frame of good form says that it is from; otherwise what is wrong with it.
pub fn check_form(frame: &[u8], rules: &EgressRules) -> Result<Source, EgressVerdict> {
    let (header, packet) = frame.split_first_chunk::<14>().ok_or(EgressVerdict::SourceMac)?;
    let [destination, source] = [0, 6].map(|at| MacAddr(field(header, at)));
    if source != rules.mac {
        return Err(EgressVerdict::SourceMac);
    }
    if destination.is_group() || destination == MacAddr::default() || destination == rules.mac {
        return Err(EgressVerdict::DestinationMac);
    }
    match EtherType::from(u16::from_be_bytes(field(header, 12))) {
        EtherType::Vlan => Err(EgressVerdict::Vlan),
        EtherType::Ipv4 => check_ipv4(packet, rules),
        EtherType::Ipv6 => check_ipv6(packet, rules),
        EtherType::Arp | EtherType::Other(_) => Err(EgressVerdict::NotIp),
    }
}

/// The more specific registration decides, as when a frame comes in. What every address is registered by, the unspecified one,
/// is no address to send from.
fn check_owner(source: Source, claims: &impl Claims) -> EgressVerdict {
    match claims.claim(&source).filter(|_| !source.address.is_unspecified()) {
        Some(Claim::Own) => return EgressVerdict::Sent,
        Some(Claim::Foreign) => return EgressVerdict::NotOwner,
        None => {}
    }
    let any = match source.address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    match claims.claim(&Source { address: any, ..source }) {
        Some(Claim::Own) if claims.is_local(source.address) => EgressVerdict::Sent,
        Some(Claim::Own) => EgressVerdict::ForeignAddress,
        Some(Claim::Foreign) | None => EgressVerdict::NotOwner,
    }
}

/// RFC 791 section 3.1.
fn check_ipv4(packet: &[u8], rules: &EgressRules) -> Result<Source, EgressVerdict> {
    let (header, _) = packet.split_first_chunk::<20>().ok_or(EgressVerdict::MalformedIpv4)?;
    let header_len = usize::from(header[0] & 0xf) * 4;
    let total_len = usize::from(u16::from_be_bytes(field(header, 2)));
    if header[0] >> 4 != 4 || header_len < 20 || total_len < header_len || !fills(packet, total_len) {
        return Err(EgressVerdict::MalformedIpv4);
    }
    if total_len > rules.mtu {
        return Err(EgressVerdict::TooLong);
    }
    if header_len > 20 {
        return Err(EgressVerdict::Ipv4Options);
    }
    if u16::from_be_bytes(field(header, 6)) & MORE_FRAGMENTS_OR_OFFSET != 0 {
        return Err(EgressVerdict::Fragment);
    }
    let address = Ipv4Addr::from(field::<4>(header, 12)).into();
    match header[9] {
        ICMP => Err(EgressVerdict::Icmp),
        protocol => check_transport(protocol, address, &packet[20..total_len]),
    }
}

/// RFC 8200 section 3.
fn check_ipv6(packet: &[u8], rules: &EgressRules) -> Result<Source, EgressVerdict> {
    let (header, _) = packet.split_first_chunk::<40>().ok_or(EgressVerdict::MalformedIpv6)?;
    let total_len = 40 + usize::from(u16::from_be_bytes(field(header, 4)));
    if header[0] >> 4 != 6 || !fills(packet, total_len) {
        return Err(EgressVerdict::MalformedIpv6);
    }
    if total_len > rules.mtu {
        return Err(EgressVerdict::TooLong);
    }
    let address = Ipv6Addr::from(field::<16>(header, 8)).into();
    match header[6] {
        ICMPV6 => Err(EgressVerdict::Icmp),
        NEXT_FRAGMENT => Err(EgressVerdict::Fragment),
        next if EXTENSIONS.contains(&next) => Err(EgressVerdict::Ipv6Extension),
        next => check_transport(next, address, &packet[40..total_len]),
    }
}

fn check_transport(protocol: u8, address: IpAddr, segment: &[u8]) -> Result<Source, EgressVerdict> {
    let source = |transport, port| Source { transport, address, port: u16::from_be_bytes(port) };
    match protocol {
        TCP => match segment.first_chunk::<20>() {
            Some(header) if (20..=segment.len()).contains(&(usize::from(header[12] >> 4) * 4)) => {
                Ok(source(Transport::Tcp, field(header, 0)))
            }
            _ => Err(EgressVerdict::MalformedTcp),
        },
        UDP => match segment.first_chunk::<8>() {
            // Nothing may hide behind the datagram.
            Some(header) if usize::from(u16::from_be_bytes(field(header, 4))) == segment.len() => {
                Ok(source(Transport::Udp, field(header, 0)))
            }
            _ => Err(EgressVerdict::MalformedUdp),
        },
        _ => Err(EgressVerdict::OtherProtocol),
    }
}

/// Whether a packet of `len` bytes is what the rest of the frame holds. Padding is what a frame of the least length needs
/// (IEEE 802.3 4A.2.3.2.4), and no place for anything else.
const fn fills(packet: &[u8], len: usize) -> bool {
    len == packet.len() || (len < packet.len() && packet.len() <= PAYLOAD_LEN_MIN)
}

/// The `N` bytes at `at`, which the header has.
fn field<const N: usize>(header: &[u8], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&header[at..at + N]);
    bytes
}

/// Bytes behind the Ethernet header of a frame of the least length, 60 without its check sequence.
const PAYLOAD_LEN_MIN: usize = 46;
const MORE_FRAGMENTS_OR_OFFSET: u16 = 0x3fff;
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;
const NEXT_FRAGMENT: u8 = 44;
/// RFC 8200 section 4.1 and the IANA registry of extension headers, less the fragment's.
const EXTENSIONS: [u8; 8] = [0, 43, 50, 51, 60, 135, 139, 140];

#[cfg(test)]
mod tests;
