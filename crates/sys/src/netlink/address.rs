//! Addresses: RTM_NEWADDR, RTM_DELADDR, RTM_GETADDR.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::message::{self, Request};
use super::{Netlink, NetlinkError, REPLACE};

/// An address and the length of the prefix that is on the link with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// Leading bits that neighbours on the link share: at most 32 or 128.
    pub prefix_len: u8,
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.ip, self.prefix_len)
    }
}

/// An address and the link that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressInfo {
    /// The link.
    pub ifindex: u32,
    /// The address.
    pub address: Address,
}

impl AddressInfo {
    /// `struct ifaddrmsg`: family u8, prefix length u8, flags u8, scope u8, index u32; then attributes.
    fn parse(body: &[u8]) -> Option<AddressInfo> {
        let &[family, prefix_len, ..] = body else { return None };
        let attributes = body.get(8..)?;
        // On point-to-point links IFA_ADDRESS is the other end; without IFA_LOCAL they are the same.
        let value = message::attribute(attributes, libc::IFA_LOCAL)
            .or_else(|| message::attribute(attributes, libc::IFA_ADDRESS))?;
        let ip = parse_ip(family, value)?;
        Some(AddressInfo { ifindex: message::u32_at(body, 4)?, address: Address { ip, prefix_len } })
    }
}

/// linux/if_addr.h, flags in 32 bits.
const IFA_FLAGS: u16 = 8;

impl Netlink {
    /// Gives a link an address, usable at once: IPv6 duplicate address detection is left out (nodad).
    pub fn add_address(&mut self, ifindex: u32, address: Address) -> Result<(), NetlinkError> {
        let request = Self::address_request(libc::RTM_NEWADDR, REPLACE, ifindex, address);
        let request = match address.ip {
            IpAddr::V4(_) => request,
            IpAddr::V6(_) => request.number(IFA_FLAGS, libc::IFA_F_NODAD),
        };
        self.change(format!("add address {address} to link {ifindex}"), request)
    }

    /// Takes an address from a link.
    pub fn delete_address(&mut self, ifindex: u32, address: Address) -> Result<(), NetlinkError> {
        let request = Self::address_request(libc::RTM_DELADDR, libc::NLM_F_ACK, ifindex, address);
        self.change(format!("delete address {address} from link {ifindex}"), request)
    }

    fn address_request(kind: u16, flags: i32, ifindex: u32, address: Address) -> Request {
        let mut family = [family(address.ip), address.prefix_len, 0, 0, 0, 0, 0, 0];
        family[4..].copy_from_slice(&ifindex.to_ne_bytes());
        let ip = octets(address.ip);
        Request::new(kind, flags, &family).attribute(libc::IFA_LOCAL, &ip).attribute(libc::IFA_ADDRESS, &ip)
    }

    /// All addresses of the namespace.
    pub fn addresses(&mut self) -> Result<Vec<AddressInfo>, NetlinkError> {
        let request = Request::new(libc::RTM_GETADDR, libc::NLM_F_DUMP, &[0; 8]);
        let mut addresses = Vec::new();
        let listed = self.socket.ask(request, |message| addresses.extend(AddressInfo::parse(message.body)));
        listed.map(|()| addresses).map_err(|refusal| refusal.of("list addresses"))
    }

    /// The addresses of one link.
    pub fn addresses_of(&mut self, ifindex: u32) -> Result<Vec<Address>, NetlinkError> {
        let all = self.addresses()?;
        Ok(all.into_iter().filter(|info| info.ifindex == ifindex).map(|info| info.address).collect())
    }
}

/// The address family of `ip` as the kernel's headers carry it.
pub(super) fn family(ip: IpAddr) -> u8 {
    match ip {
        IpAddr::V4(_) => libc::AF_INET as u8,
        IpAddr::V6(_) => libc::AF_INET6 as u8,
    }
}

/// The bytes of `ip` in network order.
pub(super) fn octets(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    }
}

/// An address of that family from its bytes in network order.
pub(super) fn parse_ip(family: u8, value: &[u8]) -> Option<IpAddr> {
    match i32::from(family) {
        libc::AF_INET => <[u8; 4]>::try_from(value).ok().map(|octets| Ipv4Addr::from(octets).into()),
        libc::AF_INET6 => <[u8; 16]>::try_from(value).ok().map(|octets| Ipv6Addr::from(octets).into()),
        _ => None,
    }
}
