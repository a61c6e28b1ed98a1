//! A veth pair with its ends in two network namespaces of a test's own. All of it goes when it is dropped,
//! and also when the process dies.

use tidegate_sys::netlink::{Address, Netlink, VethEnd};
use tidegate_sys::netns::Netns;

use crate::support;

/// The pair: `left`, where programs are attached, has 192.0.2.1 and 2001:db8::1; `right` has .7 and ::7.
pub(crate) struct Veth {
    pub(crate) left: End,
    pub(crate) right: End,
}

/// One end, in its namespace.
pub(crate) struct End {
    netns: Netns,
    pub(crate) ifindex: u32,
}

impl Veth {
    /// Makes the pair, up; `None`, said on standard error, where the process may not and need not.
    pub(crate) fn new() -> Option<Self> {
        support::load()?;
        let (left, right) = (new_netns(), new_netns());
        let mut netlink = Netlink::open_in(&left).expect("a namespace has rtnetlink");
        let far = VethEnd { netns: Some(&right), ..VethEnd::new("right") };
        netlink.create_veth(VethEnd::new("left"), far).expect("root may make a veth pair");
        let left = End::set_up(left, "left", ["192.0.2.1/24", "2001:db8::1/64"]);
        let right = End::set_up(right, "right", ["192.0.2.7/24", "2001:db8::7/64"]);
        Some(Self { left, right })
    }
}

fn new_netns() -> Netns {
    Netns::create().expect("root may make a namespace")
}

impl End {
    fn set_up(netns: Netns, name: &str, addresses: [&str; 2]) -> Self {
        let mut netlink = Netlink::open_in(&netns).expect("a namespace has rtnetlink");
        let ifindex = netlink.link(name).expect("the end was just made").ifindex;
        netlink.disable_ipv6_address_generation(ifindex).expect("a setting of every link");
        for address in addresses.map(parse_address) {
            netlink.add_address(ifindex, address).expect("the end has no address yet");
        }
        netlink.set_up(ifindex, true).expect("a veth end can be up");
        Self { netns, ifindex }
    }

    /// A way to change the links of this end's namespace.
    pub(crate) fn netlink(&self) -> Netlink {
        Netlink::open_in(&self.netns).expect("a namespace has rtnetlink")
    }

    /// Runs `work` on a thread in the namespace of this end.
    pub(crate) fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.netns.run(work).expect("root may enter a namespace")
    }
}

fn parse_address(text: &str) -> Address {
    let (ip, prefix_len) = text.split_once('/').expect("an address with its prefix");
    Address { ip: ip.parse().expect("an address"), prefix_len: prefix_len.parse().expect("a number") }
}
