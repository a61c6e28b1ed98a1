//! Neighbours (ARP and ND entries): RTM_NEWNEIGH and RTM_GETNEIGH.

use std::net::IpAddr;

use super::address::{family, octets, parse_ip};
use super::link::MacAddress;
use super::message::{self, Request};
use super::{Netlink, NetlinkError, REPLACE};

/// A host on the link, as the kernel knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The link.
    pub ifindex: u32,
    /// The host's address.
    pub ip: IpAddr,
    /// Its hardware address; absent while it is being resolved, or when that failed.
    pub mac: Option<MacAddress>,
    /// Set by hand: never resolved, never forgotten.
    pub permanent: bool,
}

/// Bytes of `struct ndmsg`.
const NEIGHBOUR_LEN: usize = 12;

impl Netlink {
    /// Tells the kernel a neighbour's hardware address for good.
    pub fn add_neighbour(&mut self, ifindex: u32, ip: IpAddr, mac: MacAddress) -> Result<(), NetlinkError> {
        let request =
            Request::new(libc::RTM_NEWNEIGH, REPLACE, &header(family(ip), ifindex, libc::NUD_PERMANENT))
                .attribute(libc::NDA_DST, &octets(ip))
                .attribute(libc::NDA_LLADDR, &mac);
        self.change(format!("add neighbour {ip} to link {ifindex}"), request)
    }

    /// What the kernel knows of the neighbour `ip` on a link, if anything.
    pub fn neighbour(&mut self, ifindex: u32, ip: IpAddr) -> Result<Option<Neighbour>, NetlinkError> {
        let all = self.neighbours()?;
        Ok(all.into_iter().find(|neighbour| neighbour.ifindex == ifindex && neighbour.ip == ip))
    }

    /// All neighbours of the namespace.
    pub fn neighbours(&mut self) -> Result<Vec<Neighbour>, NetlinkError> {
        let request = Request::new(libc::RTM_GETNEIGH, libc::NLM_F_DUMP, &header(0, 0, 0));
        let mut neighbours = Vec::new();
        let listed = self.socket.ask(request, |message| neighbours.extend(parse(message.body)));
        listed.map(|()| neighbours).map_err(|refusal| refusal.of("list neighbours"))
    }
}

/// `struct ndmsg`: family u8, padding, index i32, state u16, flags u8, type u8.
fn header(family: u8, ifindex: u32, state: u16) -> [u8; NEIGHBOUR_LEN] {
    let mut bytes = [0; NEIGHBOUR_LEN];
    bytes[0] = family;
    bytes[4..8].copy_from_slice(&ifindex.to_ne_bytes());
    bytes[8..10].copy_from_slice(&state.to_ne_bytes());
    bytes
}

fn parse(body: &[u8]) -> Option<Neighbour> {
    let attributes = body.get(NEIGHBOUR_LEN..)?;
    let state = message::u16_at(body, 8)?;
    let known = state & (libc::NUD_INCOMPLETE | libc::NUD_FAILED) == 0;
    let mac = message::attribute(attributes, libc::NDA_LLADDR).and_then(|value| value.try_into().ok());
    Some(Neighbour {
        ifindex: message::u32_at(body, 4)?,
        ip: parse_ip(*body.first()?, message::attribute(attributes, libc::NDA_DST)?)?,
        mac: mac.filter(|_| known),
        permanent: state & libc::NUD_PERMANENT != 0,
    })
}
