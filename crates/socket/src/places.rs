//! The addresses and ports that sockets can have, where the others are somebody else's: of a stack that shares its addresses with
//! the kernel, frames to any other port do not come here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Named places, or all there are. An unspecified address is every one of the interface's.
#[derive(Default)]
pub(crate) struct Places(Vec<SocketAddr>);

impl Places {
    /// These and no others.
    pub(crate) fn only(places: Vec<SocketAddr>) -> Self {
        Self(places)
    }

    /// Whether sockets can be anywhere.
    pub(crate) fn is_open(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a socket can be at `local`, whose port is named.
    pub(crate) fn has(&self, local: SocketAddr) -> bool {
        let is_there = |place: &SocketAddr| place.port() == local.port() && meets(place.ip(), local.ip());
        self.is_open() || self.0.iter().any(is_there)
    }

    /// Those at `ip`, as a socket there has them; none where it can be anywhere.
    pub(crate) fn at(&self, ip: IpAddr) -> impl Iterator<Item = SocketAddr> + '_ {
        let there = self.0.iter().filter(move |place| meets(place.ip(), ip));
        there.map(move |place| {
            let is_named = !place.ip().is_unspecified();
            SocketAddr::new(if is_named { place.ip() } else { ip }, place.port())
        })
    }
}

/// Whether two addresses can be the same; one that is unspecified is any of its family.
fn meets(a: IpAddr, b: IpAddr) -> bool {
    a == b || a.is_ipv4() == b.is_ipv4() && (a.is_unspecified() || b.is_unspecified())
}

/// Any address of the same family.
pub(crate) const fn any_of(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn a_place_is_had_at_its_address_and_at_any() {
        let ours = Places::only(places(&["10.0.0.1:80", "0.0.0.0:81", "[fd00::1]:80"]));
        for text in ["10.0.0.1:80", "0.0.0.0:80", "10.0.0.2:81", "[::]:80"] {
            assert!(ours.has(text.parse().unwrap()), "{text}");
        }
        for text in ["10.0.0.2:80", "10.0.0.1:82", "[fd00::2]:80", "[::]:81"] {
            assert!(!ours.has(text.parse().unwrap()), "{text}");
        }
        assert!(Places::default().has("10.0.0.9:9".parse().unwrap()));
    }

    #[test]
    fn places_are_named_as_a_socket_there_has_them() {
        let ours = Places::only(places(&["10.0.0.1:80", "0.0.0.0:81", "[fd00::1]:80"]));
        let at = |text: &str| ours.at(text.parse().unwrap()).collect::<Vec<_>>();
        assert_eq!(at("10.0.0.1"), places(&["10.0.0.1:80", "10.0.0.1:81"]));
        assert_eq!(at("0.0.0.0"), places(&["10.0.0.1:80", "0.0.0.0:81"]));
        assert_eq!(at("fd00::2"), places(&[]));
    }
}
