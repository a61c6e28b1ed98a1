//! A daemon that dies, ends and is started again while stacks serve, and one whose program is taken off the NIC.

use super::clients::{Client, ShellTalk, WebTalk, await_rounds};
use super::host::{ADDRESS, DEVICE, Host, PATIENCE, stranger};
use super::servers::{Utcp, serve_async, serve_shell};
use crate::scene::{output, run};
use crate::service::TIDEGATE;
use tidegate_socket::Grade;

const ROUNDS: u64 = 30;
const GREETING: &str = "Hello from user space\n";

#[test]
fn stacks_serve_on_through_a_killed_daemon_and_one_that_was_ended() {
    let host = Host::new();
    let program = Utcp::build(&host);
    let daemon = host.start_daemon();
    let _shell = serve_shell(&host, 22);
    let users = [stranger(), stranger()];
    let page = host.scratch.write("page.html", GREETING).expect("writable");
    let servers =
        [program.serve(&host, users[0], 9000, None), serve_async(&host, users[1], Grade::Veth, 9001, &page)];
    let user = users[0].to_string();
    let kept = ["--proto", "udp", "--addr", ADDRESS, "--port", "700", "--uid", &user];
    assert!(host.say(&[&["mux", "bind"], &kept[..]].concat()).contains(&user));
    let slots = || {
        [(9000, &servers[0]), (9001, &servers[1])].map(|(port, process)| host.await_owner(port, process).slot)
    };
    let before = slots();
    std::thread::scope(|scope| {
        let netns = host.bed.client().netns();
        let web = |name, port| {
            let talk = WebTalk::new(&format!("{ADDRESS}:{port}"), GREETING.into());
            Client::start(scope, netns, name, talk)
        };
        let shell = Client::start(scope, netns, "shell", ShellTalk::new(&format!("{ADDRESS}:22")));
        let clients = [web("utcp", 9000), web("async", 9001), shell];
        await_rounds(&clients, ROUNDS);

        daemon.kill();
        await_rounds(&clients, ROUNDS);
        let said = program.refused(&host, users[0], &format!("{ADDRESS}:9002"), 9002);
        assert!(said.contains("tidegate daemon --mux"), "{said}");
        let daemon = host.start_daemon();
        assert_eq!(slots(), before);
        await_rounds(&clients, ROUNDS);

        let status = daemon.terminate(PATIENCE).expect("it ends");
        assert!(status.success(), "{status}");
        await_rounds(&clients, ROUNDS);
        assert!(
            host.has_program() && host.pins().join(DEVICE).join("link").exists(),
            "it stays for the stacks"
        );
        let _daemon = host.start_daemon();
        assert_eq!(slots(), before);
        await_rounds(&clients, ROUNDS);
        let list = host.say(&["mux", "list"]);
        assert!(list.contains(":700") && list.contains(&format!("reserved for user {user}")), "{list}");
        drop(clients);
        servers.iter().for_each(|server| server.signal("KILL").expect("kill"));
        host.await_that("the program stays on the NIC without a user", || !host.has_program());
        assert!(!host.pins().join(DEVICE).exists(), "what was pinned goes with it");
    });
}

#[test]
fn what_nobody_claims_back_is_the_hosts_after_a_while() {
    let host = Host::new();
    let program = Utcp::build(&host);
    let daemon = host.start_daemon();
    let frozen = program.serve(&host, stranger(), 9000, None);
    frozen.signal("STOP").expect("kill");
    daemon.kill();
    let daemon = host.start_daemon();
    assert!(host.stack_of(9000).is_some_and(|stack| stack.pid == 0), "kept for its owner");
    host.await_that("nobody claimed it", || host.stack_of(9000).is_none());
    assert!(daemon.said().contains("nobody claimed stack 0 back within 10 s"), "{}", daemon.said());
    let _next = program.serve(&host, stranger(), 9000, None);
    frozen.signal("CONT").expect("kill");
    assert_eq!(host.ask(9000), GREETING);
}

fn detach(host: &Host) -> String {
    let pins = host.pins();
    run(host.netns(), TIDEGATE, &["detach", DEVICE, "--pins", &pins.to_string_lossy()])
}

#[test]
fn a_program_that_outlived_its_daemon_is_detached_by_hand() {
    let host = Host::new();
    let program = Utcp::build(&host);
    let daemon = host.start_daemon();
    let _cut_off = program.serve(&host, stranger(), 9000, None);
    daemon.kill();
    assert_eq!(host.ask(9000), GREETING);
    let said = detach(&host);
    assert!(said.contains("the pinned program is off"), "{said}");
    assert!(!host.has_program() && !host.pins().join(DEVICE).exists());
    assert!(host.ask(9000).contains("Failed to connect"), "the port is the host's");
    assert!(detach(&host).contains("no XDP program is on it"), "nothing is left");
    // The next daemon has no use for what the state says of the stack.
    let daemon = host.start_daemon();
    assert!(daemon.said().contains("is not there any more"), "{}", daemon.said());
    assert!(host.say(&["mux", "list"]).contains("nothing is given away"));
    let _again = program.serve(&host, stranger(), 9000, None);
    assert_eq!(host.ask(9000), GREETING);
}

#[test]
fn a_daemon_whose_program_was_detached_says_so_to_new_stacks() {
    let host = Host::new();
    let program = Utcp::build(&host);
    let daemon = host.start_daemon();
    let _cut_off = program.serve(&host, stranger(), 9000, None);
    detach(&host);
    assert!(host.ask(9000).contains("Failed to connect"), "the port is the host's");
    let said = program.refused(&host, stranger(), &format!("{ADDRESS}:9001"), 9001);
    assert!(said.contains("was taken off server0") && said.contains("start"), "{said}");
    assert!(daemon.terminate(PATIENCE).expect("it ends").success());
    let _daemon = host.start_daemon();
    let _next = program.serve(&host, stranger(), 9001, None);
    eprintln!(
        "DBG {} {} {}",
        host.say(&["mux", "list"]),
        host.say(&["mux", "stats"]),
        run(host.netns(), "ip", &["-d", "link"])
    );
    assert_eq!(host.ask(9001), GREETING);
}

#[test]
fn a_pin_of_another_namespace_is_left_alone() {
    let host = Host::new();
    let program = Utcp::build(&host);
    let daemon = host.start_daemon();
    let _server = program.serve(&host, stranger(), 9000, None);
    daemon.kill();
    // A machine beside it whose NIC has the same name, and most likely the same number.
    let beside = Host::new();
    let pins = host.pins();
    let pins = pins.to_string_lossy();
    let detached = run(beside.netns(), TIDEGATE, &["detach", DEVICE, "--pins", &pins]);
    assert!(detached.contains("no XDP program is on it"), "{detached}");
    let mut command = beside.daemon_command(&["--pins", &pins, "--socket"]);
    command.arg(beside.scratch.join("control")).arg("--mux").arg(beside.socket());
    let mut other = beside.bed.server().spawn(command).expect("the binary under test");
    other.await_text("controllers reach it", PATIENCE).unwrap_or_else(|error| panic!("{error}"));
    let said = Utcp::build(&beside).refused(&beside, stranger(), &format!("{ADDRESS}:9000"), 9000);
    assert!(said.contains("another network namespace") && said.contains("--pins"), "{said}");
    other.kill();
    assert_eq!(host.ask(9000), GREETING);
    let refused = output(beside.netns(), TIDEGATE, &["detach", "absent0", "--pins", &pins]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}
