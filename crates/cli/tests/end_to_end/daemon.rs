//! Services in the daemon, beside a pipeline that changes.

use crate::client::Connection;
use crate::scene::{has_link, lone_machine, output, run};
use crate::service::{TIDEGATE, tempfile};
use crate::site::Site;
use crate::zone::{self, Zone};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tidegate_control::proto::{bess, v1};
use tidegate_control::{Client, ClientError};
use tidegate_sys::netns::Netns;

/// `tidegate daemon`, killed at the end of the test if it still runs.
struct Daemon {
    child: Child,
    socket: PathBuf,
}

impl Daemon {
    fn start(machine: &Netns, args: &[&str]) -> Self {
        let socket = tempfile("control");
        let mut command = Command::new(TIDEGATE);
        command.args(["daemon", "--listen", "127.0.0.1:0", "--socket"]).arg(&socket).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = machine.run(|| command.spawn()).expect("entered").expect("the binary under test");
        let mut line = String::new();
        let read = BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line);
        let daemon = Self { child, socket };
        assert!(read.is_ok() && line.contains("controllers reach it"), "no daemon: {line}");
        daemon
    }

    fn client(&self) -> Client {
        Client::connect(&format!("unix:{}", self.socket.display())).expect("the daemon answers")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.socket);
    }
}

fn module(name: &str, class: &str) -> bess::CreateModuleRequest {
    bess::CreateModuleRequest { name: name.into(), mclass: class.into(), arg: None }
}

fn link(from: &str, to: &str) -> bess::ConnectModulesRequest {
    bess::ConnectModulesRequest { m1: from.into(), m2: to.into(), ..Default::default() }
}

/// src -> by -> end, with or without something between.
fn pipeline(with_swap: bool) -> v1::PipelineSpec {
    let mut modules = vec![module("src", "Source"), module("end", "Sink")];
    let middle = if with_swap { "swap" } else { "by" };
    modules.push(module(middle, if with_swap { "MACSwap" } else { "Bypass" }));
    let connections = vec![link("src", middle), link(middle, "end")];
    v1::PipelineSpec { modules, connections, ..Default::default() }
}

fn start(client: &mut Client, name: &str, config: String) -> Result<v1::StartServiceResponse, ClientError> {
    let request =
        v1::StartServiceRequest { name: name.into(), config, directory: "/".into(), workers: Vec::new() };
    client.start_service(request)
}

fn both(site: &Site, zone: &Zone) -> String {
    format!("[web]\nroot = \"{}\"\n[[dns.zone]]\nfile = \"{}\"\n", site.root(), zone.file())
}

fn arrived(client: &mut Client) -> u64 {
    let info =
        client.get_module_info(bess::GetModuleInfoRequest { name: "end".into() }).expect("it is there");
    info.igates.iter().map(|gate| gate.pkts).sum()
}

fn stop(client: &mut Client, name: &str) -> v1::StopServiceResponse {
    client.stop_service(v1::StopServiceRequest { name: name.into(), drain_ms: None }).expect("it runs")
}

/// Frames that a pool misses: lost to nobody once nothing runs.
fn in_use(client: &mut Client) -> u32 {
    let pools = client.dump_mempool(bess::DumpMempoolRequest { socket: -1 }).expect("pools");
    pools.dumps.iter().map(|pool| pool.mp_in_use_count).sum()
}

#[test]
fn site_and_zone_are_served_while_the_pipeline_is_replaced() {
    let (machine, site, zone) = (lone_machine(), Site::new(), Zone::new(1));
    let daemon = Daemon::start(&machine, &["--metrics", "127.0.0.1:9100"]);
    let mut client = daemon.client();
    client.replace_pipeline(pipeline(false), false).expect("a pipeline");
    let started = start(&mut client, "home", both(&site, &zone)).expect("a service");
    assert_eq!(started.services.len(), 2, "{started:?}");
    assert!(start(&mut client, "home", both(&site, &zone)).is_err(), "one of a name");
    assert!(run(&machine, "curl", &["-gsSf", "--max-time", "5", "http://10.77.0.2/"]).contains("in and out"));
    let kdig = ["@10.77.0.2", "+short", "+time=2", "www.example.org", "A"];
    assert_eq!(run(&machine, "kdig", &kdig).trim(), "192.0.2.80");

    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asker = scope.spawn(|| {
            let ask = || {
                let mut kept = Connection::open("10.77.0.2:80");
                let mut count = 0;
                while !is_over.load(Ordering::Relaxed) {
                    assert_eq!(kept.get("/", "").status, 200);
                    assert_eq!(Connection::open("10.77.0.2:80").get("/", "").status, 200);
                    count += 1;
                }
                count
            };
            machine.run(ask).expect("entered")
        });
        for round in 0..60 {
            let done = client.replace_pipeline(pipeline(round % 2 == 0), false).expect("replaced");
            assert_eq!(done.created.len(), 1);
        }
        // What a script for BESS begins with leaves services alone.
        client.reset_all(bess::EmptyRequest {}).expect("nothing is left of the pipeline");
        assert_eq!(client.list_services().expect("a list").len(), 2);
        client.replace_pipeline(pipeline(false), false).expect("a pipeline");
        drop(daemon.client());
        is_over.store(true, Ordering::Relaxed);
        assert!(asker.join().expect("no request was lost") > 0);
    });

    let metrics = run(&machine, "curl", &["-sSf", "--max-time", "5", "http://127.0.0.1:9100/metrics"]);
    assert!(
        metrics.contains("module=\"home/tidegate0/0/stack\"") && metrics.contains("module=\"src\""),
        "{metrics}"
    );
    let table = run(&machine, TIDEGATE, &["stats", "--pid", &daemon.child.id().to_string()]);
    assert!(table.contains("home: web on 10.77.0.2:80") && table.contains("http: request"), "{table}");

    assert_eq!(stop(&mut client, "home").cut_connections, 0);
    assert!(!has_link(&machine, "tidegate0") && client.list_services().expect("a list").is_empty());
    let before = arrived(&mut client);
    while arrived(&mut client) == before {
        std::thread::yield_now();
    }
    client.reset_all(bess::EmptyRequest {}).expect("nothing is left");
    assert_eq!(client.list_workers(bess::EmptyRequest {}).expect("a list").workers_status.len(), 0);
}

#[test]
fn services_are_started_reloaded_and_stopped_by_commands() {
    let (machine, zone) = (lone_machine(), Zone::new(1));
    let daemon = Daemon::start(&machine, &[]);
    let (address, config) = (format!("unix:{}", daemon.socket.display()), tempfile("toml"));
    std::fs::write(&config, format!("[[dns.zone]]\nfile = \"{}\"\n", zone.file())).expect("written");
    let say = |words: &[&str]| {
        let words: Vec<&str> =
            ["service"].iter().chain(words).chain(&["--address", &address]).copied().collect();
        run(&machine, TIDEGATE, &words)
    };
    let started = say(&["start", config.to_str().expect("ASCII"), "--name", "names"]);
    assert!(started.starts_with("names\n  dns on tidegate0: 10.77.0.2:53"), "{started}");
    assert!(say(&["list"]).contains("serving"));
    zone.write(&zone::text(2));
    assert_eq!(say(&["reload", "names", "--zone", "example.org"]), "names: zone example.org.: serial 2\n");
    let refused = output(&machine, TIDEGATE, &["service", "reload", "ghost", "--address", &address]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no service ghost"), "{refused:?}");
    assert_eq!(say(&["stop", "names"]), "");
    assert!(say(&["list"]).contains("no services run"));
    std::fs::remove_file(&config).expect("it was there");
}

#[test]
fn service_beside_a_pipeline_on_its_worker_leaves_no_frame_behind() {
    let (machine, site, zone) = (lone_machine(), Site::new(), Zone::new(1));
    let daemon = Daemon::start(&machine, &[]);
    let mut client = daemon.client();
    client.replace_pipeline(pipeline(false), false).expect("a pipeline");
    let config = both(&site, &zone);
    for _ in 0..3 {
        let request = v1::StartServiceRequest {
            name: String::new(),
            config: config.clone(),
            directory: "/".into(),
            workers: vec![0],
        };
        assert_eq!(client.start_service(request).expect("a service").name, "service0");
        let page = run(&machine, "curl", &["-gsSf", "--max-time", "5", "http://10.77.0.2/"]);
        assert!(page.contains("in and out"));
        stop(&mut client, "service0");
    }
    let destroyed = client.destroy_module(bess::DestroyModuleRequest { name: "src".into() });
    destroyed.expect("it is there");
    assert_eq!(in_use(&mut client), 0);
}

#[test]
fn drain_waits_for_what_is_under_way_and_a_kill_leaves_nothing() {
    let (machine, site, zone) = (lone_machine(), Site::new(), Zone::new(1));
    let big = site.write_noise("big.bin", 30 << 20);
    let mut daemon = Daemon::start(&machine, &[]);
    let mut client = daemon.client();
    start(&mut client, "home", both(&site, &zone)).expect("a service");
    let under_way = machine.run(|| {
        let mut connection = Connection::open("10.77.0.2:80");
        connection.send(b"GET /big.bin HTTP/1.1\r\nHost: tide\r\n\r\n");
        connection
    });
    let mut under_way = under_way.expect("entered");
    std::thread::scope(|scope| {
        let stopper = scope.spawn(|| stop(&mut client, "home"));
        assert!(under_way.answer().body == big);
        drop(under_way);
        assert_eq!(stopper.join().expect("stopped").cut_connections, 0);
    });
    start(&mut client, "home", both(&site, &zone)).expect("a service again");
    assert!(has_link(&machine, "tidegate0"));
    daemon.child.kill().expect("our own child");
    daemon.child.wait().expect("our own child");
    let start = Instant::now();
    while has_link(&machine, "tidegate0") {
        assert!(start.elapsed() < Duration::from_secs(5), "the device outlives its process");
        std::thread::sleep(Duration::from_millis(5));
    }
}
