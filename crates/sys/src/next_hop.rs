//! The link address by which the kernel would send to a peer: its routes and its neighbours, for who shares its addresses and
//! does no ARP of its own.
//!
//! ```text
//!   peer --route--> gateway, or the peer itself --neighbour table--> link address
//! ```
//! Not a cache, and it does not wait: what the kernel does not know yet it can be made to ask for.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};

use crate::netlink::{MacAddress, Netlink, NetlinkError};

/// The service that answers nothing (RFC 863).
const DISCARD: u16 = 9;

/// Where a packet for a peer goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// To this station.
    At(MacAddress),
    /// To the host of that address, whose link address the kernel does not know now.
    Unresolved(IpAddr),
    /// To another link.
    Elsewhere,
}

/// The next hops on one link.
#[derive(Debug)]
pub struct NextHops {
    netlink: Netlink,
    ifindex: u32,
}

impl NextHops {
    /// Those of the link `ifindex` of the calling thread's network namespace.
    ///
    /// Needs no capability. Source: rtnetlink(7).
    pub fn open(ifindex: u32) -> Result<NextHops, NetlinkError> {
        Ok(NextHops { netlink: Netlink::open()?, ifindex })
    }

    /// Where a packet for `peer` goes first, as the kernel sees it now. An error: there is no route.
    pub fn find(&mut self, peer: IpAddr) -> Result<NextHop, NetlinkError> {
        let route = self.netlink.route_to(peer)?;
        if route.ifindex != self.ifindex {
            return Ok(NextHop::Elsewhere);
        }
        let hop = route.gateway.unwrap_or(peer);
        let known = self.netlink.neighbour(self.ifindex, hop)?.and_then(|neighbour| neighbour.mac);
        Ok(known.map_or(NextHop::Unresolved(hop), NextHop::At))
    }

    /// Has the kernel ask the link for `hop`, from the calling thread's network namespace: by an empty datagram to its discard
    /// port, since telling it so by netlink takes rights. Does not wait for the answer.
    pub fn ask_for(&self, hop: IpAddr) -> io::Result<()> {
        let (any, to): (IpAddr, SocketAddr) = match hop {
            IpAddr::V4(v4) => (Ipv4Addr::UNSPECIFIED.into(), (v4, DISCARD).into()),
            IpAddr::V6(v6) => {
                (Ipv6Addr::UNSPECIFIED.into(), SocketAddrV6::new(v6, DISCARD, 0, self.ifindex).into())
            }
        };
        let socket = UdpSocket::bind((any, 0))?;
        socket.set_nonblocking(true)?;
        socket.send_to(&[], to).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::{Address, Prefix, VethEnd};
    use crate::netns::Netns;
    use std::time::{Duration, Instant};

    const FAR_MAC: MacAddress = [2, 0, 0, 0, 0, 9];

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// A link to another host, which is the gateway to everywhere.
    fn two_hosts() -> (Netns, Netns, u32) {
        let (near, far) = (Netns::create().unwrap(), Netns::create().unwrap());
        let mut netlink = Netlink::open_in(&near).unwrap();
        let end = VethEnd { netns: Some(&far), mac: Some(FAR_MAC), ..VethEnd::new("far") };
        netlink.create_veth(VethEnd::new("near"), end).unwrap();
        let mut far_netlink = Netlink::open_in(&far).unwrap();
        let mut ends = [("near", &mut netlink, "10.0.0.1"), ("far", &mut far_netlink, "10.0.0.9")];
        for (name, netlink, address) in &mut ends {
            let ifindex = netlink.link(name).unwrap().ifindex;
            netlink.add_address(ifindex, Address { ip: ip(address), prefix_len: 24 }).unwrap();
            netlink.set_up(ifindex, true).unwrap();
        }
        let ifindex = netlink.link("near").unwrap().ifindex;
        netlink.await_running(ifindex, tidegate_base::Duration::from_secs(10)).unwrap();
        netlink.add_route(Prefix::DEFAULT_V4, Some(ip("10.0.0.9")), ifindex).unwrap();
        (near, far, ifindex)
    }

    #[test]
    fn a_peer_behind_a_gateway_is_found_once_the_kernel_was_made_to_ask() {
        let (near, _far, ifindex) = two_hosts();
        near.run(|| {
            let mut hops = NextHops::open(ifindex).unwrap();
            let gateway = ip("10.0.0.9");
            assert_eq!(hops.find(ip("192.0.2.1")).unwrap(), NextHop::Unresolved(gateway));
            hops.ask_for(gateway).unwrap();
            let start = Instant::now();
            while hops.find(ip("192.0.2.1")).unwrap() != NextHop::At(FAR_MAC) {
                assert!(start.elapsed() < Duration::from_secs(10), "the gateway answers");
                std::thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(hops.find(gateway).unwrap(), NextHop::At(FAR_MAC));
            assert_eq!(hops.find(ip("10.0.0.8")).unwrap(), NextHop::Unresolved(ip("10.0.0.8")));
        })
        .unwrap();
    }

    #[test]
    fn a_peer_on_another_link_or_on_none_is_told_apart() {
        let (near, _far, ifindex) = two_hosts();
        near.run(|| {
            let mut hops = NextHops::open(ifindex + 100).unwrap();
            assert_eq!(hops.find(ip("192.0.2.1")).unwrap(), NextHop::Elsewhere);
            let text = hops.find(ip("fd99::1")).unwrap_err().to_string();
            assert!(text.contains("no route"), "{text}");
        })
        .unwrap();
    }
}
