//! An interface of the host, which goes on using it.

use crate::scene::{output, run, wire};
use crate::service::{Service, TIDEGATE};
use crate::site::Site;
use std::process::Command;
use std::time::Duration;
use tidegate_testbed::{Layout, Process, ScratchDir, Testbed};

const DEVICE: [&str; 6] = ["--dev", "server0", "--listen", "10.78.0.2:80", "--listen", "[fd78::2]:80"];
const PATIENCE: Duration = Duration::from_secs(10);

fn start(bed: &Testbed, site: &Site) -> Service {
    Service::start(bed.server().netns(), &[&["--root", site.root()], &DEVICE[..]].concat())
}

/// Python's web server in the server's namespace, on `port` of all addresses.
fn host_server(bed: &Testbed, site: &Site, port: &str) -> Process {
    let mut python = Command::new("python3");
    python.args(["-m", "http.server", "--bind", "0.0.0.0", "--directory", site.root(), port]);
    let mut process = bed.server().spawn(python).expect("python3");
    let address = format!("10.78.0.2:{port}").parse().expect("an address");
    bed.await_service(&mut process, address, PATIENCE).expect("it listens");
    process
}

fn get(bed: &Testbed, url: &str) -> String {
    run(bed.client().netns(), "curl", &["-gsSf", "--max-time", "5", url])
}

#[test]
fn the_host_keeps_its_address_and_its_servers() {
    let (bed, site, others) = (wire(), Site::new(), Site::new());
    others.write("whose.txt", b"the host's");
    site.write("whose.txt", b"tidegate's");
    let _host = host_server(&bed, &others, "8080");
    let service = start(&bed, &site);
    for _ in 0..3 {
        assert_eq!(get(&bed, "http://10.78.0.2/whose.txt"), "tidegate's");
        assert_eq!(get(&bed, "http://[fd78::2]/whose.txt"), "tidegate's");
        assert_eq!(get(&bed, "http://10.78.0.2:8080/whose.txt"), "the host's");
    }
    let wrk = run(bed.client().netns(), "wrk", &["-t1", "-c32", "-d1s", "http://10.78.0.2/whose.txt"]);
    assert!(!wrk.contains("Socket errors") && !wrk.contains("Non-2xx"), "{wrk}");
    assert!(service.terminate().success());
    assert_eq!(get(&bed, "http://10.78.0.2:8080/whose.txt"), "the host's");
}

/// nginx in the server's namespace, on `port` of the address that is served.
pub(crate) fn nginx(bed: &Testbed, site: &Site, scratch: &ScratchDir, port: u16) -> Process {
    let directory = scratch.path().display();
    let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary: String =
        kinds.iter().map(|kind| format!("{kind}_temp_path {directory}/{kind};")).collect();
    let configuration = format!(
        "daemon off; master_process off; pid {directory}/pid; error_log {directory}/error.log;
         events {{}} http {{ access_log off; {temporary}
         server {{ listen 10.78.0.2:{port}; root {}; }} }}",
        site.root()
    );
    let file = scratch.write("nginx.conf", configuration).expect("a temporary file");
    let mut command = Command::new("nginx");
    command.arg("-e").arg(scratch.join("error.log")).arg("-p").arg(scratch.path()).arg("-c").arg(file);
    let mut process = bed.server().spawn(command).expect("nginx (make deps)");
    let address = format!("10.78.0.2:{port}").parse().expect("an address");
    bed.await_service(&mut process, address, PATIENCE).expect("it listens");
    process
}

#[test]
fn nginx_on_the_same_address_and_tidegate_serve_under_each_others_load() {
    let (bed, site, others, scratch) = (wire(), Site::new(), Site::new(), ScratchDir::new());
    site.write("whose.txt", b"tidegate's");
    others.write("whose.txt", b"nginx's");
    let _nginx = nginx(&bed, &others, &scratch.expect("a temporary directory"), 8080);
    let _service = start(&bed, &site);
    let [ours, theirs] = ["http://10.78.0.2/whose.txt", "http://10.78.0.2:8080/whose.txt"];
    for (loaded, asked, answer) in [(ours, theirs, "nginx's"), (theirs, ours, "tidegate's")] {
        std::thread::scope(|scope| {
            let load = scope.spawn(|| run(bed.client().netns(), "wrk", &["-t1", "-c32", "-d2s", loaded]));
            let mut answer_count = 0;
            while !load.is_finished() {
                assert_eq!(get(&bed, asked), answer);
                answer_count += 1;
            }
            let said = load.join().expect("wrk");
            assert!(!said.contains("Socket errors") && !said.contains("Non-2xx"), "{said}");
            assert!(said.contains("requests in 2"), "{said}");
            assert!(answer_count > 10, "{answer_count} answers beside the load of {loaded}");
        });
    }
}

#[test]
fn a_taken_port_names_its_owner() {
    let (bed, site) = (wire(), Site::new());
    let host = host_server(&bed, &site, "80");
    let args = [&["web", "--root", site.root()], &DEVICE[..]].concat();
    let refused = output(bed.server().netns(), TIDEGATE, &args);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    let owner = format!("python3 (process {})", host.pid());
    assert!(said.contains("10.78.0.2:80") && said.contains(&owner), "{said}");
}

#[test]
fn the_hosts_servers_cannot_take_a_served_port() {
    let (bed, site) = (wire(), Site::new());
    let _service = start(&bed, &site);
    let bind = "import socket; socket.socket().bind(('10.78.0.2', 80))";
    let refused = output(bed.server().netns(), "python3", &["-c", bind]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("Address already in use"));
}

#[test]
fn an_occupied_device_says_how_to_free_it_and_detach_does() {
    let (bed, site) = (wire(), Site::new());
    let service = start(&bed, &site);
    let args = ["web", "--root", site.root(), "--dev", "server0", "--listen", "10.78.0.2:81"];
    let refused = output(bed.server().netns(), TIDEGATE, &args);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("tidegate detach server0"), "{said}");
    assert!(has_xdp(&bed));
    run(bed.server().netns(), TIDEGATE, &["detach", "server0"]);
    assert!(!has_xdp(&bed));
    drop(service);
}

#[test]
fn nothing_is_left_on_the_device_after_a_kill() {
    let (bed, site) = (wire(), Site::new());
    for _ in 0..2 {
        let service = start(&bed, &site);
        assert!(has_xdp(&bed));
        assert!(get(&bed, "http://10.78.0.2/").contains("in and out"));
        service.kill();
        assert!(!has_xdp(&bed), "the program is off with its process");
    }
}

#[test]
fn generic_mode_serves_too() {
    let (bed, site) = (wire(), Site::new());
    let args = [&["--root", site.root(), "--xdp-mode", "generic"], &DEVICE[..]].concat();
    let service = Service::start(bed.server().netns(), &args);
    assert!(service.line.contains("generic mode"), "{}", service.line);
    assert!(get(&bed, "http://10.78.0.2/").contains("in and out"));
}

fn has_xdp(bed: &Testbed) -> bool {
    run(bed.server().netns(), "ip", &["-d", "link", "show", "server0"]).contains("prog/xdp")
}

#[test]
fn two_queues_have_two_workers_and_every_flow_one_of_them() {
    let layout = Layout { queue_count: 2, ..Layout::unpinned() };
    let bed = Testbed::new(&layout).expect("two network namespaces (run as root)");
    let site = Site::new();
    let service = start(&bed, &site);
    assert!(service.line.contains("2 workers"), "{}", service.line);
    let url = "http://10.78.0.2/";
    let ab = run(bed.client().netns(), "ab", &["-q", "-n", "500", "-c", "8", url]);
    assert!(ab.lines().any(|line| line.starts_with("Failed requests:") && line.ends_with(" 0")), "{ab}");
    let pid = service.pid().to_string();
    let stats = run(bed.server().netns(), TIDEGATE, &["stats", "--json", "--pid", &pid]);
    let stats: serde_json::Value = serde_json::from_str(&stats).expect("JSON");
    for worker in 0..2 {
        let accepted = &stats[0]["workers"][worker]["modules"][1]["own"]["accepted"];
        assert!(accepted.as_u64() > Some(50), "worker {worker} had {accepted} of 500 connections");
    }
}
