//! Beside the kernel's TCP, over a TAP device in a network namespace of the test's own.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use tidegate_base::Duration;
use tidegate_socket::{Error, Readiness, Runtime, RuntimeConfig};
use tidegate_sys::netlink::{Address, Netlink};
use tidegate_sys::netns::Netns;

const OURS: [&str; 2] = ["10.77.0.2", "fd77::2"];
const KERNELS: [&str; 2] = ["10.77.0.1", "fd77::1"];
const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));

/// Runs `check` with a runtime whose link the kernel has the other end of.
fn beside_the_kernel(check: impl FnOnce(Runtime) + Send) {
    let netns = Netns::create().expect("a namespace (run as root)");
    netns
        .run(|| {
            let addresses = OURS.map(|text| text.parse::<IpAddr>().unwrap());
            let runtime = Runtime::on_tap("utcp0", addresses, RuntimeConfig::default()).unwrap();
            let mut netlink = Netlink::open().unwrap();
            let ifindex = netlink.link("utcp0").unwrap().ifindex;
            for (text, prefix_len) in KERNELS.into_iter().zip([24, 64]) {
                netlink.add_address(ifindex, Address { ip: text.parse().unwrap(), prefix_len }).unwrap();
            }
            check(runtime);
        })
        .expect("entered");
}

/// On a thread of the same namespace.
fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> std::thread::JoinHandle<T> {
    std::thread::spawn(work)
}

#[test]
fn the_kernel_asks_and_gets_an_answer_of_a_megabyte() {
    beside_the_kernel(|mut runtime| {
        for (family, ours) in OURS.into_iter().enumerate() {
            let local = SocketAddr::new(ours.parse().unwrap(), 80);
            let listener = runtime.stream_socket().unwrap();
            runtime.bind(listener, local).unwrap();
            runtime.listen(listener, 8).unwrap();
            let client = aside(move || {
                let mut stream = TcpStream::connect(local).unwrap();
                stream.write_all(b"please").unwrap();
                let mut all = Vec::new();
                stream.read_to_end(&mut all).unwrap();
                all
            });
            let answer: Vec<u8> = (0..1u32 << 20).map(|at| (at % 251) as u8).collect();
            let mut written = 0;
            let mut socket = None;
            while socket.is_none() || written < answer.len() {
                runtime.wait(PATIENCE).unwrap();
                let (ready, _) = runtime.next_event().expect("within patience");
                if ready == listener {
                    socket = Some(runtime.accept(listener).unwrap().0);
                    continue;
                }
                match runtime.write(ready, &answer[written..]) {
                    Ok(len) => written += len,
                    Err(error) => assert_eq!(error, Error::WouldBlock),
                }
            }
            let socket = socket.unwrap();
            let mut request = [0; 100];
            assert_eq!(runtime.read(socket, &mut request), Ok(6));
            runtime.close(socket).unwrap();
            runtime.close(listener).unwrap();
            while runtime.socket_count() > 0 {
                runtime.wait(Some(Duration::from_millis(1))).unwrap();
            }
            assert!(client.join().unwrap() == answer, "family {family}");
        }
    });
}

#[test]
fn we_ask_the_kernel() {
    beside_the_kernel(|mut runtime| {
        for kernels in KERNELS {
            // The kernel's own address may be in question for a moment after it was given (RFC 4862 section 5.4).
            let peer = SocketAddr::new(kernels.parse().unwrap(), 8080);
            let listener = loop {
                match TcpListener::bind(peer) {
                    Ok(listener) => break listener,
                    Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::AddrNotAvailable),
                }
                runtime.wait(Some(Duration::from_millis(10))).unwrap();
            };
            let server = aside(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut all = Vec::new();
                stream.read_to_end(&mut all).unwrap();
                stream.write_all(b"heard").unwrap();
                all.len()
            });
            let socket = runtime.stream_socket().unwrap();
            assert_eq!(runtime.connect(socket, peer), Err(Error::InProgress));
            let (mut left, data) = (300_000, [3; 10_000]);
            while left > 0 {
                match runtime.write(socket, &data[..left.min(data.len())]) {
                    Ok(len) => left -= len,
                    Err(error) => {
                        assert_eq!(error, Error::WouldBlock);
                        runtime.wait(PATIENCE).unwrap();
                        runtime.next_event().expect("within patience");
                    }
                }
            }
            runtime.shutdown(socket, tidegate_socket::Shutdown::Write).unwrap();
            while !runtime.readiness(socket).unwrap().has(Readiness::HANGUP) {
                runtime.wait(PATIENCE).unwrap();
                runtime.next_event().expect("within patience");
            }
            let mut buffer = [0; 100];
            assert_eq!(runtime.read(socket, &mut buffer), Ok(5));
            assert_eq!(&buffer[..5], b"heard");
            assert_eq!(runtime.read(socket, &mut buffer), Ok(0));
            runtime.close(socket).unwrap();
            assert_eq!(server.join().unwrap(), 300_000);
        }
    });
}

#[test]
fn the_kernel_refuses() {
    beside_the_kernel(|mut runtime| {
        let socket = runtime.stream_socket().unwrap();
        let peer = SocketAddr::new(KERNELS[0].parse().unwrap(), 9);
        assert_eq!(runtime.connect(socket, peer), Err(Error::InProgress));
        runtime.wait(PATIENCE).unwrap();
        let (ready, readiness) = runtime.next_event().expect("within patience");
        assert!(ready == socket && readiness.has(Readiness::ERROR));
        assert_eq!(runtime.read(socket, &mut [0; 1]), Err(Error::ConnectionRefused));
    });
}
