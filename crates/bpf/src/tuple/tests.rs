//! Tuples, their keys and their text.

use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;

fn any_tuple() -> impl Strategy<Value = Tuple> {
    let protocol = prop_oneof![Just(Protocol::Tcp), Just(Protocol::Udp)];
    (protocol, any::<IpAddr>(), any::<u16>()).prop_map(|(protocol, address, port)| Tuple {
        protocol,
        address: address.to_canonical(),
        port,
    })
}

proptest! {
    #[test]
    fn a_key_gives_its_tuple_back(tuple in any_tuple()) {
        prop_assert_eq!(Tuple::from_key(tuple.to_key()), Some(tuple));
    }

    #[test]
    fn different_tuples_have_different_keys(one in any_tuple(), other in any_tuple()) {
        prop_assert_eq!(one == other, one.to_key() == other.to_key());
    }
}

#[test]
fn a_mapped_address_is_the_ipv4_one() {
    let v4 = Ipv4Addr::new(192, 0, 2, 1);
    let mapped = Tuple::tcp(IpAddr::V6(v4.to_ipv6_mapped()), 80);
    assert_eq!(mapped.to_key(), Tuple::tcp(IpAddr::V4(v4), 80).to_key());
}

#[test]
fn the_unspecified_addresses_of_the_two_versions_differ() {
    let v4 = Tuple::udp(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 53);
    let v6 = Tuple::udp(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 53);
    assert_ne!(v4.to_key(), v6.to_key());
}

#[test]
fn foreign_keys_are_no_tuples() {
    let key = Tuple::tcp(IpAddr::V4(Ipv4Addr::LOCALHOST), 80).to_key();
    assert_eq!(Tuple::from_key(TupleKey { protocol: 1, ..key }), None);
    assert_eq!(Tuple::from_key(TupleKey { ip_version: 5, ..key }), None);
    assert_eq!(Tuple::from_key(TupleKey { address: [1; 16], ..key }), None);
}

#[test]
fn text_is_protocol_address_and_port() {
    assert_eq!(Tuple::tcp(IpAddr::V4(Ipv4Addr::LOCALHOST), 80).to_string(), "tcp 127.0.0.1:80");
    assert_eq!(Tuple::udp(IpAddr::V6(Ipv6Addr::LOCALHOST), 53).to_string(), "udp [::1]:53");
}
