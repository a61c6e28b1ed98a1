//! Links: RTM_NEWLINK, RTM_DELLINK, RTM_GETLINK.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use super::message::{self, Request};
use super::{CREATE, Netlink, NetlinkError, Refusal};
use crate::clock;
use crate::netns::Netns;
use tidegate_base::Duration;

/// The six bytes of an Ethernet address.
pub type MacAddress = [u8; 6];

/// linux/veth.h, the attribute that describes the other end.
const VETH_INFO_PEER: u16 = 1;
/// linux/if_link.h, inside IFLA_AF_SPEC, AF_INET6.
const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;
/// linux/if_link.h: no link-local address is made up.
const IN6_ADDR_GEN_MODE_NONE: u8 = 1;

/// A link's flags: linux/if.h.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkFlags(pub u32);

impl LinkFlags {
    /// An administrator raised it.
    pub fn is_up(self) -> bool {
        self.0 & libc::IFF_UP as u32 != 0
    }

    /// It has carrier.
    pub fn is_running(self) -> bool {
        self.0 & libc::IFF_RUNNING as u32 != 0
    }

    /// It is the loopback device.
    pub fn is_loopback(self) -> bool {
        self.0 & libc::IFF_LOOPBACK as u32 != 0
    }
}

/// A link as the kernel describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkInfo {
    /// Its number in its namespace.
    pub ifindex: u32,
    /// Its name.
    pub name: String,
    /// Its hardware address, all zero where it has none of six bytes.
    pub mac: MacAddress,
    /// The largest packet it sends, without the link header.
    pub mtu: u32,
    /// Its state.
    pub flags: LinkFlags,
    /// Receive queues allocated; how many are in use is told by [`crate::ethtool`]'s channels.
    pub rx_queue_count: u32,
    /// What made it, such as `veth`; absent for most hardware.
    pub kind: Option<String>,
}

impl LinkInfo {
    /// `body` of an RTM_NEWLINK: `struct ifinfomsg`, then attributes.
    fn parse(body: &[u8]) -> Option<LinkInfo> {
        let attributes = body.get(INFO_LEN..)?;
        let mac = message::attribute(attributes, libc::IFLA_ADDRESS).and_then(|value| value.try_into().ok());
        let info = message::attribute(attributes, libc::IFLA_LINKINFO).unwrap_or_default();
        Some(LinkInfo {
            ifindex: message::u32_at(body, 4)?,
            name: message::text(attributes, libc::IFLA_IFNAME)?,
            mac: mac.unwrap_or_default(),
            mtu: message::number(attributes, libc::IFLA_MTU)?,
            flags: LinkFlags(message::u32_at(body, 8)?),
            rx_queue_count: message::number(attributes, libc::IFLA_NUM_RX_QUEUES).unwrap_or(1),
            kind: message::text(info, libc::IFLA_INFO_KIND),
        })
    }
}

/// One end of a veth pair to be made.
#[derive(Clone, Copy, Debug)]
pub struct VethEnd<'a> {
    /// Its name, at most 15 bytes.
    pub name: &'a str,
    /// Where it is put; the netlink socket's namespace if absent.
    pub netns: Option<&'a Netns>,
    /// Its address, or one that the kernel makes up.
    pub mac: Option<MacAddress>,
    /// How many receive and transmit queues it has.
    pub queue_count: u32,
    /// Its number in its namespace, or one that the kernel chooses. The kernel heeds that of the first end only.
    pub ifindex: Option<u32>,
    /// The largest packet it sends, without the link header; 1500 if absent.
    pub mtu: Option<u32>,
}

impl<'a> VethEnd<'a> {
    /// An end with one queue in the namespace of the netlink socket.
    pub fn new(name: &'a str) -> Self {
        VethEnd { name, netns: None, mac: None, queue_count: 1, ifindex: None, mtu: None }
    }

    fn describe(&self, request: Request) -> Request {
        let request = request
            .text(libc::IFLA_IFNAME, self.name)
            .number(libc::IFLA_NUM_RX_QUEUES, self.queue_count)
            .number(libc::IFLA_NUM_TX_QUEUES, self.queue_count);
        let request = match self.mac {
            Some(mac) => request.attribute(libc::IFLA_ADDRESS, &mac),
            None => request,
        };
        let request = match self.mtu {
            Some(mtu) => request.number(libc::IFLA_MTU, mtu),
            None => request,
        };
        match self.netns {
            Some(netns) => request.number(libc::IFLA_NET_NS_FD, netns.as_fd().as_raw_fd().unsigned_abs()),
            None => request,
        }
    }
}

impl Netlink {
    /// Makes a veth pair, each end in the namespace it names, both down.
    ///
    /// The pair goes when either end or its namespace goes. Needs CAP_NET_ADMIN in all namespaces concerned.
    /// Source: veth(4).
    pub fn create_veth(&mut self, end: VethEnd<'_>, peer: VethEnd<'_>) -> Result<(), NetlinkError> {
        let request =
            end.describe(Request::new(libc::RTM_NEWLINK, CREATE, &info(end.ifindex.unwrap_or(0), 0, 0)));
        let request = request.nested(libc::IFLA_LINKINFO, |kind| {
            kind.text(libc::IFLA_INFO_KIND, "veth").nested(libc::IFLA_INFO_DATA, |data| {
                data.nested(VETH_INFO_PEER, |inner| peer.describe(inner.raw(&info(0, 0, 0))))
            })
        });
        self.change(format!("create the veth pair {} and {}", end.name, peer.name), request)
    }

    /// Removes a link; of a veth pair both ends.
    pub fn delete_link(&mut self, ifindex: u32) -> Result<(), NetlinkError> {
        let request = Request::new(libc::RTM_DELLINK, libc::NLM_F_ACK, &info(ifindex, 0, 0));
        self.change(format!("delete link {ifindex}"), request)
    }

    /// Raises or lowers a link.
    pub fn set_up(&mut self, ifindex: u32, up: bool) -> Result<(), NetlinkError> {
        let flag = libc::IFF_UP as u32;
        let family = info(ifindex, if up { flag } else { 0 }, flag);
        let request = Request::new(libc::RTM_NEWLINK, libc::NLM_F_ACK, &family);
        self.change(format!("set link {ifindex} {}", if up { "up" } else { "down" }), request)
    }

    /// Waits until a link that was set up runs, for at most `patience`.
    ///
    /// The kernel brings a link's transmit queues into use some time after its other end came up, in a work item of its
    /// own (net/core/link_watch.c); what a socket sends earlier is dropped without a word.
    pub fn await_running(&mut self, ifindex: u32, patience: Duration) -> Result<(), NetlinkError> {
        let deadline = clock::now() + patience;
        while !self.link_of(ifindex)?.flags.is_running() {
            if clock::now() >= deadline {
                return Err(Refusal::errno(libc::ETIMEDOUT).of(format!("wait for carrier on link {ifindex}")));
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Ok(())
    }

    /// Renames a link, which older kernels want down for it.
    pub fn rename(&mut self, ifindex: u32, name: &str) -> Result<(), NetlinkError> {
        let request = set(ifindex).text(libc::IFLA_IFNAME, name);
        self.change(format!("rename link {ifindex} to {name}"), request)
    }

    /// Sets the largest packet that a link sends, without the link header.
    pub fn set_mtu(&mut self, ifindex: u32, mtu: u32) -> Result<(), NetlinkError> {
        self.change(
            format!("set the MTU of link {ifindex} to {mtu}"),
            set(ifindex).number(libc::IFLA_MTU, mtu),
        )
    }

    /// Sets a link's hardware address.
    pub fn set_mac(&mut self, ifindex: u32, mac: MacAddress) -> Result<(), NetlinkError> {
        let request = set(ifindex).attribute(libc::IFLA_ADDRESS, &mac);
        self.change(format!("set the hardware address of link {ifindex}"), request)
    }

    /// Keeps the kernel from making up IPv6 link-local addresses: for links whose host is not the kernel.
    pub fn disable_ipv6_address_generation(&mut self, ifindex: u32) -> Result<(), NetlinkError> {
        let request = set(ifindex).nested(libc::IFLA_AF_SPEC, |families| {
            families.nested(libc::AF_INET6 as u16, |inet6| {
                inet6.attribute(IFLA_INET6_ADDR_GEN_MODE, &[IN6_ADDR_GEN_MODE_NONE])
            })
        });
        self.change(format!("disable IPv6 address generation on link {ifindex}"), request)
    }

    /// Has a link ask nobody for hardware addresses and answer nobody who asks: for links whose frames are not the kernel's.
    pub fn disable_arp(&mut self, ifindex: u32) -> Result<(), NetlinkError> {
        let flag = libc::IFF_NOARP as u32;
        let request = Request::new(libc::RTM_NEWLINK, libc::NLM_F_ACK, &info(ifindex, flag, flag));
        self.change(format!("disable ARP on link {ifindex}"), request)
    }

    /// The link `name`.
    pub fn link(&mut self, name: &str) -> Result<LinkInfo, NetlinkError> {
        let attempted = || format!("find link {name}");
        if name.len() >= libc::IFNAMSIZ {
            return Err(Refusal::errno(libc::ENODEV).of(attempted()));
        }
        let request = Request::new(libc::RTM_GETLINK, libc::NLM_F_ACK, &info(0, 0, 0));
        self.get_link(request.text(libc::IFLA_IFNAME, name)).map_err(|refusal| refusal.of(attempted()))
    }

    /// The link of that number.
    pub fn link_of(&mut self, ifindex: u32) -> Result<LinkInfo, NetlinkError> {
        let request = Request::new(libc::RTM_GETLINK, libc::NLM_F_ACK, &info(ifindex, 0, 0));
        self.get_link(request).map_err(|refusal| refusal.of(format!("find link {ifindex}")))
    }

    fn get_link(&mut self, request: Request) -> Result<LinkInfo, Refusal> {
        let mut found = None;
        self.socket.ask(request, |message| found = LinkInfo::parse(message.body))?;
        found.ok_or_else(|| Refusal::errno(libc::ENODEV))
    }

    /// All links of the namespace.
    pub fn links(&mut self) -> Result<Vec<LinkInfo>, NetlinkError> {
        let request = Request::new(libc::RTM_GETLINK, libc::NLM_F_DUMP, &info(0, 0, 0));
        let mut links = Vec::new();
        let listed = self.socket.ask(request, |message| links.extend(LinkInfo::parse(message.body)));
        listed.map(|()| links).map_err(|refusal| refusal.of("list links"))
    }
}

/// Takes IPv6 off the link `name` of the calling thread's namespace: for links whose frames are not the kernel's. A kernel
/// without IPv6 has done so already.
///
/// Needs CAP_NET_ADMIN. Source: networking/ip-sysctl.rst, `disable_ipv6`.
pub fn disable_ipv6(name: &str) -> io::Result<()> {
    match std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Bytes of `struct ifinfomsg`.
const INFO_LEN: usize = 16;

/// `struct ifinfomsg`: family u8, pad, type u16, index i32, flags u32, change u32.
fn info(ifindex: u32, flags: u32, change: u32) -> [u8; INFO_LEN] {
    let mut bytes = [0; INFO_LEN];
    bytes[4..8].copy_from_slice(&ifindex.to_ne_bytes());
    bytes[8..12].copy_from_slice(&flags.to_ne_bytes());
    bytes[12..16].copy_from_slice(&change.to_ne_bytes());
    bytes
}

fn set(ifindex: u32) -> Request {
    Request::new(libc::RTM_NEWLINK, libc::NLM_F_ACK, &info(ifindex, 0, 0))
}
