//! What is made in namespaces of their own is found there again.

use std::net::IpAddr;

use super::*;

const MAC: MacAddress = [0x02, 0, 0, 0, 0, 0x0a];

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn address(text: &str, prefix_len: u8) -> Address {
    Address { ip: ip(text), prefix_len }
}

/// A namespace with a veth pair `a`, `b`, both up, and 10.0.0.1/24 and fd00::1/64 on `a`.
fn pair() -> (Netns, Netlink, LinkInfo) {
    let netns = Netns::create().unwrap();
    let mut netlink = Netlink::open_in(&netns).unwrap();
    let end = VethEnd { mac: Some(MAC), ..VethEnd::new("a") };
    netlink.create_veth(end, VethEnd::new("b")).unwrap();
    for name in ["a", "b"] {
        let ifindex = netlink.link(name).unwrap().ifindex;
        netlink.disable_ipv6_address_generation(ifindex).unwrap();
        netlink.set_up(ifindex, true).unwrap();
    }
    let link = netlink.link("a").unwrap();
    netlink.await_running(link.ifindex, tidegate_base::Duration::from_secs(10)).unwrap();
    let link = netlink.link("a").unwrap();
    netlink.add_address(link.ifindex, address("10.0.0.1", 24)).unwrap();
    netlink.add_address(link.ifindex, address("fd00::1", 64)).unwrap();
    (netns, netlink, link)
}

#[test]
fn a_link_is_as_it_was_made() {
    let (_netns, mut netlink, link) = pair();
    assert_eq!((link.mac, link.mtu, link.rx_queue_count), (MAC, 1500, 1));
    assert_eq!(link.kind.as_deref(), Some("veth"));
    assert!(link.flags.is_up() && link.flags.is_running() && !link.flags.is_loopback());
    assert_eq!(netlink.link_of(link.ifindex).unwrap(), link);
    let names: Vec<String> = netlink.links().unwrap().into_iter().map(|link| link.name).collect();
    assert!(["lo", "a", "b"].iter().all(|name| names.iter().any(|found| found == name)), "{names:?}");
}

#[test]
fn a_peer_is_made_in_another_namespace() {
    let (near, far) = (Netns::create().unwrap(), Netns::create().unwrap());
    let mut netlink = Netlink::open_in(&near).unwrap();
    let peer = VethEnd { netns: Some(&far), queue_count: 2, ..VethEnd::new("far0") };
    netlink.create_veth(VethEnd::new("near0"), peer).unwrap();
    let found = Netlink::open_in(&far).unwrap().link("far0").unwrap();
    assert_eq!(found.rx_queue_count, 2);
    assert!(netlink.link("far0").is_err());
    assert!(far.run(|| ifindex("far0")).unwrap().unwrap() == found.ifindex);

    let near0 = netlink.link("near0").unwrap().ifindex;
    netlink.delete_link(near0).unwrap();
    assert!(Netlink::open_in(&far).unwrap().link("far0").is_err(), "both ends go");
}

#[test]
fn an_end_has_the_number_and_the_mtu_that_it_was_given() {
    let (near, far) = (Netns::create().unwrap(), Netns::create().unwrap());
    let mut netlink = Netlink::open_in(&near).unwrap();
    let end = VethEnd {
        netns: Some(&far),
        ifindex: Some(1026),
        mtu: Some(1400),
        mac: Some(MAC),
        ..VethEnd::new("far0")
    };
    netlink.create_veth(end, VethEnd { mtu: Some(1400), ..VethEnd::new("near0") }).unwrap();
    let found = Netlink::open_in(&far).unwrap().link_of(1026).unwrap();
    assert_eq!((found.name.as_str(), found.mtu, found.mac), ("far0", 1400, MAC));
    assert_eq!(netlink.link("near0").unwrap().mtu, 1400);
}

#[test]
fn a_link_without_ipv6_and_arp_has_neither() {
    let (netns, mut netlink, link) = pair();
    netlink.disable_arp(link.ifindex).unwrap();
    netns.run(|| disable_ipv6("a")).unwrap().unwrap();
    netns.run(|| disable_ipv6("absent0")).unwrap().unwrap();
    assert_eq!(netlink.addresses_of(link.ifindex).unwrap(), [address("10.0.0.1", 24)]);
    let flags = netlink.link_of(link.ifindex).unwrap().flags;
    assert!(flags.0 & libc::IFF_NOARP as u32 != 0 && flags.is_up());
}

#[test]
fn a_link_changes_its_name_mtu_and_address() {
    let (_netns, mut netlink, link) = pair();
    netlink.set_up(link.ifindex, false).unwrap();
    netlink.rename(link.ifindex, "renamed").unwrap();
    netlink.set_mtu(link.ifindex, 9000).unwrap();
    netlink.set_mac(link.ifindex, [2, 1, 2, 3, 4, 5]).unwrap();
    let changed = netlink.link("renamed").unwrap();
    assert_eq!((changed.mtu, changed.mac), (9000, [2, 1, 2, 3, 4, 5]));
    assert!(!changed.flags.is_up());
}

#[test]
fn addresses_come_and_go() {
    let (_netns, mut netlink, link) = pair();
    let expected = [address("10.0.0.1", 24), address("fd00::1", 64)];
    assert_eq!(netlink.addresses_of(link.ifindex).unwrap(), expected);
    netlink.delete_address(link.ifindex, expected[0]).unwrap();
    assert_eq!(netlink.addresses_of(link.ifindex).unwrap(), expected[1..]);
}

#[test]
fn routes_lead_over_gateways_and_links() {
    let (_netns, mut netlink, link) = pair();
    netlink.add_route(Prefix::DEFAULT_V4, Some(ip("10.0.0.254")), link.ifindex).unwrap();
    netlink.add_route(address("fd01::", 64), None, link.ifindex).unwrap();
    let far = netlink.route_to(ip("192.0.2.1")).unwrap();
    let expected = Route {
        gateway: Some(ip("10.0.0.254")),
        ifindex: link.ifindex,
        preferred_source: Some(ip("10.0.0.1")),
    };
    assert_eq!(far, expected);
    assert_eq!(netlink.route_to(ip("10.0.0.7")).unwrap().gateway, None);
    assert_eq!(netlink.route_to(ip("fd01::7")).unwrap().ifindex, link.ifindex);
    let text = netlink.route_to(ip("fd02::7")).unwrap_err().to_string();
    assert!(text.contains("fd02::7") && text.contains("no route"), "{text}");
}

#[test]
fn neighbours_are_found_by_address() {
    let (_netns, mut netlink, link) = pair();
    for host in [ip("10.0.0.9"), ip("fd00::9")] {
        assert_eq!(netlink.neighbour(link.ifindex, host).unwrap(), None);
        netlink.add_neighbour(link.ifindex, host, MAC).unwrap();
        let found = netlink.neighbour(link.ifindex, host).unwrap().unwrap();
        assert_eq!((found.mac, found.permanent), (Some(MAC), true));
    }
}

#[test]
fn the_kernel_says_why_in_words() {
    let (_netns, mut netlink, link) = pair();
    let text = netlink.set_mtu(link.ifindex, 1 << 30).unwrap_err().to_string();
    assert!(text.contains("mtu greater than device maximum"), "{text}");
    let text = netlink.create_veth(VethEnd::new("a"), VethEnd::new("c")).unwrap_err().to_string();
    assert!(text.contains("create the veth pair a and c") && text.contains("exists already"), "{text}");
    assert!(netlink.link("absent0").unwrap_err().to_string().contains("ip link"));
    assert!(netlink.link("longer-than-a-link-name").is_err());
}

#[test]
fn a_device_without_napi_has_no_instances() {
    let (netns, _netlink, link) = pair();
    assert_eq!(netns.run(|| napi_instances(link.ifindex)).unwrap().unwrap(), []);
}
