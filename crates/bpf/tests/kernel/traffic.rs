//! Real frames between two namespaces: what the program leaves to the host, the host answers.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use tidegate_bpf::{Counters, ModeChoice, Reason, Tuple, Verdict, XdpProgram};

use crate::netns::Netns;
use crate::support::load;

const PATIENCE: Duration = Duration::from_secs(5);

fn address(text: &str) -> SocketAddr {
    text.parse().expect("a literal address")
}

/// The host at `at` sends a datagram back; whether the client got it.
fn echo_udp(server: &Netns, client: &Netns, at: SocketAddr, from: SocketAddr) -> io::Result<bool> {
    let host = server.enter(|| UdpSocket::bind(at))?;
    let asker = client.enter(|| UdpSocket::bind(from))?;
    host.set_read_timeout(Some(PATIENCE))?;
    asker.set_read_timeout(Some(PATIENCE))?;
    let mut datagram = [0; 16];
    asker.send_to(b"tide", at)?;
    let (len, peer) = host.recv_from(&mut datagram)?;
    host.send_to(&datagram[..len], peer)?;
    let len = asker.recv(&mut datagram)?;
    Ok(datagram[..len] == *b"tide")
}

/// The host at `at` takes a connection and sends a byte; whether the client got it.
fn serve_tcp(server: &Netns, client: &Netns, at: SocketAddr) -> io::Result<bool> {
    let host = server.enter(|| TcpListener::bind(at))?;
    let mut asker = client.enter(|| TcpStream::connect_timeout(&at, PATIENCE))?;
    asker.set_read_timeout(Some(PATIENCE))?;
    let (mut peer, _) = host.accept()?;
    peer.write_all(b"x")?;
    let mut byte = [0];
    asker.read_exact(&mut byte)?;
    Ok(byte == *b"x")
}

fn host_answers_everything(choice: ModeChoice) {
    let (Some((left, right)), Some(program)) = (Netns::pair(), load()) else { return };
    let ifindex = left.ifindex("left");
    let _attachment = left.enter(|| program.attach(ifindex, choice)).expect("a free device");
    register_without_socket(&program);

    let from = address("192.0.2.7:0");
    assert_answered("another port", echo_udp(&left, &right, address("192.0.2.1:54"), from));
    assert_answered("a dead socket", echo_udp(&left, &right, address("192.0.2.1:53"), from));
    let from = address("[2001:db8::7]:0");
    assert_answered("a dead socket, IPv6", echo_udp(&left, &right, address("[2001:db8::1]:53"), from));
    assert_answered("a dead socket, TCP", serve_tcp(&left, &right, address("192.0.2.1:80")));
    assert_answered("another port, TCP", serve_tcp(&left, &right, address("[2001:db8::1]:8000")));
    assert_counted(&program.counters().expect("counters can be read"));
}

fn assert_answered(what: &str, answered: io::Result<bool>) {
    assert!(answered.as_ref().is_ok_and(|same| *same), "{what}: {answered:?}");
}

fn register_without_socket(program: &XdpProgram) {
    for at in ["192.0.2.1:53", "[2001:db8::1]:53"].map(address) {
        program.register(Tuple::udp(at.ip(), at.port()), Verdict::Socket).expect("a new tuple");
    }
    let web = Tuple::tcp(address("192.0.2.1:80").ip(), 80);
    program.register(web, Verdict::Socket).expect("a new tuple");
}

fn assert_counted(counters: &Counters) {
    for reason in [Reason::NotIp, Reason::Unregistered, Reason::SocketAbsent, Reason::IcmpUnrelated] {
        assert!(counters.of(reason) > 0, "no frame was counted as {}", reason.name());
    }
    assert_eq!(counters.total(Verdict::Socket), 0);
}

#[test]
fn the_host_answers_what_no_socket_takes_in_driver_mode() {
    host_answers_everything(ModeChoice::DriverOnly);
}

#[test]
fn the_host_answers_what_no_socket_takes_in_generic_mode() {
    host_answers_everything(ModeChoice::GenericOnly);
}
