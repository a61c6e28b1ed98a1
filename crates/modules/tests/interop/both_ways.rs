//! Transfers between the kernel's TCP and ours.

use crate::pattern::{self, Transfer};
use crate::service::Transfers;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use tidegate_fixture::StackHost;
use tidegate_stack::{Closed, TcpConfig};
use tidegate_testbed::{Capture, Layout, Testbed};

/// Where our stack listens.
const PORT: u16 = 80;

type Ours = StackHost<Transfers>;

fn ours(bed: &Arc<Testbed>, faults: &str) -> Ours {
    StackHost::start(bed, faults, TcpConfig::default(), PORT, Transfers::default())
}

fn testbed() -> Arc<Testbed> {
    Arc::new(Testbed::new(&Layout::unpinned()).expect("a testbed (as root)"))
}

const BULK_LEN: u64 = 8 << 20;
const PATIENCE: Duration = Duration::from_secs(60);

fn addresses(bed: &Testbed) -> [IpAddr; 2] {
    [bed.server().ipv4().into(), bed.server().ipv6().into()]
}

fn connect(addr: IpAddr) -> TcpStream {
    let stream = TcpStream::connect_timeout(&SocketAddr::new(addr, PORT), PATIENCE).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// The kernel asks our stack for all of `plan` on one connection, over each family.
fn kernel_asks(bed: &Testbed, plan: &[Transfer]) {
    let addresses = addresses(bed);
    bed.client()
        .run(|| {
            for addr in addresses {
                let mut stream = connect(addr);
                plan.iter().for_each(|t| pattern::ask(&mut stream, *t).expect("a whole transfer"));
            }
        })
        .expect("a thread in the namespace");
}

/// The kernel serves; our stack asks for all of `plan` on one connection, over each family.
fn kernel_serves(bed: &Testbed, ours: &Ours, plan: &[Transfer]) {
    let listening: [IpAddr; 2] = [bed.client().ipv4().into(), bed.client().ipv6().into()];
    let before = ours.with_stack(|stack| stack.service().done_count);
    for addr in listening {
        let plan = plan.to_vec();
        bed.client()
            .run(|| {
                let listener = TcpListener::bind((addr, 0)).expect("a port");
                let remote = listener.local_addr().expect("an address");
                ours.with_stack(move |stack| stack.service_mut().open(remote, &plan));
                let (mut stream, _) = listener.accept().expect("a connection");
                stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
                stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
                pattern::serve(&mut stream).expect("whole transfers");
            })
            .expect("a thread in the namespace");
    }
    ours.await_quiet();
    let done = ours.with_stack(|stack| stack.service().done_count) - before;
    assert_eq!(done, 2 * plan.len());
}

const MIXED: [Transfer; 6] = [
    Transfer::Download(1),
    Transfer::Upload(1),
    Transfer::Download(BULK_LEN),
    Transfer::Upload(BULK_LEN),
    Transfer::Download(100_000),
    Transfer::Upload(1461),
];

fn all_ways(faults: &str, plan: &[Transfer]) {
    let bed = testbed();
    let ours = ours(&bed, faults);
    kernel_asks(&bed, plan);
    kernel_serves(&bed, &ours, plan);
    ours.await_quiet();
    let closed = ours.with_stack(|stack| stack.service().closed.clone());
    assert_eq!(closed, [Closed::Finished; 4]);
}

#[test]
fn a_good_wire() {
    all_ways("", &MIXED);
}

#[test]
fn one_percent_lost_each_way() {
    all_ways("loss=1%", &MIXED);
}

#[test]
fn five_percent_lost_each_way() {
    let plan = [Transfer::Download(1 << 20), Transfer::Upload(1 << 20), Transfer::Download(10)];
    all_ways("loss=5%", &plan);
}

#[test]
fn a_wire_with_every_fault() {
    let plan = [Transfer::Download(1 << 20), Transfer::Upload(1 << 20)];
    all_ways("loss=0.5%,duplicate=1%,corrupt=0.5%,reorder=3%,delay=1ms,jitter=1ms", &plan);
}

#[test]
fn many_short_connections_under_loss() {
    let bed = testbed();
    let ours = ours(&bed, "loss=1%");
    let addresses = addresses(&bed);
    let ask =
        |i: usize| pattern::ask(&mut connect(addresses[i % 2]), Transfer::Download(2000)).expect("whole");
    let client = || {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    bed.client().netns().set_current_thread().expect("root");
                    (0..50).for_each(ask);
                });
            }
        });
    };
    client();
    ours.await_quiet();
    assert_eq!(ours.counters().accepted_count, 400);
    assert_eq!(ours.counters().finished_count, 400);
}

#[test]
fn tshark_finds_no_fault_in_our_frames() {
    let bed = testbed();
    let ours = ours(&bed, "loss=2%");
    let capture = Capture::start(bed.client(), "").expect("tcpdump");
    let plan = [Transfer::Download(300_000), Transfer::Upload(100_000), Transfer::Download(5)];
    kernel_asks(&bed, &plan);
    kernel_serves(&bed, &ours, &plan);
    let trace = capture.finish().expect("a capture");
    assert!(trace.frame_count("tcp").expect("tshark") > 500);
    assert_eq!(trace.faults().expect("tshark"), [""; 0]);
}
