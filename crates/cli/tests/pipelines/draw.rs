//! Drawings, of what runs and of files.

use crate::daemon::{Daemon, TIDEGATE, examples, in_tree, said};
use std::process::Command;

#[test]
fn what_runs_is_drawn() {
    let daemon = Daemon::start();
    daemon.say(&["run", &in_tree("examples/balance.tg")]);
    let svg = daemon.say(&["graph"]);
    assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<rect x").count(), 9, "a box a module");
    assert!(svg.contains(">lanes</text>") && svg.contains(">HashLB</text>"));
    let dot = daemon.say(&["graph", "--dot"]);
    assert_eq!(dot.matches(" -> ").count(), 10, "an arrow a connection: {dot}");
}

#[test]
fn every_example_can_be_drawn() {
    for file in examples() {
        let svg = said(Command::new(TIDEGATE).args(["graph", "--file", &file]));
        assert!(svg.ends_with("</svg>\n"), "{file}");
    }
}
