//! Looking at a daemon and changing it, a command at a time.

use crate::daemon::{Daemon, Scratch, TIDEGATE, in_tree, said};
use serde_json::Value;
use std::process::Command;

fn with_example(name: &str) -> Daemon {
    let daemon = Daemon::start();
    daemon.say(&["run", &in_tree(&format!("examples/{name}.tg"))]);
    daemon
}

fn json(daemon: &Daemon, what: &str) -> Value {
    serde_json::from_str(&daemon.say(&["show", what, "--json"])).expect("JSON")
}

#[test]
fn all_there_is_is_shown() {
    let daemon = with_example("classes");
    for (args, says) in [
        (&["show"][..], "1 workers, 0 ports, 5 modules"),
        (&["show", "modules"], "camera   Source"),
        (&["show", "modules", "join"], "<- camera:0"),
        (&["show", "ports"], "no ports: add one"),
        (&["show", "classes"], "  video"),
        (&["show", "classes", "backup"], "10000000/s"),
        (&["show", "workers"], "running"),
        (&["show", "pipeline"], "camera.attach_task(parent=video)"),
        (&["show", "metadata"], "no module uses metadata"),
        (&["show", "services"], "no services"),
        (&["show", "mclasses"], "Queue"),
        (&["show", "mclasses", "Queue"], "arguments: size=NUMBER, prefetch=true|false"),
        (&["show", "mclasses", "Queue"], "command set_size: size=NUMBER"),
        (&["show", "drivers"], "PMDPort"),
        (&["show", "drivers", "PMDPort"], "vdev=TEXT"),
        (&["show", "hooks"], "Track"),
        (&["show", "pools"], "buffers"),
    ] {
        let text = daemon.say(args);
        assert!(text.contains(says), "{args:?}: {says:?} is not in:\n{text}");
    }
}

#[test]
fn programs_get_json() {
    let daemon = with_example("metadata");
    let names: Vec<Value> =
        json(&daemon, "modules").as_array().expect("a list").iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["by_tenant", "mark", "one", "src", "two"]);
    assert_eq!(json(&daemon, "version")["modules"], 5);
    assert_eq!(json(&daemon, "pipeline")["connections"].as_array().map(Vec::len), Some(4));
    assert_eq!(json(&daemon, "metadata")["modules"][1]["attributes"][0]["name"], "tenant");
    for what in ["ports", "classes", "workers", "services", "mclasses", "drivers", "hooks", "pools"] {
        assert!(json(&daemon, what).is_array(), "{what}");
    }
}

#[test]
fn a_pipeline_is_built_and_taken_apart_by_hand() {
    let daemon = Daemon::start();
    daemon.say(&["add", "port", "PMDPort", "p0", "vdev=net_null0"]);
    daemon.say(&["add", "module", "PortInc", "in", "port=p0"]);
    assert_eq!(daemon.say(&["add", "module", "Queue", "size=64"]), "queue0\n");
    daemon.say(&["add", "module", "PortOut", "out", "port=p0"]);
    daemon.say(&["connect", "in", "queue0"]);
    daemon.say(&["add", "connection", "queue0:0", "0:out"]);
    daemon.say(&["add", "class", "rate_limit", "slow", "resource=packet", "limit=100k"]);
    assert_eq!(daemon.say(&["show", "ports", "p0"]).lines().count(), 2);
    let status = daemon.say(&["command", "queue0", "get_status"]);
    assert!(status.contains("size=64\n"), "{status}");
    daemon.say(&["command", "queue0", "set_size", "size=128"]);
    let status: Value =
        serde_json::from_str(&daemon.say(&["command", "queue0", "get_status", "--json"])).expect("JSON");
    assert_eq!(status["size"], 128);
    daemon.say(&["pause"]);
    daemon.say(&["resume"]);
    daemon.say(&["disconnect", "in"]);
    daemon.say(&["delete", "connection", "queue0:0"]);
    daemon.say(&["delete", "class", "slow"]);
    for name in ["in", "queue0", "out"] {
        daemon.say(&["delete", "module", name]);
    }
    daemon.say(&["delete", "port", "p0"]);
    assert!(daemon.say(&["show"]).contains("0 ports, 0 modules"));
    daemon.say(&["run", &in_tree("examples/hello.tg")]);
    daemon.say(&["reset", "modules"]);
    assert!(daemon.say(&["show", "modules"]).contains("no modules"));
}

#[test]
fn rates_are_told_as_lines_and_as_json() {
    let daemon = with_example("reflect");
    let text =
        daemon.say(&["monitor", "gates", "ports", "modules", "classes", "--count", "1", "--interval", "0.1"]);
    for says in [" UTC, a second, over ", "\nin:0 ", "\n0:macs ", "\nnic ", "\nmacs ", "cycles/packet"] {
        assert!(text.contains(says), "{says:?} is not in:\n{text}");
    }
    let lines = daemon.say(&["monitor", "ports", "--json", "--count", "2", "--interval", "0.1"]);
    let reports: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(reports.len(), 2);
    assert!(
        reports.iter().all(|report| report["ports"][0]["received"]["packets"].as_f64() > Some(0.0)),
        "{lines}"
    );
    let one = daemon.say(&["monitor", "--only", "macs", "--count", "1", "--interval", "0.1"]);
    assert!(one.contains("macs:0") && !one.contains("ips:0"), "{one}");
}

#[test]
fn what_modules_were_told_later_is_shown_and_can_be_put_back() {
    let daemon = Daemon::start();
    for class in ["Source src", "Queue q", "IPLookup routes", "Sink end"] {
        let words: Vec<&str> = ["add", "module"].into_iter().chain(class.split(' ')).collect();
        daemon.say(&words);
    }
    for link in [["src", "q"], ["q", "routes"], ["routes:1", "end"]] {
        daemon.say(&["connect", link[0], link[1]]);
    }
    daemon.say(&["command", "q", "set_size", "size=128"]);
    daemon.say(&["command", "q", "set_size", "size=256"]);
    daemon.say(&["command", "routes", "add", "prefix=10.0.0.0", "prefix_len=8", "gate=1"]);
    daemon.say(&["command", "routes", "add", "prefix=10.1.0.0", "prefix_len=16", "gate=2"]);
    daemon.say(&["command", "routes", "delete", "prefix=10.1.0.0", "prefix_len=16"]);
    let shown = daemon.say(&["show", "pipeline"]);
    assert!(shown.contains("size=256") && !shown.contains("size=128"), "{shown}");
    assert!(shown.contains("prefix=\"10.0.0.0\"") && !shown.contains("10.1.0.0"), "{shown}");
    let file = Scratch::new("told.tg", &shown);
    let put = daemon.say(&["run", file.path()]);
    assert!(put.contains("as it was: ") && !put.contains("new: "), "{put}");
    assert_eq!(daemon.say(&["show", "pipeline"]), shown);
    daemon.say(&["reset", "all"]);
    daemon.say(&["run", file.path()]);
    assert!(daemon.say(&["command", "q", "get_status"]).contains("size=256\n"));
    assert_eq!(daemon.say(&["show", "pipeline"]), shown);
}

#[test]
fn a_check_tells_what_is_read_and_never_written() {
    let text = "Source() -> reads::MetadataTest(read={tenant=4}) -> Sink()\n";
    let file = Scratch::new("unwritten.tg", text);
    let daemon = Daemon::start();
    for said in [said(Command::new(TIDEGATE).args(["check", file.path()])), daemon.say(&["run", file.path()])]
    {
        assert!(said.contains("note: `reads` reads `tenant`, but no module before it writes it"), "{said}");
    }
}

#[test]
fn packets_change_their_class_on_a_connection() {
    let daemon = Daemon::start();
    for class in ["Source src", "Sink end"] {
        let words: Vec<&str> = ["add", "module"].into_iter().chain(class.split(' ')).collect();
        daemon.say(&words);
    }
    daemon.say(&["add", "class", "round_robin", "top"]);
    daemon.say(&["add", "class", "round_robin", "fast", "parent=top"]);
    daemon.say(&["add", "class", "rate_limit", "slow", "parent=top", "resource=packet", "limit=100k"]);
    let refused = daemon.refusal(&["connect", "src", "end", "--class", "ghost"]);
    assert!(refused.contains("ghost"), "{refused}");
    assert!(!daemon.say(&["show", "modules"]).contains("Reclass"), "it is taken back");
    let refused = daemon.refusal(&["connect", "src", "end", "--class", "fast", "--class", "slow"]);
    assert!(refused.contains("have a new class already"), "{refused}");
    let edge = ["connect", "src", "end", "--class", "slow", "--class", "slow=fast"];
    assert_eq!(daemon.say(&edge), "reclass0\n");
    let shown = daemon.say(&["show", "pipeline"]);
    for says in ["reclass0::Reclass(classes={slow=fast}, others=slow)", "src -> reclass0 -> end"] {
        assert!(shown.contains(says), "{says:?} is not in:\n{shown}");
    }
    let file = Scratch::new("reclass.tg", &shown);
    let put = daemon.say(&["run", file.path()]);
    assert!(put.contains("as it was: ") && !put.contains("new: "), "{put}");
    let refused = daemon.refusal(&["delete", "class", "slow"]);
    assert!(refused.contains("reclass0 names traffic class slow"), "{refused}");
}
