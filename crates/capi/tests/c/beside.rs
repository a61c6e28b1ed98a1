//! Stacks of different protocols on one NIC at one time: what one of them speaks is none of the others' business.
//!
//! ```text
//!   10.78.0.2:9000   a stack with BBR and Fast Open     a process without rights
//!            :9001   a stack with neither               another one
//!            :9002   the kernel's
//! ```

use crate::installed::Installed;
use crate::muxed::{Place, beside_a_mux, somebody, start, start_hosts};
use std::path::Path;
use std::process::Command;
use tidegate_sys::ethtool::Offload;
use tidegate_testbed::{Capture, Layout, Process, Testbed, Trace};

/// Asks with the SYN, as often as it is told; for each, the answer, and whether the SYN's text was taken (TCP_INFO:
/// TCPI_OPT_SYN_DATA).
const CLIENT: &str = r#"
import socket, struct, sys
host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
MSG_FASTOPEN, TCPI_OPT_SYN_DATA = 0x20000000, 32
for _ in range(count):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 20, 0))
        s.sendto(b"GET / HTTP/1.0\r\n\r\n", MSG_FASTOPEN, (host, port))
        answer = s.recv(100)
        options = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)[5]
        print(answer.split()[0].decode(), "early" if options & TCPI_OPT_SYN_DATA else "late")
        s.shutdown(socket.SHUT_WR)
        while s.recv(4096): pass
"#;

fn ask(bed: &Testbed, port: &str, count: u32) -> Vec<String> {
    let mut command = Command::new("python3");
    command.args(["-c", CLIENT, "10.78.0.2", port, &count.to_string()]);
    let output = bed.client().output(command).expect("python3");
    assert!(output.status.success(), "{port}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

fn choosy(
    bed: &Testbed,
    installed: &Installed,
    program: &Path,
    place: &Place,
    [port, congestion, fast_open]: [&str; 3],
) -> Process {
    let at = format!("10.78.0.2:{port}");
    start(bed, installed, somebody(), program, &[&place.port(bed, ""), &at, port, congestion, fast_open])
}

/// SYN-ACKs of that port, and those of them with a Fast Open cookie (RFC 7413 section 4.1.1).
fn answers(trace: &Trace, port: &str) -> (usize, usize) {
    let syn_ack = format!("tcp.flags.syn == 1 && tcp.flags.ack == 1 && tcp.srcport == {port}");
    let count = |filter: &str| trace.frame_count(filter).expect("tshark");
    (count(&syn_ack), count(&format!("{syn_ack} && tcp.option_kind == 34")))
}

#[test]
fn stacks_of_two_versions_and_the_kernels_serve_on_one_nic_each_by_its_own_protocols() {
    let installed = Installed::new();
    let program = installed.compile(include_str!("choosy.c"), &[]);
    let bed = Testbed::new(&Layout::unpinned()).expect("two namespaces (run as root)");
    // The kernel would leave checksums to a NIC that is not there.
    bed.server().set_offload(Offload::TxChecksum, false).expect("ethtool");
    beside_a_mux(&bed, |place| {
        let _new = choosy(&bed, &installed, &program, place, ["9000", "bbr", "16"]);
        let _old = choosy(&bed, &installed, &program, place, ["9001", "newreno", "0"]);
        let _hosts = start_hosts(&bed, "9002", &installed.path("usr/include"));
        let capture = Capture::start(bed.client(), "tcp").expect("tcpdump");
        assert_eq!(ask(&bed, "9000", 3), ["bbr late", "bbr early", "bbr early"]);
        // The kernel keeps cookies by address, and shows the others one that is none of theirs.
        assert_eq!(ask(&bed, "9001", 3), ["newreno late"; 3]);
        assert_eq!(ask(&bed, "9002", 3), ["HTTP/1.0 late"; 3]);
        assert_eq!(ask(&bed, "9000", 1), ["bbr early"]);
        let trace = capture.finish().expect("a capture");
        assert_eq!(trace.faults().expect("tshark"), [""; 0]);
        let (syn_acks, cookies) = answers(&trace, "9000");
        assert!(
            syn_acks >= 4 && (1..syn_acks).contains(&cookies),
            "the first one brings it: {cookies} of {syn_acks}"
        );
        for port in ["9001", "9002"] {
            let (syn_acks, cookies) = answers(&trace, port);
            assert!(syn_acks >= 3 && cookies == 0, "{port}: {cookies} of {syn_acks}");
        }
        let early = "tcp.flags.syn == 1 && tcp.flags.ack == 0 && tcp.dstport == 9000 && tcp.len > 0";
        assert!(trace.frame_count(early).expect("tshark") >= 3);
    });
}
