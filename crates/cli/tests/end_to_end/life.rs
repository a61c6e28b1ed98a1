//! Starting, ending, dying, and starting again.

use crate::client::Connection;
use crate::scene::{has_link, lone_machine, run};
use crate::service::{Service, tempfile};
use crate::site::Site;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// For what happens soon unless the machine has much else to do.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn a_kill_under_load_leaves_nothing_and_a_restart_serves_at_once() {
    let (machine, site) = (lone_machine(), Site::new());
    let service = Service::start(&machine, &["--root", site.root()]);
    let mut wrk = Command::new("wrk");
    wrk.args(["-t1", "-c64", "-d3s", "http://10.77.0.2/"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut wrk = machine.run(|| wrk.spawn()).expect("entered").expect("wrk (make deps)");
    std::thread::sleep(Duration::from_millis(500));
    service.kill();
    let service = Service::start(&machine, &["--root", site.root()]);
    let page = run(&machine, "curl", &["-sSf", "--max-time", "5", "http://10.77.0.2/"]);
    assert!(page.contains("in and out"));
    service.kill();
    let _ = wrk.kill();
    let _ = wrk.wait();
    let start = Instant::now();
    while has_link(&machine, "tidegate0") {
        assert!(start.elapsed() < PATIENCE, "the virtual NIC stays");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_ordered_end_finishes_what_is_under_way_and_leaves_nothing() {
    let (machine, site) = (lone_machine(), Site::new());
    let body = site.write_noise("long.bin", 20 << 20);
    let service = Service::start(&machine, &["--root", site.root()]);
    let status = machine.run(|| {
        let mut idle = Connection::open("10.77.0.2:80");
        assert_eq!(idle.get("/", "").status, 200);
        let mut busy = Connection::open("10.77.0.2:80");
        busy.send(b"GET /long.bin HTTP/1.1\r\nHost: tide\r\n\r\n");
        std::thread::sleep(Duration::from_millis(50));
        let reader = std::thread::spawn(move || busy.answer());
        let status = service.terminate();
        assert!(reader.join().expect("the answer came").body == body, "the answer came whole");
        assert!(idle.is_closed(), "an idle connection is closed in order");
        status
    });
    assert!(status.expect("entered").success());
    assert!(!has_link(&machine, "tidegate0"), "the virtual NIC is gone when the process is");
}

#[test]
fn the_access_log_is_combined_and_rotates_on_sighup() {
    let (machine, site) = (lone_machine(), Site::new());
    let directory = Site::new();
    let log = directory.path().join("access.log");
    let path = log.to_str().expect("a path in ASCII");
    let service = Service::start(&machine, &["--root", site.root(), "--access-log", path]);
    let curl = |path: &str| {
        let url = format!("http://10.77.0.2{path}");
        run(&machine, "curl", &["-sS", "--max-time", "5", "-A", "tester", "-e", "http://from/", &url]);
    };
    curl("/?first");
    await_text(&log, r#""GET /?first HTTP/1.1" 200 "#);
    let line = std::fs::read_to_string(&log).expect("the log");
    assert!(line.starts_with("10.77.0.1 - - [") && line.ends_with("\"http://from/\" \"tester\"\n"), "{line}");
    let rotated = directory.path().join("access.log.1");
    std::fs::rename(&log, &rotated).expect("rotated");
    service.signal("HUP");
    let start = Instant::now();
    while !log.exists() {
        assert!(start.elapsed() < Duration::from_secs(5), "not opened anew: {}", service.log());
        curl("/?between");
    }
    curl("/?second");
    await_text(&log, "/?second");
    assert!(!std::fs::read_to_string(&rotated).expect("the old log").contains("/?second"));
    assert!(service.terminate().success());
}

#[test]
fn a_reload_takes_a_right_configuration_and_refuses_a_broken_one() {
    let (machine, site) = (lone_machine(), Site::new());
    site.write("start.html", b"the other page");
    let file = tempfile("toml");
    // As editors and deployments do it: another file takes the name.
    let next = tempfile("next");
    let configure = |text: &str| {
        std::fs::write(&next, text).expect("written");
        std::fs::rename(&next, &file).expect("replaced");
    };
    let root = format!("[web]\nroot = \"{}\"\n", site.root());
    configure(&root);
    let service = Service::start(&machine, &["--config", file.to_str().expect("a path in ASCII")]);
    let page = || run(&machine, "curl", &["-sSf", "--max-time", "5", "http://10.77.0.2/"]);
    assert!(page().contains("in and out"));

    configure("[web]\nrot = 1\n");
    service.signal("HUP");
    service.await_log("the old configuration stays");
    assert!(page().contains("in and out"));

    configure(&format!("{root}[web.content]\nindex = \"start.html\"\n"));
    service.signal("HUP");
    service.await_log("reloaded: ");
    let start = Instant::now();
    while page() != "the other page" {
        assert!(start.elapsed() < Duration::from_secs(15), "still the old page");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(service.terminate().success());
    let _ = std::fs::remove_file(&file);
}

#[test]
fn changed_header_rules_are_sent_after_a_reload() {
    let (machine, site) = (lone_machine(), Site::new());
    let file = tempfile("toml");
    let configure = |value: &str| {
        let rule = format!("[[web.headers]]\nfiles = \"*.html\"\nset = {{ X-Tide = \"{value}\" }}\n");
        std::fs::write(&file, format!("[web]\nroot = \"{}\"\n{rule}", site.root())).expect("written");
    };
    configure("ebb");
    let service = Service::start(&machine, &["--config", file.to_str().expect("a path in ASCII")]);
    let page = || run(&machine, "curl", &["-sSif", "--max-time", "5", "http://10.77.0.2/"]);
    assert!(page().contains("X-Tide: ebb"));
    configure("flood");
    service.signal("HUP");
    let start = Instant::now();
    while !page().contains("X-Tide: flood") {
        assert!(start.elapsed() < Duration::from_secs(15), "still the old rule: {}", service.log());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(service.terminate().success());
    let _ = std::fs::remove_file(&file);
}

#[test]
fn another_user_serves_as_well() {
    let (machine, site) = (lone_machine(), Site::new());
    let service = Service::start(&machine, &["--root", site.root(), "--user", "nobody"]);
    let status = std::fs::read_to_string(format!("/proc/{}/status", service.pid())).expect("its status");
    let field =
        |name: &str| status.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    assert!(!field("Uid:").contains("\t0"), "{status}");
    assert!(field("CapEff:").ends_with("0000000000000000"), "{status}");
    assert!(field("NoNewPrivs:").ends_with('1') && field("Seccomp:").ends_with('2'), "{status}");
    assert!(run(&machine, "curl", &["-sSf", "--max-time", "5", "http://10.77.0.2/"]).contains("in and out"));
    assert!(service.terminate().success());
}

fn await_text(file: &std::path::Path, text: &str) {
    let start = Instant::now();
    while !std::fs::read_to_string(file).unwrap_or_default().contains(text) {
        assert!(start.elapsed() < Duration::from_secs(5), "no {text} in {}", file.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}
