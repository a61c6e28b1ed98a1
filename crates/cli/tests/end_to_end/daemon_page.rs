//! The daemon's web page: in a real browser, and for those who are not to see it.

use crate::clients::browser;
use crate::scene;
use crate::service::{TIDEGATE, tempfile};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use tidegate_control::proto::{bess, v1};
use tidegate_control::{Client, Message};
use tidegate_sys::netns::Netns;

/// A daemon with a page, in a namespace of its own; killed at the end of the test.
struct Daemon {
    machine: Netns,
    child: Child,
    control: String,
    page: String,
}

impl Daemon {
    fn start() -> Self {
        let machine = scene::lone_machine();
        let mut command = Command::new(TIDEGATE);
        command.args(["daemon", "--listen", "127.0.0.1:0", "--web", "127.0.0.1:0"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = machine.run(|| command.spawn()).expect("entered").expect("the binary under test");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut address = || {
            let line = lines.next().expect("a line").expect("text");
            line.rsplit_once(' ').expect("words").1.to_owned()
        };
        let (control, page) = (address(), address());
        Self { machine, child, control, page }
    }

    /// Puts a pipeline in place.
    fn run(&self, pipeline: &v1::PipelineSpec) {
        let put = || {
            Client::connect(&self.control)
                .and_then(|mut client| client.replace_pipeline(pipeline.clone(), false))
        };
        self.machine.run(put).expect("entered").expect("a pipeline that can be");
    }

    /// What is answered to a request as it stands.
    fn ask(&self, request: &str) -> String {
        let address = self.page.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = self.machine.run(|| TcpStream::connect(address)).expect("entered").expect("a page");
        stream.write_all(request.replace("HERE", address).as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("text, then its end");
        answer
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn module(name: &str, class: &str) -> bess::CreateModuleRequest {
    bess::CreateModuleRequest { name: name.into(), mclass: class.into(), arg: None }
}

fn link(from: &str, ogate: u64, to: &str) -> bess::ConnectModulesRequest {
    bess::ConnectModulesRequest { m1: from.into(), m2: to.into(), ogate, ..Default::default() }
}

/// A limited source whose packets are spread over `ways` ways of a few modules each, joined again, and lost at the end of one.
fn wide(ways: u64) -> v1::PipelineSpec {
    let mut pipeline = v1::PipelineSpec::default();
    let spread = Message::from(bess::RoundRobinArg {
        gates: (0..ways).map(|gate| gate as i64).collect(),
        mode: "packet".into(),
    });
    pipeline.modules.push(module("source", "Source"));
    pipeline
        .modules
        .push(bess::CreateModuleRequest { arg: Some(spread.to_any()), ..module("spread", "RoundRobin") });
    pipeline.modules.extend([module("join", "Merge"), module("end", "Sink")]);
    pipeline.connections.extend([link("source", 0, "spread"), link("join", 0, "end")]);
    for way in 0..ways {
        let [first, second] = [format!("swap{way}"), format!("by{way}")];
        pipeline.modules.extend([module(&first, "MACSwap"), module(&second, "Bypass")]);
        pipeline.connections.extend([link("spread", way, &first), link(&first, 0, &second)]);
        if way > 0 {
            let igate = way - 1;
            pipeline.connections.push(bess::ConnectModulesRequest { igate, ..link(&second, 0, "join") });
        }
    }
    let limit = |amount: i64| [("packet".to_owned(), amount)].into();
    pipeline.workers.push(bess::AddWorkerRequest { wid: 0, core: 0, scheduler: String::new() });
    pipeline.classes.push(bess::TrafficClass {
        name: "gentle".into(),
        policy: "rate_limit".into(),
        resource: "packet".into(),
        limit: limit(500_000),
        max_burst: limit(10_000),
        wid: 0,
        ..Default::default()
    });
    pipeline.tasks.push(bess::TrafficClass {
        leaf_module_name: "source".into(),
        parent: "gentle".into(),
        wid: -1,
        ..Default::default()
    });
    pipeline
}

/// Opens the page; with `shot`, as a picture too. The browser's clock runs ahead of ours, so that it asks several times.
fn opened(daemon: &Daemon, extra: &[&str]) -> Option<String> {
    let profile = tempfile("profile");
    let data = format!("--user-data-dir={}", profile.display());
    let flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=6000", data.as_str()];
    let browser = browser()?;
    let dom = scene::run(&daemon.machine, browser, &[&flags[..], extra, &[&daemon.page]].concat());
    let _ = std::fs::remove_dir_all(&profile);
    Some(dom)
}

#[test]
fn a_browser_shows_the_graph_with_its_rates() {
    let daemon = Daemon::start();
    daemon.run(&wide(48));
    let Some(dom) = opened(&daemon, &["--dump-dom"]) else { return };
    assert_eq!(dom.matches("class=\"module\"").count(), 100, "{dom}");
    assert!(dom.contains("class=\"link flows\""), "{dom}");
    assert!(dom.contains("<text class=\"rate\""), "{dom}");
    for shown in
        ["spread, RoundRobin, ", "gentle</td>", "rate limit</td>", "at most 500 k packets/s", ">Live<"]
    {
        assert!(dom.contains(shown), "no {shown:?} in {dom}");
    }
    // The first way ends nowhere.
    assert!(dom.contains("<td>by0</td>"), "{dom}");
}

#[test]
fn an_empty_daemon_says_so() {
    let daemon = Daemon::start();
    let Some(dom) = opened(&daemon, &["--dump-dom"]) else { return };
    for shown in ["No modules yet", "No classes", "No ports.", "Nothing was dropped."] {
        assert!(dom.contains(shown), "no {shown:?} in {dom}");
    }
}

#[test]
fn the_page_only_shows_and_only_here() {
    let daemon = Daemon::start();
    let status = |request: &str| daemon.ask(request).split(' ').nth(1).unwrap_or_default().to_owned();
    let end = "Connection: close\r\n\r\n";
    assert_eq!(status(&format!("GET / HTTP/1.1\r\nHost: HERE\r\n{end}")), "200");
    assert_eq!(status(&format!("GET /state.json HTTP/1.1\r\nHost: HERE\r\n{end}")), "200");
    assert_eq!(status(&format!("GET /state.json HTTP/1.1\r\nHost: rebound.example\r\n{end}")), "421");
    assert_eq!(status("GET /state.json HTTP/1.0\r\n\r\n"), "421");
    assert_eq!(status(&format!("POST / HTTP/1.1\r\nHost: HERE\r\nContent-Length: 0\r\n{end}")), "405");
    assert_eq!(status(&format!("GET /no HTTP/1.1\r\nHost: HERE\r\n{end}")), "404");
    assert_eq!(status("rubbish\r\n\r\n"), "400");
    let head = daemon.ask(&format!("GET / HTTP/1.1\r\nHost: HERE\r\n{end}")).to_lowercase();
    assert!(head.contains("content-security-policy: default-src 'none'"), "{head}");
    assert!(!head.contains("access-control-allow-origin"), "{head}");
}

#[test]
fn a_page_that_others_could_see_is_refused() {
    for (address, named) in
        [("0.0.0.0:8080", "127.0.0.1:8080"), ("[::]:8080", "loopback"), ("192.0.2.1:80", "127.0.0.1:80")]
    {
        let output = scene::output(
            &scene::lone_machine(),
            TIDEGATE,
            &["daemon", "--listen", "127.0.0.1:0", "--web", address],
        );
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with("tidegate: --web: ") && said.contains(named), "{said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    }
}
