//! The tuple that a service registers: one end of its flows.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use crate::abi::TupleKey;

/// A transport protocol that tuples exist for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Protocol {
    /// IP protocol 6, RFC 9293.
    Tcp = 6,
    /// IP protocol 17, RFC 768.
    Udp = 17,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        })
    }
}

/// One end of a flow: what a frame's destination is compared with.
///
/// The unspecified address (`0.0.0.0`, `::`) stands for every address of its IP version, also for those that
/// are not the host's: do not register it on a device whose host forwards for others. A tuple with the
/// address wins over one without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tuple {
    /// UDP or TCP.
    pub protocol: Protocol,
    /// The address; an IPv4-mapped IPv6 one means the IPv4 one.
    pub address: IpAddr,
    /// The port, in host byte order.
    pub port: u16,
}

impl Tuple {
    /// A TCP tuple.
    pub const fn tcp(address: IpAddr, port: u16) -> Self {
        Self { protocol: Protocol::Tcp, address, port }
    }

    /// A UDP tuple.
    pub const fn udp(address: IpAddr, port: u16) -> Self {
        Self { protocol: Protocol::Udp, address, port }
    }

    pub(crate) fn to_key(self) -> TupleKey {
        let (address, ip_version) = address_bytes(self.address);
        TupleKey { address, port: self.port.to_be_bytes(), protocol: self.protocol as u8, ip_version }
    }

    /// `None` for a key that no loader of this version wrote.
    pub(crate) fn from_key(key: TupleKey) -> Option<Self> {
        let protocol = [Protocol::Tcp, Protocol::Udp].into_iter().find(|p| *p as u8 == key.protocol)?;
        let address = Ipv6Addr::from(key.address);
        let address = match key.ip_version {
            4 => IpAddr::V4(address.to_ipv4_mapped()?),
            6 => IpAddr::V6(address),
            _ => return None,
        };
        Some(Self { protocol, address, port: u16::from_be_bytes(key.port) })
    }
}

/// An address as the maps have it, and its IP version.
pub(crate) fn address_bytes(address: IpAddr) -> ([u8; 16], u8) {
    match address.to_canonical() {
        IpAddr::V4(address) => (address.to_ipv6_mapped().octets(), 4),
        IpAddr::V6(address) => (address.octets(), 6),
    }
}

impl fmt::Display for Tuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.protocol, SocketAddr::new(self.address, self.port))
    }
}

#[cfg(test)]
mod tests;
