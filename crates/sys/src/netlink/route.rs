//! Routes: RTM_NEWROUTE and RTM_GETROUTE.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::address::{Address, family, octets, parse_ip};
use super::message::{self, Request};
use super::{Netlink, NetlinkError, REPLACE, Refusal};

/// The destinations of a route: those that share the address's first `prefix_len` bits.
pub type Prefix = Address;

impl Prefix {
    /// Every IPv4 destination.
    pub const DEFAULT_V4: Prefix = Prefix { ip: IpAddr::V4(Ipv4Addr::UNSPECIFIED), prefix_len: 0 };
    /// Every IPv6 destination.
    pub const DEFAULT_V6: Prefix = Prefix { ip: IpAddr::V6(Ipv6Addr::UNSPECIFIED), prefix_len: 0 };
}

/// How the kernel would send to one destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The next hop, or none where the destination is on the link.
    pub gateway: Option<IpAddr>,
    /// The link that it leaves by.
    pub ifindex: u32,
    /// The source address that the kernel would choose.
    pub preferred_source: Option<IpAddr>,
}

/// Bytes of `struct rtmsg`.
const ROUTE_LEN: usize = 12;

impl Netlink {
    /// Adds a route to the main table, or replaces the one that is there.
    pub fn add_route(
        &mut self,
        destination: Prefix,
        gateway: Option<IpAddr>,
        ifindex: u32,
    ) -> Result<(), NetlinkError> {
        let scope = if gateway.is_some() { libc::RT_SCOPE_UNIVERSE } else { libc::RT_SCOPE_LINK };
        let header = header(destination, scope, libc::RTN_UNICAST);
        let request = Request::new(libc::RTM_NEWROUTE, REPLACE, &header)
            .attribute(libc::RTA_DST, &octets(destination.ip))
            .number(libc::RTA_OIF, ifindex);
        let request = match gateway {
            Some(gateway) => request.attribute(libc::RTA_GATEWAY, &octets(gateway)),
            None => request,
        };
        self.change(format!("add a route to {destination} by link {ifindex}"), request)
    }

    /// How the kernel would send to `destination` now.
    pub fn route_to(&mut self, destination: IpAddr) -> Result<Route, NetlinkError> {
        let prefix_len = if destination.is_ipv4() { 32 } else { 128 };
        let header = header(Prefix { ip: destination, prefix_len }, libc::RT_SCOPE_UNIVERSE, 0);
        let request = Request::new(libc::RTM_GETROUTE, libc::NLM_F_ACK, &header)
            .attribute(libc::RTA_DST, &octets(destination));
        let mut found = None;
        let asked = self.socket.ask(request, |message| found = parse(message.body));
        asked
            .and_then(|()| found.ok_or_else(|| Refusal::errno(libc::ENETUNREACH)))
            .map_err(|refusal| refusal.of(format!("find the route to {destination}")))
    }
}

/// `struct rtmsg`: family, destination and source lengths, TOS, table, protocol, scope, type (u8 each),
/// flags u32.
fn header(destination: Prefix, scope: u8, kind: u8) -> [u8; ROUTE_LEN] {
    let family = family(destination.ip);
    let (table, protocol) = (libc::RT_TABLE_MAIN, libc::RTPROT_STATIC);
    [family, destination.prefix_len, 0, 0, table, protocol, scope, kind, 0, 0, 0, 0]
}

fn parse(body: &[u8]) -> Option<Route> {
    let family = *body.first()?;
    let attributes = body.get(ROUTE_LEN..)?;
    let ip = |kind| message::attribute(attributes, kind).and_then(|value| parse_ip(family, value));
    Some(Route {
        gateway: ip(libc::RTA_GATEWAY),
        ifindex: message::number(attributes, libc::RTA_OIF)?,
        preferred_source: ip(libc::RTA_PREFSRC),
    })
}
