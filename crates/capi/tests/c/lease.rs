//! Servers without rights beside the host's own at one address of one NIC, by leave of the mux.

use crate::installed::Installed;
use crate::muxed::{Place, ask, beside_a_mux, somebody, start, start_hosts};
use std::path::Path;
use std::process::Command;
use tidegate_testbed::{Layout, Process, Testbed};

const PAGE: &str = "Hello from user space\n";

/// A server in C of a user without rights, at that port of the host's address.
fn serve(bed: &Testbed, installed: &Installed, program: &Path, place: &Place, port: &str) -> Process {
    let at = format!("10.78.0.2:{port}");
    start(bed, installed, somebody(), program, &[&place.port(bed, ""), &at, port])
}

#[test]
fn servers_of_no_rights_share_an_address_with_the_host_and_each_other() {
    let installed = Installed::new();
    let program = installed.example("http");
    let bed = Testbed::new(&Layout::unpinned()).expect("two namespaces (run as root)");
    beside_a_mux(&bed, |place| {
        let first = serve(&bed, &installed, &program, place, "9000");
        let _second = serve(&bed, &installed, &program, place, "9001");
        let _host = start_hosts(&bed, "9002", &installed.path("usr/include"));
        for port in ["9000", "9001"] {
            assert_eq!(ask(&bed, port), PAGE);
        }
        assert!(ask(&bed, "9002").contains("tidegate.h"));
        drop(first);
        assert_eq!(ask(&bed, "9001"), PAGE, "a neighbour's death is none of its business");
        assert!(ask(&bed, "9000").contains("Failed to connect"), "the port is the host's again");
        let _again = serve(&bed, &installed, &program, place, "9000");
        assert_eq!(ask(&bed, "9000"), PAGE);
    });
}

#[test]
fn a_trusted_server_has_a_queue_of_the_nic_and_nobody_has_none() {
    let installed = Installed::new();
    let program = installed.example("http");
    let bed = Testbed::new(&Layout::unpinned()).expect("two namespaces (run as root)");
    beside_a_mux(&bed, |place| {
        let port = place.port(&bed, "/queue=0");
        let _neighbour = serve(&bed, &installed, &program, place, "9001");
        let _trusted = start(&bed, &installed, 0, &program, &[&port, "10.78.0.2:9000", "9000"]);
        assert_eq!(ask(&bed, "9000"), PAGE);
        assert_eq!(ask(&bed, "9001"), PAGE);
        let refused = |port: &str, with: &str| {
            let mut command = Command::new(&program);
            command.args([port, "10.78.0.2:9003", "9003"]).env("LD_LIBRARY_PATH", installed.lib());
            let output = bed.server().output(command).expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.code() == Some(1) && said.contains(with), "{said}");
        };
        refused(&port, "queue");
        refused(&place.port(&bed, "/queue=7"), "queues 0 to 0");
        refused(&place.port(&bed, "/rank=7"), "queue=N");
    });
}
