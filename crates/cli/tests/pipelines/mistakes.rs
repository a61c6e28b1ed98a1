//! Mistakes at a daemon: what is wrong, and what to type instead.

use crate::daemon::{Daemon, TIDEGATE, in_tree};
use std::net::TcpListener;
use std::process::Command;

#[test]
fn whoever_finds_no_daemon_is_told_how_to_start_one() {
    // A port that is free, for nobody listens there any more.
    let free =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
    for args in [&["show"][..], &["monitor"], &["graph"], &["add", "module", "Sink"], &["reset", "all"]] {
        let output = Command::new(TIDEGATE).args(args).args(["--address", &free.to_string()]).output();
        let output = output.expect("run");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {text}");
        assert!(text.contains("start one with tidegate daemon"), "{args:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{args:?}: {text}");
    }
}

#[test]
fn every_refusal_says_what_to_type() {
    let daemon = Daemon::start();
    daemon.say(&["run", &in_tree("examples/hello.tg")]);
    for (args, says) in [
        (&["show", "modules", "qq"][..], "qq"),
        (&["show", "ports", "p"], "there is no port p: there is none at all"),
        (&["show", "mclasses", "Quueue"], "Quueue"),
        (&["add", "module", "Quueue"], "did you mean `Queue`?"),
        (&["add", "module", "Queue", "sise=1"], "did you mean `size`?"),
        (&["add", "module", "PMDPort", "vdev=net_null0"], "no class of modules"),
        (&["add", "port", "Queue"], "no driver of ports"),
        (&["add", "class", "fifo", "c"], "fifo"),
        (&["add", "module", "Sink", "end"], "already"),
        (&["add", "worker", "99"], "there may be 0 to 63"),
        (&["connect", "src:0", "q:0"], "0:q"),
        (&["connect", "src", "end"], "src"),
        (&["disconnect", "end"], "end"),
        (&["delete", "module", "ghost"], "ghost"),
        (&["delete", "class", "ghost"], "there is no traffic class ghost"),
        (&["command", "q", "set_sise"], "it has set_burst, set_size"),
        (&["command", "q", "set_size", "sise=1"], "did you mean `size`?"),
        (&["command", "ghost", "get"], "ghost"),
        (&["capture", "q"], "write q:0"),
        (&["capture", "ghost:0"], "ghost"),
        (&["check", &in_tree("examples/tidegate.toml")], "ends in .tg"),
        (&["run", "absent.tg"], "could not read absent.tg"),
        (&["graph", "--file", "absent.tg"], "cannot be used with"),
    ] {
        let text = daemon.refusal(args);
        assert!(text.contains(says), "{args:?}: {says:?} is not in: {text}");
    }
}

#[test]
fn every_command_has_examples() {
    for command in [
        "run",
        "check",
        "show",
        "add",
        "delete",
        "connect",
        "disconnect",
        "command",
        "monitor",
        "top",
        "graph",
        "capture",
    ] {
        let output = Command::new(TIDEGATE).args([command, "--help"]).output().expect("run");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && text.contains("Examples:\n  tidegate "), "{command}: {text}");
    }
}
