//! Connections that a program opens from a port of the host's address, to a host behind a gateway: the stack does no ARP there, and
//! goes by the kernel's routes and neighbours.

use crate::installed::Installed;
use crate::muxed::{beside_a_mux, open_to_all, somebody, start_hosts_at};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use tidegate_sys::netlink::{Address, Netlink};
use tidegate_testbed::{Layout, Testbed};

/// An address of the client's that is beyond its link for the server.
const FAR: &str = "192.0.2.9";

fn address(text: &str, prefix_len: u8) -> Address {
    Address { ip: text.parse().expect("an address"), prefix_len }
}

/// A testbed whose client is the server's gateway to [`FAR`].
fn bed_with_a_gateway() -> Testbed {
    let bed = Testbed::new(&Layout::unpinned()).expect("two namespaces (run as root)");
    let mut clients = Netlink::open_in(bed.client().netns()).expect("netlink");
    let ifindex = clients.link(bed.client().device()).expect("its device").ifindex;
    clients.add_address(ifindex, address(FAR, 32)).expect("added");
    let mut servers = Netlink::open_in(bed.server().netns()).expect("netlink");
    let ifindex = servers.link(bed.server().device()).expect("its device").ifindex;
    let gateway = Some(bed.client().ipv4().into());
    servers.add_route(address("192.0.2.0", 24), gateway, ifindex).expect("added");
    bed
}

/// What the program gets from a web server at `peer`.
fn reach(bed: &Testbed, installed: &Installed, uid: u32, program: &Path, port: &str, peer: &str) -> String {
    let mut command = Command::new(program);
    command.args([port, "10.78.0.2:5000", peer, "8000"]).env("LD_LIBRARY_PATH", installed.lib());
    command.uid(uid).gid(uid);
    let output = bed.server().output(command).expect("it runs");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{port} to {peer}: {}\n{complaint}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_program_reaches_hosts_on_the_link_and_beyond_it() {
    let installed = Installed::new();
    let program = installed.compile(include_str!("reach.c"), &[]);
    open_to_all(&installed.path(""));
    let bed = bed_with_a_gateway();
    let _peer = start_hosts_at(bed.client(), "8000", &installed.path("usr/include"));
    let near = bed.client().ipv4().to_string();
    for peer in [FAR, &near] {
        let got = reach(&bed, &installed, 0, &program, "dev:server0", peer);
        assert!(got.contains("200 OK") && got.contains("tidegate.h"), "{got}");
    }
    // What the kernel knows by now it is to find out again.
    let mut flush = Command::new("ip");
    flush.args(["neigh", "flush", "dev", "server0"]);
    assert!(bed.server().status(flush).expect("it runs").success());
    beside_a_mux(&bed, |place| {
        for peer in [FAR, &near] {
            let got = reach(&bed, &installed, somebody(), &program, &place.port(&bed, ""), peer);
            assert!(got.contains("200 OK") && got.contains("tidegate.h"), "{got}");
        }
    });
}
