//! Fast Open with the kernel as client: the first connection brings a cookie home, the second sends its request with its
//! SYN and gets the answer without saying anything else.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use tidegate_base::{HashKey, Sum};
use tidegate_fastopen::{FastOpen, FastOpenCounters};
use tidegate_fixture::StackHost;
use tidegate_packet::Pool;
use tidegate_stack::{Closed, Conn, ConnId, FetchError, Payload, Service, TcpConfig};
use tidegate_testbed::{Capture, Layout, Testbed};

const PORT: u16 = 80;
const ANSWER: &[u8] = b"a short answer";

/// Answers whatever comes, and closes when the peer does.
struct Answers;

impl Service for Answers {
    type Response = &'static [u8];
    type State = ();

    fn on_accept(&mut self, _peer: SocketAddr, _local: SocketAddr) -> bool {
        true
    }

    fn on_recv(&mut self, conn: &mut Conn<'_, Self>, _data: &[u8]) {
        conn.write(ANSWER);
    }

    fn on_closed(&mut self, _id: ConnId, _state: (), _why: Closed) {}

    fn response_len(response: &Self::Response) -> u64 {
        response.len() as u64
    }

    fn segment_len(_response: &Self::Response, _offset: u64, max: usize) -> usize {
        max
    }

    fn fetch(
        &mut self,
        response: &Self::Response,
        offset: u64,
        len: usize,
        pool: &mut Pool,
    ) -> Result<Payload, FetchError> {
        let bytes = &response[offset as usize..][..len];
        let mut frame = pool.alloc().ok_or(FetchError::NoFrame)?;
        frame.push_back(len).ok_or(FetchError::Gone)?.copy_from_slice(bytes);
        Ok(Payload { frame, sum: Sum::of(bytes) })
    }
}

/// Asks so many times, and says for each whether the text of the SYN was taken (TCP_INFO: TCPI_OPT_SYN_DATA).
const CLIENT: &str = r#"
import socket, struct, sys
host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
MSG_FASTOPEN, TCPI_OPT_SYN_DATA = 0x20000000, 32
for _ in range(count):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 20, 0))
        s.sendto(b"a request", MSG_FASTOPEN, (host, port))
        answer = s.recv(100)
        options = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)[5]
        print(answer.decode(), "early" if options & TCPI_OPT_SYN_DATA else "late")
        s.shutdown(socket.SHUT_WR)
        s.recv(1)
"#;

fn ask(bed: &Testbed, host: &str, count: u32) -> Vec<String> {
    ask_at(bed, host, PORT, count)
}

fn ask_at(bed: &Testbed, host: &str, port: u16, count: u32) -> Vec<String> {
    let mut command = Command::new("python3");
    command.args(["-c", CLIENT, host, &port.to_string(), &count.to_string()]);
    let output = bed.client().output(command).expect("python3");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn the_kernel_gets_a_cookie_and_then_asks_with_its_syn() {
    let bed = Arc::new(Testbed::new(&Layout::unpinned()).expect("a testbed (as root)"));
    let fast_open = FastOpen::new(HashKey::new([3; 16]));
    let config = TcpConfig { option: Some(fast_open.option()), ..TcpConfig::SERVER };
    let ours = StackHost::start(&bed, "", config, PORT, Answers);
    for host in [bed.server().ipv4().to_string(), bed.server().ipv6().to_string()] {
        let late = "a short answer late".to_owned();
        let early = "a short answer early".to_owned();
        assert_eq!(ask(&bed, &host, 1), [late], "{host}");
        let capture = Capture::start(bed.client(), "tcp").expect("tcpdump");
        assert_eq!(ask(&bed, &host, 1), std::slice::from_ref(&early), "{host}");
        let trace = capture.finish().expect("a capture");
        let count = |filter: &str| trace.frame_count(filter).expect("tshark");
        assert_eq!(count("tcp.flags.syn == 1 && tcp.flags.ack == 0 && tcp.len == 9"), 1);
        // Beside SYN and SYN-ACK only the client's acknowledgement may have crossed the answer.
        assert_eq!(count("frame.number <= 4 && tcp.srcport == 80 && tcp.len == 14"), 1);
        assert_eq!(ask(&bed, &host, 5), vec![early; 5], "{host}");
    }
    ours.await_quiet();
    let taken = FastOpenCounters { given_count: 2, taken_count: 12, refused_count: 0 };
    assert_eq!(fast_open.counters(), taken);
    assert_eq!(ours.counters().finished_count, 14);
}

#[test]
fn a_listener_without_it_serves_the_same_client_as_ever() {
    let bed = Arc::new(Testbed::new(&Layout::unpinned()).expect("a testbed (as root)"));
    let ours = StackHost::start(&bed, "", TcpConfig::SERVER, PORT, Answers);
    let host = bed.server().ipv4().to_string();
    assert_eq!(ask(&bed, &host, 3), vec!["a short answer late"; 3]);
    ours.await_quiet();
}

#[test]
fn early_answers_survive_loss() {
    let bed = Arc::new(Testbed::new(&Layout::unpinned()).expect("a testbed (as root)"));
    let fast_open = FastOpen::new(HashKey::new([3; 16]));
    let config = TcpConfig { option: Some(fast_open.option()), ..TcpConfig::SERVER };
    let ours = StackHost::start(&bed, "loss=5%", config, PORT, Answers);
    let host = bed.server().ipv4().to_string();
    let answers = ask(&bed, &host, 60);
    assert!(answers.iter().all(|answer| answer.starts_with("a short answer ")), "{answers:?}");
    assert!(fast_open.counters().taken_count > 0);
    ours.await_quiet();
}

#[test]
fn a_listener_opened_later_has_controls_and_options_of_its_own() {
    let bed = Arc::new(Testbed::new(&Layout::unpinned()).expect("a testbed (as root)"));
    let ours = StackHost::start(&bed, "", TcpConfig::SERVER, PORT, Answers);
    let fast_open = FastOpen::new(HashKey::new([3; 16]));
    let host = bed.server().ipv4().to_string();
    let late = "a short answer late".to_owned();
    let early = "a short answer early".to_owned();
    assert_eq!(ask(&bed, &host, 2), vec![late.clone(); 2]);
    let option = Some(fast_open.option());
    ours.with_stack(move |stack| {
        let config = TcpConfig { congestion: tidegate_bbr::BBR, option, ..TcpConfig::SERVER };
        let profile = stack.add_profile(config);
        stack.listen_with(None, 8080, profile);
    });
    assert_eq!(ask_at(&bed, &host, 8080, 2), [late.clone(), early]);
    // The kernel keeps cookies by address, and shows this one to a listener that knows nothing of it.
    assert_eq!(ask(&bed, &host, 2), vec![late; 2]);
    ours.await_quiet();
    assert_eq!(fast_open.counters().taken_count, 1);
}
