//! Datagrams: to who is bound, to who is connected, to nobody.

use crate::wire::{CLIENT, Pair, server};
use std::net::SocketAddr;
use tidegate_socket::{Error, Readiness};

#[test]
fn datagrams_cross_and_are_answered() {
    let mut pair = Pair::new();
    let (client, echo) = (pair.client.datagram_socket().unwrap(), pair.server.datagram_socket().unwrap());
    pair.server.bind(echo, "0.0.0.0:7".parse().unwrap()).unwrap();
    assert_eq!(pair.client.send_to(client, b"hello", None), Err(Error::DestinationRequired));
    assert_eq!(pair.client.send_to(client, b"hello", Some(server(7))), Ok(5));
    // The link is asked for the server's address first, and then again after a while.
    for _ in 0..4 {
        pair.step(600);
    }
    assert_eq!(pair.server.next_event(), Some((echo, Readiness::READABLE | Readiness::WRITABLE)));
    let mut buffer = [0; 100];
    let (len, peer) = pair.server.receive_from(echo, &mut buffer).unwrap();
    assert_eq!((&buffer[..len], peer.ip()), (&b"hello"[..], CLIENT.parse().unwrap()));
    assert_eq!(pair.server.receive_from(echo, &mut buffer), Err(Error::WouldBlock));
    pair.server.send_to(echo, b"and back", Some(peer)).unwrap();
    pair.steps(3);
    assert_eq!(pair.client.receive_from(client, &mut buffer), Ok((8, server(7))));
}

#[test]
fn a_connected_socket_hears_its_peer_only() {
    let mut pair = Pair::new();
    let client = pair.client.datagram_socket().unwrap();
    pair.client.connect(client, server(7)).unwrap();
    let local = pair.client.local_addr(client).unwrap();
    let stranger = pair.server.datagram_socket().unwrap();
    pair.server.bind(stranger, server(8)).unwrap();
    pair.server.send_to(stranger, b"psst", Some(local)).unwrap();
    for _ in 0..4 {
        pair.step(600);
    }
    assert_eq!(pair.client.receive_from(client, &mut [0; 10]), Err(Error::WouldBlock));
}

#[test]
fn a_port_is_given_once_and_long_datagrams_are_refused() {
    let mut pair = Pair::new();
    let (one, two) = (pair.server.datagram_socket().unwrap(), pair.server.datagram_socket().unwrap());
    let any: SocketAddr = "0.0.0.0:53".parse().unwrap();
    pair.server.bind(one, any).unwrap();
    assert_eq!(pair.server.bind(two, server(53)), Err(Error::AddressInUse));
    pair.server.close(one).unwrap();
    pair.server.bind(two, server(53)).unwrap();
    let peer = SocketAddr::new(CLIENT.parse().unwrap(), 1);
    assert_eq!(pair.server.send_to(two, &[0; 1473], Some(peer)), Err(Error::MessageTooLong));
    assert_eq!(pair.server.send_to(two, &[0; 1472], Some(peer)), Ok(1472));
}
