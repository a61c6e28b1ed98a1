//! What each socket call says and does, in each state that it can meet.

use crate::wire::{CLIENT, Pair, read_all, server};
use std::net::SocketAddr;
use tidegate_base::Duration;
use tidegate_socket::{Error, Readiness, Shutdown, State};

#[test]
fn a_socket_becomes_writable_when_its_connection_is_open() {
    let mut pair = Pair::new();
    let listener = pair.listen(80, 1);
    let socket = pair.begin(80);
    assert_eq!(pair.client.readiness(socket), Ok(Readiness::NONE));
    assert_eq!(pair.client.connect(socket, server(80)), Err(Error::AlreadyInProgress));
    assert_eq!(pair.client.write(socket, b"early"), Err(Error::WouldBlock));
    pair.steps(3);
    assert_eq!(pair.client.next_event(), Some((socket, Readiness::WRITABLE)));
    assert_eq!(pair.client.connect(socket, server(80)), Err(Error::IsConnected));
    assert_eq!(pair.client.peer_addr(socket), Ok(server(80)));
    assert_eq!(pair.server.next_event(), Some((listener, Readiness::READABLE)));
    let (accepted, _) = pair.server.accept(listener).unwrap();
    assert_eq!(pair.server.local_addr(accepted), Ok(server(80)));
    assert_eq!(pair.server.accept(listener), Err(Error::WouldBlock));
}

#[test]
fn a_closed_port_refuses() {
    let mut pair = Pair::new();
    let socket = pair.begin(81);
    pair.steps(3);
    assert_eq!(pair.client.take_error(socket), Ok(Some(Error::ConnectionRefused)));
    assert_eq!(pair.client.take_error(socket), Ok(None));
    assert!(pair.client.readiness(socket).unwrap().has(Readiness::HANGUP));
}

#[test]
fn who_finds_the_backlog_full_is_heard_later() {
    let mut pair = Pair::new();
    let listener = pair.listen(80, 2);
    let open = |pair: &mut Pair| {
        let socket = pair.begin(80);
        pair.steps(3);
        socket
    };
    let sockets = [open(&mut pair), open(&mut pair), open(&mut pair)];
    assert_eq!(pair.client.readiness(sockets[2]), Ok(Readiness::NONE));
    let mut accepted = 0;
    for _ in 0..10 {
        pair.step(1000);
        accepted += usize::from(pair.server.accept(listener).is_ok());
    }
    assert_eq!(accepted, 3);
    for socket in sockets {
        assert!(pair.client.readiness(socket).unwrap().has(Readiness::WRITABLE));
    }
}

#[test]
fn a_closed_listener_resets_whom_nobody_accepted() {
    let mut pair = Pair::new();
    let listener = pair.listen(80, 2);
    let socket = pair.begin(80);
    pair.steps(3);
    pair.server.close(listener).unwrap();
    pair.steps(3);
    assert_eq!(pair.client.read(socket, &mut [0; 1]), Err(Error::ConnectionReset));
    assert_eq!(pair.server.listen(listener, 1), Err(Error::BadSocket));
    let again = pair.listen(80, 2);
    assert_ne!(listener, again);
}

#[test]
fn each_direction_ends_by_itself() {
    let mut pair = Pair::new();
    let (client, server) = pair.connection();
    pair.client.write(client, b"question").unwrap();
    pair.client.shutdown(client, Shutdown::Write).unwrap();
    assert_eq!(pair.client.write(client, b"more"), Err(Error::BrokenPipe));
    pair.steps(3);
    assert_eq!(read_all(&mut pair.server, server), (b"question".to_vec(), None));
    let readiness = pair.server.readiness(server).unwrap();
    assert!(readiness.has(Readiness::PEER_CLOSED) && !readiness.has(Readiness::HANGUP));
    pair.server.write(server, b"answer").unwrap();
    pair.steps(3);
    assert_eq!(read_all(&mut pair.client, client), (b"answer".to_vec(), Some(Error::WouldBlock)));
    assert_eq!(pair.client.info(client).unwrap().state, State::FinWait2);
    pair.server.close(server).unwrap();
    pair.steps(3);
    assert_eq!(pair.client.read(client, &mut [0; 1]), Ok(0));
    pair.client.close(client).unwrap();
    assert_eq!(pair.client.read(client, &mut [0; 1]), Err(Error::BadSocket));
    pair.steps(3);
    pair.assert_nothing_left();
}

#[test]
fn a_socket_shut_for_reading_reads_the_end() {
    let mut pair = Pair::new();
    let (client, server) = pair.connection();
    pair.client.shutdown(client, Shutdown::Read).unwrap();
    pair.server.write(server, b"for nobody").unwrap();
    pair.steps(3);
    assert_eq!(pair.client.read(client, &mut [0; 1]), Ok(0));
    assert_eq!(pair.server.buffered(server), Ok((0, 0)));
}

#[test]
fn lingering_for_no_time_resets() {
    let mut pair = Pair::new();
    let (client, server) = pair.connection();
    let mut options = pair.client.options(client).unwrap().clone();
    options.linger = Some(Duration::ZERO);
    pair.client.set_options(client, options).unwrap();
    pair.client.write(client, b"never sent").unwrap();
    pair.client.close(client).unwrap();
    pair.steps(3);
    assert_eq!(pair.server.read(server, &mut [0; 1]), Err(Error::ConnectionReset));
    pair.server.close(server).unwrap();
    pair.assert_nothing_left();
}

#[test]
fn lingering_for_a_time_resets_after_it() {
    let mut pair = Pair::new();
    let (client, server) = pair.connection();
    let mut options = pair.client.options(client).unwrap().clone();
    options.linger = Some(Duration::from_secs(5));
    pair.client.set_options(client, options).unwrap();
    // More than the server's window, which nobody reads.
    for _ in 0..3 {
        while pair.client.write(client, &[7; 1000]).is_ok() {}
        pair.steps(20);
    }
    pair.client.close(client).unwrap();
    for _ in 0..40 {
        pair.step(100);
    }
    assert_eq!(pair.client.counters().connection_count, 1);
    for _ in 0..20 {
        pair.step(100);
    }
    assert_eq!(pair.client.counters().connection_count, 0);
    assert_eq!(read_all(&mut pair.server, server).1, Some(Error::ConnectionReset));
}

#[test]
fn closing_with_unread_data_resets() {
    let mut pair = Pair::new();
    let (client, server) = pair.connection();
    pair.client.write(client, b"unread").unwrap();
    pair.steps(3);
    pair.server.close(server).unwrap();
    pair.steps(3);
    assert_eq!(pair.client.read(client, &mut [0; 1]), Err(Error::ConnectionReset));
    assert_eq!(pair.client.write(client, b"x"), Err(Error::BrokenPipe));
}

#[test]
fn what_is_written_is_sent_after_the_socket_is_closed() {
    let mut pair = Pair::new();
    let (client, server) = pair.connection();
    assert_eq!(pair.client.write(client, &[5; 200_000]), Ok(200_000));
    pair.client.close(client).unwrap();
    let mut received = 0;
    for _ in 0..300 {
        pair.step(1);
        received += read_all(&mut pair.server, server).0.len();
    }
    assert_eq!(received, 200_000);
    assert_eq!(pair.server.read(server, &mut [0; 1]), Ok(0));
}

#[test]
fn an_answer_carries_the_acknowledgement_and_silence_sends_one() {
    let mut pair = Pair::new();
    let (client, server) = pair.connection();
    pair.carried.clear();
    pair.client.write(client, b"question").unwrap();
    pair.client.poll(pair.now);
    pair.carry(true);
    pair.server.write(server, b"answer").unwrap();
    pair.server.poll(pair.now);
    pair.carry(false);
    assert_eq!(pair.carried.len(), 2, "one segment each way");
    pair.step(0);
    assert_eq!(pair.carried.len(), 3, "nothing to say: an acknowledgement by itself");
}

#[test]
fn writes_of_a_round_share_segments() {
    let mut pair = Pair::new();
    let (client, server) = pair.connection();
    pair.carried.clear();
    for _ in 0..50 {
        pair.server.write(server, b"ten bytes ").unwrap();
    }
    pair.step(0);
    assert_eq!(pair.carried.len(), 1);
    assert_eq!(read_all(&mut pair.client, client).0.len(), 500);
}

#[test]
fn settings_reach_the_connection() {
    let mut pair = Pair::new();
    let listener = pair.listen(80, 2);
    let mut options = pair.server.options(listener).unwrap().clone();
    options.receive_buffer_len = 8192;
    options.set_congestion("newreno").unwrap();
    assert_eq!(options.set_congestion("fastest"), Err(Error::NoSuchAlgorithm));
    pair.server.set_options(listener, options).unwrap();
    let client = pair.begin(80);
    pair.steps(3);
    let (accepted, _) = pair.server.accept(listener).unwrap();
    assert_eq!(pair.server.options(accepted).unwrap().congestion.name, "newreno");
    assert_eq!(pair.client.info(client).unwrap().peer_window, 8192);
    let info = pair.client.info(client).unwrap();
    assert_eq!((info.state, info.mss, info.has_sack), (State::Established, 1448, true));
}

#[test]
fn small_segments_wait_for_one_another_unless_told_not_to() {
    let mut pair = Pair::new();
    let (client, _) = pair.connection();
    let sent_by_three_writes = |pair: &mut Pair| {
        pair.carried.clear();
        for _ in 0..3 {
            pair.client.write(client, b"x").unwrap();
            pair.client.poll(pair.now);
        }
        pair.carry(true);
        pair.carried.len()
    };
    assert_eq!(sent_by_three_writes(&mut pair), 1);
    pair.steps(100);
    let mut options = pair.client.options(client).unwrap().clone();
    options.no_delay = true;
    pair.client.set_options(client, options).unwrap();
    assert_eq!(sent_by_three_writes(&mut pair), 3);
}

#[test]
fn a_peer_that_is_gone_times_out() {
    let mut pair = Pair::new();
    let (client, _) = pair.connection();
    pair.lost_of_1000 = 1000;
    pair.client.write(client, b"anybody?").unwrap();
    for _ in 0..400 {
        pair.step(1000);
    }
    assert_eq!(pair.client.read(client, &mut [0; 1]), Err(Error::TimedOut));
}

#[test]
fn calls_on_the_wrong_kind_of_socket_are_refused() {
    let mut pair = Pair::new();
    let host = &mut pair.client;
    let (stream, datagram) = (host.stream_socket().unwrap(), host.datagram_socket().unwrap());
    assert_eq!(host.read(stream, &mut [0; 1]), Err(Error::NotConnected));
    assert_eq!(host.listen(stream, 1), Err(Error::DestinationRequired));
    assert_eq!(host.listen(datagram, 1), Err(Error::NotSupported));
    assert_eq!(host.accept(stream), Err(Error::Invalid));
    assert_eq!(host.send_to(stream, b"x", None), Err(Error::NotSupported));
    assert_eq!(host.shutdown(stream, Shutdown::Both), Err(Error::NotConnected));
    assert_eq!(host.bind(stream, "192.0.2.1:80".parse().unwrap()), Err(Error::AddressNotAvailable));
    assert_eq!(host.connect(stream, "[fd77::2]:80".parse().unwrap()), Err(Error::FamilyNotSupported));
    host.bind(stream, "10.77.0.1:4000".parse().unwrap()).unwrap();
    assert_eq!(host.bind(stream, "10.77.0.1:4001".parse().unwrap()), Err(Error::Invalid));
    assert_eq!(host.connect(stream, server(80)), Err(Error::InProgress));
    assert_eq!(host.local_addr(stream), Ok("10.77.0.1:4000".parse().unwrap()));
}

#[test]
fn a_host_of_few_places_binds_and_connects_there_and_nowhere_else() {
    let mut pair = Pair::new();
    let listener = pair.listen(80, 8);
    let places = [5001, 5002].map(|port| SocketAddr::new(CLIENT.parse().unwrap(), port));
    pair.client.confine(places.to_vec());
    let bound = |pair: &mut Pair, port: u16| {
        let socket = pair.client.stream_socket().unwrap();
        pair.client.bind(socket, SocketAddr::new([0, 0, 0, 0].into(), port)).map(|()| socket)
    };
    assert_eq!(bound(&mut pair, 5003), Err(Error::AddressNotAvailable));
    let any = bound(&mut pair, 0).unwrap();
    assert_eq!(pair.client.local_addr(any), Ok(places[0]));
    // Two connections to one server take two ports, and there is no third.
    let sockets = [pair.begin(80), pair.begin(80)];
    let third = pair.client.stream_socket().unwrap();
    assert_eq!(pair.client.connect(third, server(80)), Err(Error::AddressInUse));
    pair.steps(3);
    let mut from: Vec<SocketAddr> = sockets.map(|socket| pair.client.local_addr(socket).unwrap()).to_vec();
    from.sort_unstable();
    assert_eq!(from, places);
    assert!(pair.server.accept(listener).is_ok() && pair.server.accept(listener).is_ok());
    let datagrams = pair.client.datagram_socket().unwrap();
    pair.client.connect(datagrams, server(53)).unwrap();
    assert_eq!(pair.client.local_addr(datagrams), Ok(places[0]), "UDP has ports of its own");
}
