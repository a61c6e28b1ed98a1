//! Two runtimes joined by a wire of this process, each on a thread of its own.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use tidegate_base::Duration;
use tidegate_packet::{HeapMemory, Pool};
use tidegate_port::{Port, joined_by_copy};
use tidegate_socket::{Error, Runtime, RuntimeConfig};
use tidegate_stack::{Interface, Ownership};
use tidegate_sys::event::{Interest, poll};
use tidegate_wire::MacAddr;

const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));

fn runtime(number: u8, port: impl Port + 'static) -> Runtime {
    let address = [10, 77, 0, number].into();
    let interface = Interface::new(MacAddr([2, 0, 0, 0, 0, number]), [address], 1500, Ownership::Address);
    let pool = Pool::new(Box::new(HeapMemory::new(1024 * 2048)), 2048).unwrap();
    Runtime::new(Box::new(port), pool, interface, RuntimeConfig::default()).unwrap()
}

/// Answers one connection: what it gets, back, until its end.
fn echo(mut runtime: Runtime) {
    let listener = runtime.stream_socket().unwrap();
    runtime.bind(listener, "0.0.0.0:7".parse().unwrap()).unwrap();
    runtime.listen(listener, 8).unwrap();
    let mut buffer = [0; 4096];
    loop {
        runtime.wait(PATIENCE).unwrap();
        let (mut socket, _) = runtime.next_event().expect("within patience");
        if socket == listener {
            socket = runtime.accept(listener).unwrap().0;
        }
        loop {
            match runtime.read(socket, &mut buffer) {
                Ok(0) => {
                    runtime.close(socket).unwrap();
                    // Its FIN, and what answers that.
                    while runtime.socket_count() > 1 {
                        runtime.wait(Some(Duration::from_millis(1))).unwrap();
                    }
                    return;
                }
                Ok(len) => assert_eq!(runtime.write(socket, &buffer[..len]), Ok(len)),
                Err(error) => break assert_eq!(error, Error::WouldBlock),
            }
        }
    }
}

#[test]
fn an_echo_crosses_both_runtimes() {
    let (left, right) = joined_by_copy(256, 1514).unwrap();
    let server = std::thread::spawn(move || echo(runtime(2, right)));
    let mut client = runtime(1, left);
    let socket = client.stream_socket().unwrap();
    let peer = SocketAddr::from(([10, 77, 0, 2], 7));
    assert_eq!(client.connect(socket, peer), Err(Error::InProgress));
    let said = vec![9; 50_000];
    let (mut sent, mut heard) = (0, Vec::new());
    let mut buffer = [0; 4096];
    while heard.len() < said.len() {
        match client.write(socket, &said[sent..]) {
            Ok(len) => sent += len,
            Err(error) => assert!(matches!(error, Error::WouldBlock), "{error}"),
        }
        client.wait(PATIENCE).unwrap();
        client.next_event().expect("within patience");
        while let Ok(len) = client.read(socket, &mut buffer) {
            heard.extend_from_slice(&buffer[..len]);
        }
    }
    assert_eq!(heard, said);
    client.close(socket).unwrap();
    while client.socket_count() > 0 {
        client.wait(Some(Duration::from_millis(1))).unwrap();
    }
    server.join().unwrap();
}

#[test]
fn the_descriptor_is_readable_when_a_round_has_something_to_do() {
    let (left, right) = joined_by_copy(256, 1514).unwrap();
    let (mut here, mut there) = (runtime(1, left), runtime(2, right));
    let is_ready =
        |runtime: &Runtime, wait| poll(&[(runtime.as_fd(), Interest::READ)], Some(wait)).unwrap() == 1;
    here.watch();
    there.watch();
    here.poll();
    assert!(!is_ready(&here, Duration::ZERO) && !is_ready(&there, Duration::ZERO));
    let socket = here.stream_socket().unwrap();
    let _ = here.connect(socket, "10.77.0.2:7".parse().unwrap());
    here.poll();
    assert!(is_ready(&there, Duration::ZERO), "a question for its link address");
    there.poll();
    assert!(is_ready(&here, Duration::ZERO), "the answer");
    for _ in 0..3 {
        here.poll();
        there.poll();
    }
    assert_eq!(here.take_error(socket), Ok(Some(Error::ConnectionRefused)));
    let echo = here.datagram_socket().unwrap();
    here.connect(echo, "10.77.0.2:7".parse().unwrap()).unwrap();
    here.send_to(echo, b"x", None).unwrap();
    here.settle();
    assert!(is_ready(&here, Duration::ZERO), "something was written");
}
