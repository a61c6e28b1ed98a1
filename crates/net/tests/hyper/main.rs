//! hyper serving over our streams, asked by curl and wrk over the kernel's stack; and what else streams promise. A TAP device
//! in a network namespace of each test's own joins the two.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::future::Future;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::process::{Command, Output};
use tidegate_net::{Net, TcpListener, TcpStream};
use tidegate_socket::{Runtime, RuntimeConfig};
use tidegate_sys::netlink::{Address, Netlink};
use tidegate_sys::netns::Netns;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const OURS: &str = "10.77.0.2";
const KERNELS: &str = "10.77.0.1";
const BIG_LEN: usize = 3 << 20;

/// Runs a test as the only task of a runtime in a namespace with a device to the kernel's stack.
fn in_namespace<F: Future<Output = ()>>(
    builder: fn() -> tokio::runtime::Runtime,
    test: impl FnOnce(Net) -> F + Send,
) {
    let netns = Netns::create().expect("a namespace (run as root)");
    let run = || {
        builder().block_on(async {
            let ours: IpAddr = OURS.parse().unwrap();
            let stack = Runtime::on_tap("tg0", [ours], RuntimeConfig::default()).expect("a TAP device");
            let mut netlink = Netlink::open().unwrap();
            let loopback = netlink.link("lo").unwrap().ifindex;
            netlink.set_up(loopback, true).unwrap();
            let ifindex = netlink.link("tg0").unwrap().ifindex;
            netlink.add_address(ifindex, Address { ip: KERNELS.parse().unwrap(), prefix_len: 24 }).unwrap();
            test(Net::new(stack).expect("a driver")).await;
        });
    };
    netns.run(run).expect("entered");
}

fn current_thread() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn multi_thread() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn at(port: u16) -> SocketAddr {
    SocketAddr::new(OURS.parse().unwrap(), port)
}

/// A program, on a thread of this namespace.
async fn output(program: &'static str, args: &[&str]) -> Output {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let run = move || Command::new(program).args(args).output().unwrap_or_else(|e| panic!("{program}: {e}"));
    tokio::task::spawn_blocking(run).await.unwrap()
}

/// `/big` is big, anything else is small; a body that is sent comes back.
async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let is_big = request.uri().path() == "/big";
    let sent = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let body = match (is_big, sent.is_empty()) {
        (true, _) => Bytes::from(vec![b'x'; BIG_LEN]),
        (_, true) => Bytes::from_static(b"hello"),
        (_, false) => sent,
    };
    Ok(Response::new(Full::new(body)))
}

/// hyper over our listener, until the runtime ends.
fn serve(listener: TcpListener) {
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            let io = TokioIo::new(stream);
            let connection =
                hyper::server::conn::http1::Builder::new().serve_connection(io, service_fn(answer));
            tokio::spawn(async move {
                // A client that goes away in the middle is no fault of the server.
                let _ = connection.await;
            });
        }
    });
}

async fn curl_and_wrk_are_served(net: Net) {
    serve(TcpListener::bind(&net, at(9001)).unwrap());
    let url = "http://10.77.0.2:9001/";
    let hello = output("curl", &["-sS", "-m", "30", url, url]).await;
    assert_eq!(hello.stdout, b"hellohello", "{hello:?}");
    let echo = output("curl", &["-sS", "-m", "30", "-d", &"y".repeat(100_000), url]).await;
    assert_eq!(echo.stdout, vec![b'y'; 100_000]);
    let big = output("curl", &["-sS", "-m", "60", "http://10.77.0.2:9001/big"]).await;
    assert!(big.stdout == vec![b'x'; BIG_LEN], "{} bytes", big.stdout.len());
    let wrk = output("wrk", &["-t1", "-c20", "-d1s", url]).await;
    let said = String::from_utf8_lossy(&wrk.stdout).into_owned();
    assert!(
        said.contains("Requests/sec") && !said.contains("Socket errors") && !said.contains("Non-2xx"),
        "{said}"
    );
    eprintln!("{said}");
}

#[test]
fn hyper_serves_curl_and_wrk_on_a_current_thread_runtime() {
    in_namespace(current_thread, curl_and_wrk_are_served);
}

#[test]
fn hyper_serves_curl_and_wrk_on_a_multi_thread_runtime() {
    in_namespace(multi_thread, curl_and_wrk_are_served);
}

#[test]
fn a_client_of_ours_talks_to_a_server_of_the_kernels_in_two_halves() {
    in_namespace(current_thread, |net| async move {
        let listener = tokio::net::TcpListener::bind((KERNELS, 0)).await.unwrap();
        let peer = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let (mut stream, from) = listener.accept().await.unwrap();
            let mut all = Vec::new();
            stream.read_to_end(&mut all).await.unwrap();
            stream.write_all(&all).await.unwrap();
            from
        });
        let stream = TcpStream::connect(&net, peer).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), peer);
        let local = stream.local_addr().unwrap();
        let (mut reading, mut writing) = stream.into_split();
        let sent: Vec<u8> = (0..500_000u32).map(|n| (n % 251) as u8).collect();
        let expected = sent.clone();
        let writer = tokio::spawn(async move {
            writing.write_all(&sent).await.unwrap();
            // Dropped here, which ends the direction.
        });
        let mut back = Vec::new();
        reading.read_to_end(&mut back).await.unwrap();
        writer.await.unwrap();
        assert!(back == expected, "{} bytes", back.len());
        assert_eq!(server.await.unwrap(), local);
        drop(reading);
        net.drained().await;
    });
}

#[test]
fn a_port_where_nobody_listens_refuses() {
    in_namespace(current_thread, |net| async move {
        let refused = TcpStream::connect(&net, SocketAddr::new(KERNELS.parse().unwrap(), 9)).await;
        assert_eq!(refused.err().map(|e| e.kind()), Some(ErrorKind::ConnectionRefused));
        let twice = TcpListener::bind(&net, at(80)).unwrap();
        let taken = TcpListener::bind(&net, twice.local_addr().unwrap());
        assert_eq!(taken.err().map(|e| e.kind()), Some(ErrorKind::AddrInUse));
        drop(twice);
        TcpListener::bind(&net, at(80)).unwrap();
    });
}

#[test]
fn futures_that_are_dropped_lose_nothing() {
    in_namespace(current_thread, |net| async move {
        let listener = TcpListener::bind(&net, at(80)).unwrap();
        // Nobody is there yet: the future is polled once and dropped, again and again.
        for _ in 0..10 {
            tokio::select! {
                biased;
                _ = listener.accept() => panic!("nobody connected"),
                () = tokio::task::yield_now() => {}
            }
        }
        let mut client = tokio::net::TcpStream::connect(at(80)).await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut byte = [0; 1];
        for n in 0..100u8 {
            tokio::select! {
                biased;
                _ = stream.read(&mut byte) => panic!("nothing was sent"),
                () = tokio::task::yield_now() => {}
            }
            client.write_all(&[n]).await.unwrap();
            stream.read_exact(&mut byte).await.unwrap();
            assert_eq!(byte, [n]);
        }
        stream.shutdown().await.unwrap();
        stream.shutdown().await.unwrap();
        assert_eq!(client.read(&mut byte).await.unwrap(), 0);
    });
}

#[test]
fn a_reader_that_does_not_read_stops_the_writer() {
    in_namespace(current_thread, |net| async move {
        let listener = TcpListener::bind(&net, at(80)).unwrap();
        let mut client = tokio::net::TcpStream::connect(at(80)).await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        let block = vec![7; 1 << 20];
        let mut written = 0;
        // As much as both sides' buffers hold, and then no more until somebody reads.
        let stopped = tokio::time::timeout(std::time::Duration::from_millis(300), async {
            loop {
                written += stream.write(&block).await.unwrap();
            }
        });
        assert!(stopped.await.is_err());
        let writer = tokio::spawn(async move {
            stream.write_all(b"the end").await.unwrap();
        });
        let mut all = Vec::new();
        client.read_to_end(&mut all).await.unwrap();
        writer.await.unwrap();
        assert_eq!(all.len(), written + 7);
    });
}

#[test]
fn the_driver_ends_with_its_last_owner() {
    in_namespace(current_thread, |net| async move {
        let listener = TcpListener::bind(&net, at(80)).unwrap();
        drop(net);
        drop(listener);
        let metrics = tokio::runtime::Handle::current().metrics();
        while metrics.num_alive_tasks() > 0 {
            tokio::task::yield_now().await;
        }
    });
}
