//! Packets that pass a gate, read by tcpdump.

use crate::daemon::{Daemon, TIDEGATE, in_tree};
use std::process::Command;

fn shell(daemon: &Daemon, line: &str) -> (String, String) {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).env("TIDEGATE", TIDEGATE).env("ADDRESS", &daemon.address);
    let output = shell.output().expect("run");
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

fn reflecting() -> Daemon {
    let daemon = Daemon::start();
    daemon.say(&["run", &in_tree("examples/balance.tg")]);
    daemon
}

#[test]
fn tcpdump_reads_what_leaves_and_what_comes() {
    let daemon = reflecting();
    for gate in ["rewrite:0", "0:sources"] {
        let line = format!(
            "\"$TIDEGATE\" capture {gate} --count 20 --address \"$ADDRESS\" | tcpdump -n -r - 2>/dev/null"
        );
        let (lines, errors) = shell(&daemon, &line);
        assert_eq!(lines.lines().count(), 20, "{lines}\n{errors}");
        assert!(lines.lines().all(|line| line.contains("10.0.0.1.1000 > 10.1.0.1.2000")), "{lines}");
        assert_eq!(errors, "");
    }
}

#[test]
fn a_capture_ends_when_its_reader_has_seen_enough() {
    let daemon = reflecting();
    let line = "\"$TIDEGATE\" capture rewrite:0 --address \"$ADDRESS\" | head -c 1000 | wc -c";
    let (count, errors) = shell(&daemon, line);
    assert_eq!((count.trim(), errors.as_str()), ("1000", ""));
    let hooks = daemon.say(&["show", "hooks"]);
    assert!(!hooks.contains("TcpDump"), "the hook is taken off: {hooks}");
}

#[test]
fn a_capture_ends_by_a_signal_and_leaves_nothing() {
    let daemon = reflecting();
    let line = "timeout -s INT 1 \"$TIDEGATE\" capture rewrite:0 --address \"$ADDRESS\" > /dev/null; echo $?";
    // timeout(1) says 124 when it had to end the command.
    assert_eq!(shell(&daemon, line).0.trim(), "124");
    assert!(!daemon.say(&["show", "hooks"]).contains("TcpDump"));
}
