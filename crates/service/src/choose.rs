//! Which NIC of the host has the addresses that services are to listen on.

use crate::error::{Result, wrong_input};
use crate::kind::Endpoint;
use std::net::{IpAddr, SocketAddr};
use tidegate_mux::find_link;
use tidegate_sys::netlink::{LinkInfo, Netlink};

/// A NIC and what it is to be listened on.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) link: LinkInfo,
    pub(crate) listen: Vec<Endpoint>,
}

/// Gives each address to the interface that has it. Each interface must get one at least.
pub(crate) fn choose(devices: &[String], listen: &[Endpoint]) -> Result<Vec<Choice>> {
    let mut netlink = Netlink::open()?;
    let mut known = Vec::new();
    for name in devices {
        let link = find_link(&mut netlink, name)?;
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
