//! Files: checked, run here, run in a daemon, written by one and taken back.

use crate::daemon::{Daemon, Scratch, TIDEGATE, examples, in_tree, said};
use std::process::Command;

#[test]
fn every_example_is_right_and_runs() {
    let daemon = Daemon::start();
    for file in examples() {
        let right = said(Command::new(TIDEGATE).args(["check", &file]));
        assert!(right.contains(": right: "), "{right}");
        let would = daemon.say(&["check", &file]);
        assert!(would.contains("new: "), "{would}");
        let runs = daemon.say(&["run", &file]);
        assert!(runs.contains("runs in the daemon"), "{runs}");
        let again = daemon.say(&["run", &file]);
        assert!(!again.contains("new: ") && again.contains("as it was: "), "{again}");
        daemon.say(&["reset", "all"]);
    }
}

#[test]
fn what_a_daemon_shows_is_taken_back_as_it_was() {
    let daemon = Daemon::start();
    for file in examples() {
        daemon.say(&["run", &file]);
        let shown = daemon.say(&["show", "pipeline"]);
        let copy = Scratch::new("shown.tg", &shown);
        let again = daemon.say(&["run", copy.path()]);
        assert!(!again.contains("new: ") && !again.contains("gone: "), "{file}:\n{shown}\n{again}");
        assert_eq!(daemon.say(&["show", "pipeline"]), shown);
        daemon.say(&["reset", "all"]);
    }
}

#[test]
fn a_file_runs_without_a_daemon_until_a_signal() {
    let here = Daemon::spawn(&["run", &in_tree("examples/hello.tg")]);
    assert!(here.say(&["show", "modules"]).contains("Queue"));
    assert_eq!(here.interrupt(), Some(0));
}

#[test]
fn two_do_not_run_at_one_address() {
    let daemon = Daemon::start();
    let mut second = Command::new(TIDEGATE);
    second.args(["run", &in_tree("examples/hello.tg"), "--listen", &daemon.address]);
    let output = second.output().expect("run");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains(&daemon.address), "{text}");
}

#[test]
fn what_is_wrong_is_shown_where_it_is() {
    for (text, says) in [
        ("src::Source() -> q::Quueue()", ":1:21\n"),
        ("a::Bypass() -> b::Bypass() -> a", "frames could come back to"),
        ("fair::weighted_fair()\nSource() -> Sink()", "weighted_fair needs a resource"),
    ] {
        let file = Scratch::new("wrong.tg", text);
        for args in [&["check", file.path()][..], &["run", file.path(), "--listen", "127.0.0.1:0"]] {
            let output = Command::new(TIDEGATE).args(args).output().expect("run");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{text}: {said}");
            assert!(said.contains(says), "{text}: {said}");
        }
    }
}
