//! packetdrill's plug-in, driven by the calls and packets of some scripts.

use crate::installed::{Installed, root, run};
use std::process::Command;

/// Names the scripts print as they pass.
const SCRIPTS: [&str; 13] = [
    "handshake",
    "active_open",
    "refused",
    "data_both_ways",
    "fast_retransmit",
    "retransmission_timeout",
    "closed_window",
    "our_window_closes",
    "peer_closes_first",
    "we_close_first",
    "both_close_at_once",
    "linger_zero",
    "unread_data",
];

#[test]
fn scripts_run_on_the_plug_in() {
    let installed = Installed::new();
    let source = root().join("adapters/packetdrill");
    for file in ["Makefile", "interface.h", "plugin.c", "scripts.c"] {
        std::fs::copy(source.join(file), installed.path(file)).expect("readable");
    }
    let mut make = Command::new("make");
    make.arg("--silent").arg("-C").arg(installed.path("")).env("CFLAGS", "-O1 -g -Werror");
    run(make.env("PKG_CONFIG_PATH", installed.path("usr/lib/pkgconfig")));
    let said =
        run(Command::new("nm").args(["-D", "--defined-only"]).arg(installed.path("tidegate-packetdrill.so")));
    assert_eq!(said.lines().count(), 1, "one call is packetdrill's: {said}");
    let program = installed.path("scripts");
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=gnu11", "-D_GNU_SOURCE", "-g", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program);
    run(gcc.arg(installed.path("scripts.c")).arg("-ldl"));
    let mut scripts = Command::new(&program);
    scripts.arg(installed.path("tidegate-packetdrill.so")).env("LD_LIBRARY_PATH", installed.lib());
    let passed = run(&mut scripts);
    assert_eq!(passed.lines().collect::<Vec<_>>(), SCRIPTS);
}
