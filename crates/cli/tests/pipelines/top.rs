//! The screen, in a terminal that script(1) makes.

use crate::daemon::{Daemon, TIDEGATE, in_tree, read_until};
use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn keys_turn_the_tables_and_end_it() {
    let daemon = Daemon::start();
    daemon.say(&["run", &in_tree("examples/hello.tg")]);
    let line =
        format!("stty rows 24 cols 80; exec {TIDEGATE} top --interval 0.1 --address {}", daemon.address);
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--flush", "--command", &line, "/dev/null"]);
    let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script (make deps)");
    let (mut keys, mut screen) = (child.stdin.take().expect("keys"), child.stdout.take().expect("a screen"));
    read_until(&mut screen, "cycles/packet");
    keys.write_all(b"2").expect("typed");
    read_until(&mut screen, "src:0");
    keys.write_all(b"4").expect("typed");
    read_until(&mut screen, "worker");
    keys.write_all(b"q").expect("typed");
    let rest = std::io::read_to_string(&mut screen).expect("read");
    assert!(child.wait().expect("ended").success(), "{rest}");
}

#[test]
fn without_a_terminal_it_says_what_to_type() {
    let daemon = Daemon::start();
    assert!(daemon.refusal(&["top"]).contains("tidegate monitor"));
}
