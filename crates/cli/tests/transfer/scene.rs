//! What the tests have in common: the cable, a zone in versions, and kdig.

use crate::ours::signed;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_testbed::{Layout, Testbed};

pub(crate) const APEX: &str = "example.test.";
pub(crate) const KEY: &str = "transfer.key.";
pub(crate) const SECRET: &str = "dGlkZWdhdGUgdHJhbnNmZXIgc2VjcmV0";
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

pub(crate) fn testbed() -> Arc<Testbed> {
    Arc::new(Testbed::new(&Layout::unpinned()).expect("a testbed (as root)"))
}

/// Version `serial`: an even host's address changes with it.
pub(crate) fn zone_text(serial: u32, timers: &str) -> String {
    let mut text = format!(
        "$ORIGIN {APEX}\n$TTL 300\n@ SOA ns host {serial} {timers} 60\n@ NS ns\nns A 192.0.2.1\n@ MX 10 mail\n\
         mail A 192.0.2.2\n*.wild CNAME ns\nsub NS ns.sub\nns.sub A 192.0.2.3\nodd TYPE65280 \\# 3 010203\n"
    );
    for host in 0..500 {
        let version = if host % 2 == 0 { serial } else { 0 };
        text += &format!("host{host} A 10.{}.{version}.{}\n", host / 256, host % 256);
    }
    text
}

/// What kdig prints, run beside the peers.
pub(crate) fn kdig(bed: &Testbed, arguments: &str) -> String {
    let mut command = Command::new("kdig");
    command.args(arguments.split_whitespace());
    let output = bed.client().output(command).expect("kdig");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// All records of the zone as `server` hands them out, sorted.
pub(crate) fn content(bed: &Testbed, server: &str) -> Vec<String> {
    let said = kdig(bed, &format!("{server} {APEX} AXFR +noall +answer {}", signed()));
    let mut lines: Vec<String> =
        said.lines().filter(|line| !line.starts_with(';') && !line.is_empty()).map(str::to_owned).collect();
    lines.sort();
    assert!(lines.len() > 500, "{said}");
    lines
}

pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
