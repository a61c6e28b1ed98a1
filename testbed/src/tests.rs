//! The testbed itself: it carries traffic, its frames are whole, and it leaves nothing.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tidegate_sys::ethtool::{Ethtool, Offload};

use crate::{Capture, CpuMeter, Layout, Segmentation, Testbed, Trace};

const PATIENCE: Duration = Duration::from_secs(10);

/// One connection on which the server sends `byte_count` bytes; what the client took.
fn transfer(bed: &Testbed, ip: IpAddr, byte_count: usize) -> usize {
    let listener = bed.server().run(|| TcpListener::bind((ip, 0)).unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| listener.accept().unwrap().0.write_all(&vec![7; byte_count]).unwrap());
        let mut received = Vec::new();
        let mut stream = bed.client().run(|| TcpStream::connect(address).unwrap()).unwrap();
        stream.read_to_end(&mut received).unwrap();
        received.len()
    })
}

#[test]
fn both_families_carry_bytes_at_once() {
    let bed = Testbed::new(&Layout::unpinned()).unwrap();
    assert_eq!(transfer(&bed, bed.server().ipv4().into(), 100_000), 100_000);
    assert_eq!(transfer(&bed, bed.server().ipv6().into(), 100_000), 100_000);
}

#[test]
fn testbeds_live_side_by_side() {
    let beds: Vec<Testbed> = (0..3).map(|_| Testbed::new(&Layout::unpinned()).unwrap()).collect();
    for bed in &beds {
        assert_eq!(transfer(bed, bed.server().ipv4().into(), 1000), 1000);
    }
}

#[test]
fn receive_threads_sit_beside_their_side() {
    let bed = Testbed::new(&Layout { queue_count: 2, server_cpu: Some(0), ..Layout::default() }).unwrap();
    let threads = bed.server().receive_threads().unwrap();
    assert_eq!(threads.len(), 2);
    for thread in threads {
        let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap();
        assert!(status.contains("Cpus_allowed_list:\t0\n"), "{status}");
    }
}

#[test]
fn offloads_are_as_the_layout_says() {
    for (segmentation, tso) in [(Segmentation::Wire, false), (Segmentation::Virtual, true)] {
        let bed = Testbed::new(&Layout { segmentation, ..Layout::unpinned() }).unwrap();
        let on = |end: &crate::End, offload| {
            end.run(|| Ethtool::open(end.device()).unwrap().is_on(offload).unwrap()).unwrap()
        };
        assert_eq!(on(bed.server(), Offload::TcpSegmentation), tso);
        assert!(!on(bed.client(), Offload::TxChecksum));
        assert!(!on(bed.client(), Offload::GenericSegmentation));
    }
}

#[test]
fn a_program_is_killed_with_its_handle() {
    let bed = Testbed::new(&Layout::unpinned()).unwrap();
    let mut command = Command::new("sleep");
    command.arg("100");
    let process = bed.server().spawn(command).unwrap();
    let proc_dir = format!("/proc/{}", process.pid());
    assert!(Path::new(&proc_dir).exists());
    drop(process);
    assert!(!Path::new(&proc_dir).exists());
}

#[test]
fn a_server_that_dies_is_quoted() {
    let bed = Testbed::new(&Layout::unpinned()).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "echo out of luck; exit 1"]);
    let mut process = bed.server().spawn(command).unwrap();
    let address = SocketAddr::from((bed.server().ipv4(), 80));
    let error = bed.await_service(&mut process, address, PATIENCE).unwrap_err().to_string();
    assert!(error.contains("out of luck") && error.contains("10.78.0.2:80"), "{error}");
}

#[test]
fn a_named_testbed_stays_until_it_is_taken_down() {
    let name = format!("test{}", std::process::id());
    let layout = Layout::unpinned();
    drop(Testbed::up(&name, &layout).unwrap());
    let again = Testbed::named(&name, &layout).unwrap();
    assert_eq!(transfer(&again, again.server().ipv4().into(), 1000), 1000);
    assert!(Testbed::up(&name, &layout).is_err());
    Testbed::down(&name).unwrap();
    assert!(Testbed::named(&name, &layout).is_err());
}

/// What the client's end saw of one transfer.
fn captured(bed: &Testbed) -> Trace {
    let capture = Capture::start(bed.client(), "tcp").unwrap();
    transfer(bed, bed.server().ipv4().into(), 20_000);
    capture.finish().unwrap()
}

#[test]
fn a_capture_sees_frames_as_they_were_on_the_wire() {
    let bed = Testbed::new(&Layout::unpinned()).unwrap();
    bed.server().set_offload(Offload::TxChecksum, false).unwrap();
    let trace = captured(&bed);
    assert!(trace.frame_count("tcp.len > 0").unwrap() >= 14);
    assert_eq!(trace.frame_count("frame.len > 1514").unwrap(), 0);
    assert_eq!(trace.faults().unwrap(), [""; 0]);
}

#[test]
fn a_capture_finds_checksums_that_a_kernel_left_unfinished() {
    let bed = Testbed::new(&Layout::unpinned()).unwrap();
    let faults = captured(&bed).faults().unwrap();
    assert!(faults.iter().all(|fault| fault.contains("10.78.0.2 ")), "{faults:?}");
    assert!(faults.len() >= 14, "{faults:?}");
}

#[test]
fn a_busy_thread_shows_in_the_meter() {
    let bed = Testbed::new(&Layout { server_cpu: Some(0), ..Layout::default() }).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "while :; do :; done"]);
    let process = bed.server().spawn(command).unwrap();
    let meter = CpuMeter::start(0, &process.threads()).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let spent = meter.stop().unwrap();
    assert!(spent.threads > Duration::from_millis(20), "{spent:?}");
    assert!(spent.busy + Duration::from_millis(20) > spent.threads, "{spent:?}");
}
