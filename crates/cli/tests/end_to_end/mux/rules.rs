//! What is refused, and in which words; and the commands.

use super::host::{ADDRESS, DEVICE, Host, PATIENCE, stranger};
use super::servers::Utcp;
use crate::device::nginx;
use crate::service::TIDEGATE;
use crate::site::Site;
use std::path::Path;
use std::process::Command;
use tidegate_testbed::ScratchDir;

const GREETING: &str = "Hello from user space\n";

/// A daemon that does not start: what it says, in one line.
fn complaint(host: &Host, command: Command) -> String {
    let output = host.bed.server().output(command).expect("the binary under test");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    said
}

#[test]
fn a_user_who_has_all_it_may_have_is_told_so() {
    let host = Host::new();
    let (program, user) = (Utcp::build(&host), stranger());
    let _daemon = host.start_daemon();
    // Two tuples each: one more than 256.
    let places: Vec<String> = (20_000..20_129).map(|port| format!("{ADDRESS}:{port}")).collect();
    let said = program.refused(&host, user, &places.join(","), 20_000);
    assert!(said.contains(&format!("user {user} has 256 tuples already, which is the most")), "{said}");
    host.await_that("what it had is given back", || {
        host.say(&["mux", "list"]).contains("nothing is given away")
    });
    let _server = program.serve(&host, user, 20_000, None);
    assert_eq!(host.ask(20_000), GREETING);
}

#[test]
fn a_second_daemon_is_refused_and_harms_nothing() {
    let host = Host::new();
    let program = Utcp::build(&host);
    let _daemon = host.start_daemon();
    let server = program.serve(&host, stranger(), 9000, None);
    let before = host.say(&["mux", "list"]);
    let mut same_socket = host.daemon_command(&["--mux"]);
    same_socket.arg(host.socket()).arg("--pins").arg(host.scratch.join("bpf/other"));
    let said = complaint(&host, same_socket);
    assert!(said.contains("another process listens there") && said.contains("mux.sock"), "{said}");
    let mut same_pins = host.daemon_command(&["--mux"]);
    same_pins.arg(host.scratch.join("other.sock")).arg("--pins").arg(host.pins());
    let said = complaint(&host, same_pins);
    assert!(said.contains("another daemon has what is pinned in") && said.contains("--pins"), "{said}");
    assert_eq!(host.say(&["mux", "list"]), before);
    assert_eq!(host.ask(9000), GREETING);
    host.await_owner(9000, &server);
    // One with everything of its own starts, and is refused the NIC when somebody wants a place on it.
    let mut own = host.daemon_command(&["--socket"]);
    own.arg(host.scratch.join("other.control")).arg("--mux").arg(host.scratch.join("other.sock"));
    own.arg("--pins").arg(host.scratch.join("bpf/other"));
    let mut own = host.bed.server().spawn(own).expect("the binary under test");
    own.await_text("controllers reach it", PATIENCE).unwrap_or_else(|error| panic!("{error}"));
    std::fs::rename(host.socket(), host.scratch.join("first.sock")).expect("its owner");
    std::fs::rename(host.scratch.join("other.sock"), host.socket()).expect("its owner");
    let said = program.refused(&host, stranger(), &format!("{ADDRESS}:9001"), 9001);
    assert!(said.contains("served by another Tidegate"), "{said}");
    own.kill();
    assert_eq!(host.ask(9000), GREETING);
    assert!(host.has_program());
}

#[test]
fn without_a_bpf_file_system_the_daemon_says_what_to_type() {
    let host = Host::new();
    let mut elsewhere = host.daemon_command(&["--mux"]);
    elsewhere.arg(host.socket()).arg("--pins").arg(host.scratch.join("no/bpf"));
    let said = complaint(&host, elsewhere);
    assert!(said.contains("mount -t bpf bpf /sys/fs/bpf") && said.contains("no/bpf"), "{said}");
    assert!(!host.scratch.join("no").exists(), "nothing is made there");
    // As `ip netns exec` has it: another /sys, without what is mounted below it.
    let mut hidden = Command::new("unshare");
    let line = "mount -t sysfs sysfs /sys && exec \"$0\" daemon --listen 127.0.0.1:0 --mux \"$1\"";
    hidden.args(["--mount", "sh", "-c", line, TIDEGATE]).arg(host.socket());
    let said = complaint(&host, hidden);
    assert!(said.contains("/sys/fs/bpf/tidegate is in no bpf") && said.contains("nsenter --net="), "{said}");
    assert!(!host.socket().exists(), "its socket goes with it");
    let mut nameless = host.daemon_command(&["--mux", "@tidegate-mux"]);
    nameless.arg("--pins").arg(host.pins());
    let output = host.bed.server().output(nameless).expect("the binary under test");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("name a path"), "{said}");
}

/// `dist/tidegated.service` with `dist/tidegated-mux.conf`, as far as rights go.
#[test]
fn the_rights_that_the_service_unit_leaves_are_enough() {
    let host = Host::new();
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist");
    let read = |name| std::fs::read_to_string(dist.join(name)).expect("a file of the repository");
    let units = read("tidegated.service") + &read("tidegated-mux.conf");
    let listed = units.lines().filter_map(|line| line.strip_prefix("CapabilityBoundingSet="));
    let rights = listed.flat_map(str::split_whitespace).map(|right| right.trim_start_matches("CAP_"));
    let set = rights.fold("-all".to_owned(), |set, right| format!("{set},+{}", right.to_lowercase()));
    assert!(set.contains("+sys_admin") && set.contains("+net_raw"), "{set}");
    let mut command = Command::new("setpriv");
    command.args(["--no-new-privs", "--bounding-set", &set, TIDEGATE, "daemon", "--listen", "127.0.0.1:0"]);
    command.arg("--socket").arg(host.scratch.join("control")).arg("--mux").arg(host.socket());
    command.arg("--pins").arg(host.pins());
    let mut daemon = host.bed.server().spawn(command).expect("setpriv");
    daemon.await_text("controllers reach it", PATIENCE).unwrap_or_else(|error| panic!("{error}"));
    let (program, site) = (Utcp::build(&host), Site::new());
    let config = format!(
        "[web]\nroot = \"{}\"\n[[web.listen]]\ndev = \"{DEVICE}\"\naddress = \"{ADDRESS}:80\"\n",
        site.root()
    );
    host.start_service(&config);
    let _server = program.serve(&host, stranger(), 9000, None);
    assert_eq!(host.ask(9000), GREETING);
    assert!(host.ask(80).contains("in and out"));
}

#[test]
fn what_is_kept_for_a_user_is_nobody_elses() {
    let host = Host::new();
    let (program, user) = (Utcp::build(&host), stranger());
    let _daemon = host.start_daemon();
    let place = format!("{ADDRESS}:443");
    let said = program.refused(&host, user, &place, 443);
    assert!(said.contains("CAP_NET_BIND_SERVICE") && said.contains("tidegate mux bind"), "{said}");
    let (owner, tuple) = (user.to_string(), |proto| ["--proto", proto, "--addr", ADDRESS, "--port", "443"]);
    for proto in ["tcp", "udp"] {
        let bind = [&["mux", "bind"][..], &tuple(proto), &["--uid", &owner, "--grade", "veth"]].concat();
        assert_eq!(host.say(&bind), format!("kept for user {owner} on {DEVICE}\n"));
        assert!(host.refused(&bind).contains("is taken: it is reserved for user"));
    }
    assert!(!host.has_program(), "nobody has frames of the NIC yet");
    let said = program.refused(&host, stranger(), &place, 443);
    assert!(said.contains("CAP_NET_BIND_SERVICE"), "{said}");
    let server = program.serve(&host, user, 443, None);
    assert_eq!(host.ask(443), GREETING);
    let list = host.say(&["mux", "list"]);
    assert!(list.contains(&format!("stack 0 has it (user {user}, process {})", server.pid())), "{list}");
    let rival = program.refused(&host, 0, &place, 443);
    assert!(rival.contains("is taken: stack 0 has it"), "{rival}");
    server.kill();
    host.await_that("it is kept again", || {
        host.say(&["mux", "list"]).matches(&format!("it is reserved for user {user}")).count() == 2
    });
    for proto in ["tcp", "udp"] {
        host.say(&[&["mux", "release"][..], &tuple(proto)].concat());
        assert!(host.refused(&[&["mux", "release"][..], &tuple(proto)].concat()).contains("is no stack's"));
    }
    assert!(host.say(&["mux", "list"]).contains("nothing is given away"));
    let foreign = ["mux", "bind", "--proto", "tcp", "--addr", "192.0.2.1", "--port", "80"];
    assert!(host.refused(&foreign).contains("no interface has the address 192.0.2.1"));
    assert!(host.refused(&[&foreign[..], &["--dev", DEVICE]].concat()).contains("has no address 192.0.2.1"));
}

#[test]
fn owners_of_every_kind_are_named_to_who_comes_late() {
    let host = Host::new();
    let (program, site, scratch) = (Utcp::build(&host), Site::new(), ScratchDir::new());
    let _daemon = host.start_daemon();
    let nginx = nginx(&host.bed, &site, &scratch.expect("a temporary directory"), 80);
    let said = program.refused(&host, 0, &format!("{ADDRESS}:80"), 80);
    assert!(said.contains("nginx") && said.contains(&format!("(process {})", nginx.pid())), "{said}");
    let server = program.serve(&host, stranger(), 9000, None);
    let config = |port: u16| {
        let root = site.root();
        let listen = format!("[[web.listen]]\ndev = \"{DEVICE}\"\naddress = \"{ADDRESS}:{port}\"\n");
        host.scratch.write("site.toml", format!("[web]\nroot = \"{root}\"\n{listen}")).expect("writable")
    };
    let start = |port| ["service".to_owned(), "start".to_owned(), config(port).display().to_string()];
    let words = start(9000);
    let said = host.refused(&words.each_ref().map(String::as_str));
    assert!(said.contains(&format!("process {}", server.pid())), "{said}");
    let words = start(8080);
    host.say(&words.each_ref().map(String::as_str));
    let said = program.refused(&host, stranger(), &format!("{ADDRESS}:8080"), 8080);
    assert!(said.contains("service service0 has it"), "{said}");
    let list = host.say(&["mux", "list"]);
    assert!(list.contains("service service0 has it") && list.contains("stack 0 has it"), "{list}");
    assert!(host.ask(8080).contains("in and out"));
    assert_eq!(host.ask(9000), GREETING);
    // What a controller asks of a daemon without stacks of other processes.
    let plain = Host::new();
    let mut command = plain.daemon_command(&["--socket"]);
    command.arg(plain.scratch.join("control"));
    let mut daemon = plain.bed.server().spawn(command).expect("the binary under test");
    daemon.await_text("controllers reach it", PATIENCE).unwrap_or_else(|error| panic!("{error}"));
    assert!(plain.refused(&["mux", "list"]).contains("start it with --mux"));
}
