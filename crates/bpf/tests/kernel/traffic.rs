//! Real frames between two namespaces: what is registered reaches the socket, and what the program leaves to
//! the host, the host answers.

use std::io::{self, Read, Write};
use std::iter;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use tidegate_bpf::{Counters, ModeChoice, Reason, Steering, Tuple, Verdict, XdpProgram};

use crate::support::{Receiver, load};
use crate::veth::{End, Veth};

const PATIENCE: Duration = Duration::from_secs(5);
const WAIT: tidegate_base::Duration = tidegate_base::Duration::from_secs(5);

fn address(text: &str) -> SocketAddr {
    text.parse().expect("a literal address")
}

/// The host at `at` sends a datagram back; whether the client got it.
fn echo_udp(server: &End, client: &End, at: SocketAddr, from: SocketAddr) -> io::Result<bool> {
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
fn serve_tcp(server: &End, client: &End, at: SocketAddr) -> io::Result<bool> {
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
    let (Some(Veth { left, right }), Some(program)) = (Veth::new(), load()) else { return };
    let _attachment = left.enter(|| program.attach(left.ifindex, choice)).expect("a free device");
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
        program.register(Tuple::udp(at.ip(), at.port()), Steering::Socket).expect("a new tuple");
    }
    let web = Tuple::tcp(address("192.0.2.1:80").ip(), 80);
    program.register(web, Steering::Socket).expect("a new tuple");
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

/// Attaches a program with UDP port 53 registered on the left, and runs `check` with a socket there.
fn beside_service(choice: ModeChoice, check: impl FnOnce(&Veth, &XdpProgram, Receiver) + Send) {
    let (Some(veth), Some(program)) = (Veth::new(), load()) else { return };
    veth.left.enter(|| {
        let _attachment = program.attach(veth.left.ifindex, choice).expect("a free device");
        register_without_socket(&program);
        let receiver = Receiver::bind(veth.left.ifindex);
        program.set_xsk(0, &receiver).expect("queue 0 has a place");
        check(&veth, &program, receiver);
    });
}

fn send_udp(client: &End, to: SocketAddr, datagram: &[u8]) {
    let socket = client.enter(|| UdpSocket::bind("0.0.0.0:0")).expect("a free port");
    socket.send_to(datagram, to).expect("the client can send");
}

fn socket_gets_its_own_only(choice: ModeChoice) {
    beside_service(choice, |veth, program, mut receiver| {
        let host = UdpSocket::bind("192.0.2.1:53").expect("the host holds the port as well");
        host.set_read_timeout(Some(PATIENCE / 50)).expect("a time is not zero");
        send_udp(&veth.right, address("192.0.2.1:53"), b"for the socket");
        let frame = receiver.receive(WAIT).expect("the frame arrives");
        assert!(frame.ends_with(b"for the socket"), "{frame:02x?}");
        host.recv(&mut [0; 16]).expect_err("the host gets nothing");

        let from = address("192.0.2.7:0");
        assert_answered("another port", echo_udp(&veth.left, &veth.right, address("192.0.2.1:54"), from));
        assert!(receiver.receive(tidegate_base::Duration::ZERO).is_none(), "the socket gets nothing else");
        assert_eq!(program.counters().expect("counters can be read").of(Reason::Tuple), 1);
    });
}

#[test]
fn a_socket_gets_what_is_registered_and_nothing_else_in_driver_mode() {
    socket_gets_its_own_only(ModeChoice::DriverOnly);
}

#[test]
fn a_socket_gets_what_is_registered_and_nothing_else_in_generic_mode() {
    socket_gets_its_own_only(ModeChoice::GenericOnly);
}

#[test]
fn the_host_answers_with_the_frame_after_the_sockets_death() {
    beside_service(ModeChoice::default(), |veth, program, mut receiver| {
        send_udp(&veth.right, address("192.0.2.1:53"), b"alive");
        assert!(receiver.receive(WAIT).is_some_and(|frame| frame.ends_with(b"alive")));
        drop(receiver);
        let from = address("192.0.2.7:0");
        assert_answered("a dead socket", echo_udp(&veth.left, &veth.right, address("192.0.2.1:53"), from));
        assert_eq!(program.counters().expect("counters can be read").of(Reason::SocketAbsent), 1);
    });
}

#[test]
fn a_stack_that_owns_its_device_gets_arp() {
    beside_service(ModeChoice::default(), |veth, program, mut receiver| {
        program.own_device(true).expect("the setting can be written");
        send_udp(&veth.right, address("192.0.2.1:9"), b"who is there?");
        // The client's IPv6 may have something to say first.
        let mut frames = iter::from_fn(|| receiver.receive(WAIT));
        assert!(frames.any(|frame| frame[12..14] == [0x08, 0x06]), "no ARP request arrived");
        assert!(program.counters().expect("counters can be read").of(Reason::OwnDevice) > 0);
    });
}
