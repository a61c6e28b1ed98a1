//! A NIC of the host: it keeps its addresses and everything that is sent to them, but for the ports that
//! are registered here.
//!
//! Invariant: a registered address and port has a placeholder socket in the host first, so that no server
//! of the host can have it as well.

use super::{Device, attach};
use crate::config::XdpMode;
use crate::error::{Result, ServiceError, wrong_input};
use crate::kind::Endpoint;
use std::net::{IpAddr, SocketAddr};
use tidegate_bpf::{LoadOptions, Tuple, XdpProgram};
use tidegate_stack::{Interface, Ownership};
use tidegate_sys::ethtool::Ethtool;
use tidegate_sys::netlink::{LinkInfo, Netlink};
use tidegate_sys::socket::{Placeholder, ReserveError};
use tidegate_wire::MacAddr;

/// The largest packet that fits a frame of 4 KiB with its headroom and link header: what peers are told, so that they
/// send no longer ones on links that would carry them.
const MTU_MAX: usize = 3600;

/// A NIC and what it is to be listened on.
#[derive(Debug)]
pub(crate) struct Choice {
    link: LinkInfo,
    listen: Vec<Endpoint>,
}

/// Gives each address to the interface that has it. Each interface must get one at least.
pub(crate) fn choose(devices: &[String], listen: &[Endpoint]) -> Result<Vec<Choice>> {
    let mut netlink = Netlink::open()?;
    let mut known = Vec::new();
    for name in devices {
        let link = find(&mut netlink, name)?;
        let addresses: Vec<IpAddr> = netlink.addresses_of(link.ifindex)?.iter().map(|a| a.ip).collect();
        known.push((link, addresses));
    }
    for wanted in listen.iter().map(|endpoint| endpoint.address) {
        if !known.iter().any(|(_, addresses)| addresses.iter().any(|ip| matches(wanted, *ip))) {
            return Err(wrong_input(unknown_address(wanted, &known)));
        }
    }
    known.into_iter().map(|(link, addresses)| choice(link, &addresses, listen)).collect()
}

fn find(netlink: &mut Netlink, name: &str) -> Result<LinkInfo> {
    let links = netlink.links()?;
    let Some(link) = links.iter().find(|link| link.name == name) else {
        let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
        return Err(wrong_input(format!("there is no interface {name}: there are {}", names.join(", "))));
    };
    if !link.flags.is_up() {
        let text = format!("{name} is down: raise it with: ip link set dev {name} up");
        return Err(ServiceError::Occupied(text));
    }
    Ok(link.clone())
}

/// Whether `ip` is meant by `wanted`; an unspecified address means all of its IP version.
fn matches(wanted: SocketAddr, ip: IpAddr) -> bool {
    wanted.ip() == ip || (wanted.ip().is_unspecified() && wanted.is_ipv4() == ip.is_ipv4() && is_global(ip))
}

/// An IPv6 link-local address is good only together with a link, which a URL seldom names.
fn is_global(ip: IpAddr) -> bool {
    !matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local())
}

fn unknown_address(wanted: SocketAddr, known: &[(LinkInfo, Vec<IpAddr>)]) -> String {
    let listed = known.iter().map(|(link, addresses)| match addresses.as_slice() {
        [] => format!("{} has none", link.name),
        some => {
            let some: Vec<String> = some.iter().map(ToString::to_string).collect();
            format!("{} has {}", link.name, some.join(", "))
        }
    });
    let listed: Vec<String> = listed.collect();
    format!("--listen {wanted}: that is no address of --dev; {}", listed.join("; "))
}

fn choice(link: LinkInfo, addresses: &[IpAddr], listen: &[Endpoint]) -> Result<Choice> {
    let of_wanted = |wanted: &Endpoint| {
        let Endpoint { address: wanted, kind } = *wanted;
        let own = addresses.iter().filter(move |ip| matches(wanted, **ip));
        own.map(move |ip| Endpoint { address: SocketAddr::new(*ip, wanted.port()), kind })
    };
    let mut listen: Vec<Endpoint> = listen.iter().flat_map(of_wanted).collect();
    listen.sort_unstable();
    listen.dedup();
    if listen.is_empty() {
        let example = addresses.first().map_or("192.0.2.7".into(), ToString::to_string);
        let hint = if example.contains(':') { format!("[{example}]:80") } else { format!("{example}:80") };
        let name = &link.name;
        return Err(wrong_input(format!("--dev {name} without an address: add --listen {hint}")));
    }
    Ok(Choice { link, listen })
}

/// Reserves the ports and puts the program on the NIC.
pub(crate) fn take(choice: Choice, mode: XdpMode) -> Result<Device> {
    let Choice { link, listen } = choice;
    let placeholders = reserve(&listen)?;
    let addresses = listen.iter().map(|endpoint| endpoint.address.ip()).collect();
    let rules = listen.iter().flat_map(|endpoint| endpoint.tuples()).collect();
    let device = attach_to(link, addresses, rules, mode)?;
    Ok(Device { listen, _placeholders: placeholders, ..device })
}

/// Puts the program on the NIC of that name for whoever takes frames as they are: those that `rules` name, or all.
pub fn take_raw(name: &str, rules: Vec<Tuple>, mode: XdpMode) -> Result<Device> {
    let link = find(&mut Netlink::open()?, name)?;
    attach_to(link, Vec::new(), rules, mode)
}

fn attach_to(link: LinkInfo, addresses: Vec<IpAddr>, rules: Vec<Tuple>, mode: XdpMode) -> Result<Device> {
    let queue_count = Ethtool::open(&link.name)?.channels()?.rx_queue_count().max(1);
    let program = XdpProgram::load(&LoadOptions { queue_count_max: queue_count, ..Default::default() })?;
    let attachment = attach(&program, link.ifindex, &link.name, mode)?;
    let mtu = (link.mtu as usize).min(MTU_MAX);
    Ok(Device {
        interface: Interface::new(MacAddr(link.mac), addresses, mtu, Ownership::Ports),
        name: link.name,
        listen: Vec::new(),
        queue_count,
        rules,
        ifindex: link.ifindex,
        program,
        attachment,
        netns: None,
        _name: None,
        _placeholders: Vec::new(),
    })
}

/// Takes the ports out of the host's hands, for each transport that their services are asked over.
fn reserve(listen: &[Endpoint]) -> Result<Vec<Placeholder>, ReserveError> {
    let sockets = listen.iter().flat_map(|endpoint| {
        endpoint.kind.transports().iter().map(|transport| (*transport, endpoint.address))
    });
    sockets.map(|(transport, address)| Placeholder::bind(transport, address)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;
    use tidegate_sys::netlink::Address;
    use tidegate_sys::netlink::VethEnd;
    use tidegate_sys::netns::Netns;

    fn web(text: &str) -> Endpoint {
        Endpoint { address: text.parse().expect("an address and a port"), kind: Kind::Web }
    }

    /// Runs `check` beside the interfaces `a` (10.1.0.1, fd01::1), up, and `b`, down.
    fn beside_veth(check: impl FnOnce() + Send) {
        let netns = Netns::create().expect("a namespace (run as root)");
        netns
            .run(|| {
                let mut netlink = Netlink::open().expect("netlink");
                netlink.create_veth(VethEnd::new("a"), VethEnd::new("b")).expect("a veth pair");
                let a = netlink.link("a").expect("just made").ifindex;
                for (ip, prefix_len) in [("10.1.0.1", 24), ("fd01::1", 64)] {
                    let ip = ip.parse().expect("an address");
                    netlink.add_address(a, Address { ip, prefix_len }).expect("an address");
                }
                netlink.set_up(a, true).expect("up");
                check();
            })
            .expect("entered");
    }

    #[test]
    fn an_address_goes_to_the_interface_that_has_it() {
        beside_veth(|| {
            let wanted = [web("10.1.0.1:80"), web("[fd01::1]:80")];
            let chosen = choose(&["a".into()], &wanted).expect("both are there");
            assert_eq!(chosen[0].listen, wanted);
            let all = choose(&["a".into()], &[web("0.0.0.0:8080")]).expect("all of IPv4");
            assert_eq!(all[0].listen, [web("10.1.0.1:8080")]);
        });
    }

    #[test]
    fn mistakes_are_named_with_what_there_is() {
        beside_veth(|| {
            let said = |devices: &[&str], listen: &[Endpoint]| {
                let devices: Vec<String> = devices.iter().map(ToString::to_string).collect();
                choose(&devices, listen).expect_err("wrong on purpose").to_string()
            };
            let absent = said(&["eth9"], &[]);
            assert!(absent.contains("eth9") && absent.contains("a") && absent.contains("lo"), "{absent}");
            let foreign = said(&["a"], &[web("192.0.2.1:80")]);
            assert!(foreign.contains("192.0.2.1:80") && foreign.contains("10.1.0.1"), "{foreign}");
            let bare = said(&["a"], &[]);
            assert!(bare.contains("--listen 10.1.0.1:80"), "{bare}");
            let down = said(&["b"], &[]);
            assert!(down.contains("ip link set dev b up"), "{down}");
        });
    }
}
