//! The servers of examples/utcp, asked by curl and wrk over a TAP device in a namespace of the test's own.

use crate::installed::{Installed, root, run};
use crate::muxed::{PATIENCE, ask, start as start_at, start_hosts};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use tidegate_sys::netlink::{Address, Netlink};
use tidegate_sys::netns::Netns;
use tidegate_testbed::{Layout, Testbed};

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server and gives the kernel an address at the other end of its TAP device.
fn start(command: &mut Command) -> Server {
    let mut server = Server(command.stdout(Stdio::piped()).spawn().expect("it starts"));
    let mut line = String::new();
    let said = server.0.stdout.take().expect("piped");
    BufReader::new(said).read_line(&mut line).expect("readable");
    assert_eq!(line, "ready\n");
    let mut netlink = Netlink::open().expect("netlink");
    let ifindex = netlink.link("web0").expect("the server's device").ifindex;
    let ip = "10.77.0.1".parse().expect("an address");
    netlink.add_address(ifindex, Address { ip, prefix_len: 24 }).expect("an address");
    server
}

fn inside(work: impl FnOnce() + Send) {
    Netns::create().expect("a namespace (run as root)").run(work).expect("entered");
}

fn curl(arguments: &[&str]) -> String {
    run(Command::new("curl").args(["--silent", "--show-error", "--max-time", "20", "--fail"]).args(arguments))
}

#[test]
fn a_server_of_sixty_lines_serves_a_page() {
    let source = include_str!("../../../../examples/utcp/http.c");
    assert!(source.lines().count() <= 60, "it was to be short");
    let installed = Installed::new();
    let program = installed.example("http");
    let page: String = (0..20_000).map(|line| format!("line {line}\n")).collect();
    std::fs::write(installed.path("page.html"), &page).expect("writable");
    inside(|| {
        let mut command = Command::new(&program);
        command.args(["tap:web0", "10.77.0.2", "9000"]).arg(installed.path("page.html"));
        let _server = start(command.env("LD_LIBRARY_PATH", installed.lib()));
        assert!(curl(&["http://10.77.0.2:9000/"]) == page);
        assert_eq!(curl(&["http://10.77.0.2:9000/", "http://10.77.0.2:9000/"]).len(), 2 * page.len());
        let status = run(Command::new("curl").args([
            "-s",
            "-o",
            "/dev/null",
            "-w",
            "%{http_code}",
            "http://10.77.0.2:9000/x",
        ]));
        assert_eq!(status, "404");
        let said = run(Command::new("wrk").args(["-t1", "-c32", "-d1", "http://10.77.0.2:9000/"]));
        assert!(said.contains("requests in") && !said.contains("Non-2xx"), "{said}");
        assert!(!said.contains("Socket errors"), "{said}");
    });
}

#[test]
fn a_server_that_owns_its_frames_serves_a_page() {
    let installed = Installed::new();
    let program = installed.example("frames");
    inside(|| {
        let mut command = Command::new(&program);
        command.args(["web0", "10.77.0.2", "9000"]);
        let _server = start(command.env("LD_LIBRARY_PATH", installed.lib()));
        for _ in 0..20 {
            assert_eq!(curl(&["http://10.77.0.2:9000/"]), "Hello from user space\n");
        }
    });
}

#[test]
fn a_server_shares_a_nic_with_the_host() {
    let installed = Installed::new();
    let program = installed.example("http");
    let bed = Testbed::new(&Layout::default()).expect("two namespaces (run as root)");
    let arguments = ["dev:server0", "10.78.0.2:9000", "9000"];
    let _server = start_at(&bed, &installed, 0, &program, &arguments);
    assert_eq!(ask(&bed, "9000"), "Hello from user space\n");
    // The host answers beside it, and refuses what nobody serves.
    let _host = start_hosts(&bed, "9001", &installed.path("usr/include"));
    assert!(ask(&bed, "9001/tidegate.h").contains("TIDEGATE_H"));
    assert!(ask(&bed, "9002").contains("Failed to connect"));
    assert_eq!(ask(&bed, "9000"), "Hello from user space\n");
    let second = Command::new(&program)
        .args(["tap:x", "nonsense", "1"])
        .env("LD_LIBRARY_PATH", installed.lib())
        .output();
    assert_eq!(second.expect("it runs").status.code(), Some(1));
}

#[test]
fn the_same_server_runs_on_the_hosts_sockets() {
    let installed = Installed::new();
    let program = installed.example("http-host");
    let bed = Testbed::new(&Layout::unpinned()).expect("two namespaces (run as root)");
    let mut command = Command::new(&program);
    command.args(["host", "any", "9000"]).arg(root().join("examples/utcp/http.c"));
    let mut server = bed.server().spawn(command).expect("it starts");
    server.await_text("ready", PATIENCE).unwrap_or_else(|error| panic!("{error}: {}", server.said()));
    assert!(ask(&bed, "9000") == include_str!("../../../../examples/utcp/http.c"));
    load(&bed, &["--header", "Connection: close"]);
}

#[test]
fn a_server_takes_every_queue_of_a_nic() {
    let installed = Installed::new();
    let program = installed.example("http");
    let layout = Layout { queue_count: 2, ..Layout::unpinned() };
    let bed = Testbed::new(&layout).expect("two namespaces (run as root)");
    let arguments = ["dev:server0", "10.78.0.2:9000", "9000"];
    let _server = start_at(&bed, &installed, 0, &program, &arguments);
    // Which queue a flow comes by is chance: with fifty, both are used.
    for _ in 0..50 {
        assert_eq!(ask(&bed, "9000"), "Hello from user space\n");
    }
    load(&bed, &[]);
}

/// Many connections at once, all of which must be served.
fn load(bed: &Testbed, arguments: &[&str]) {
    let mut wrk = Command::new("wrk");
    wrk.args(["-t1", "-c32", "-d1"]).args(arguments).arg("http://10.78.0.2:9000/");
    let output = bed.client().output(wrk).expect("wrk");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("requests in") && !said.contains("Non-2xx"), "{said}");
    assert!(!said.contains("Socket errors"), "{said}");
}
