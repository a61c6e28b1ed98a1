//! The allowed arrows between crates. A new arrow is a decision: it is made here and in ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};

use tidegate_xtask::{Edge, EdgeKind, Graph, root};

/// Crates from the ground up, and what each may stand on. The order is the floors': an arrow to a crate
/// that stands further down in this table does not exist.
const ALLOWED: [(&str, &[&str]); 35] = [
    ("base", &[]),
    ("config", &["base"]),
    ("logfile", &[]),
    ("layout", &[]),
    ("wire", &["base"]),
    ("table", &["base"]),
    ("packet", &["base"]),
    ("sys", &["base", "packet"]),
    ("bpf", &["wire", "sys"]),
    ("tcp", &["base", "wire"]),
    ("bbr", &["base", "tcp"]),
    ("port", &["base", "packet", "sys", "bpf"]),
    ("stack", &["base", "wire", "packet", "tcp"]),
    ("fastopen", &["base", "wire", "tcp"]),
    ("mux", &["base", "wire", "sys", "bpf", "port", "stack"]),
    ("socket", &["base", "wire", "packet", "sys", "bpf", "tcp", "port", "stack", "mux"]),
    ("net", &["base", "sys", "socket"]),
    ("pipeline", &["base", "packet", "port", "sys"]),
    ("offload", &["base", "bpf"]),
    ("content", &["base", "packet", "sys"]),
    ("modules", &["base", "wire", "table", "packet", "port", "stack", "pipeline"]),
    ("web", &["base", "config", "logfile", "packet", "stack", "content"]),
    ("dns", &["base", "config", "logfile", "packet", "sys", "stack", "content"]),
    (
        "service",
        &[
            "base", "config", "wire", "packet", "sys", "bpf", "bbr", "fastopen", "port", "stack", "pipeline",
            "mux", "content", "modules", "web", "dns",
        ],
    ),
    ("control", &[]),
    ("script", &["config", "control"]),
    ("diagram", &["layout", "control"]),
    (
        "daemon",
        &["base", "wire", "packet", "sys", "bpf", "port", "pipeline", "mux", "modules", "service", "control"],
    ),
    ("dashboard", &["layout", "control"]),
    ("testbed", &["sys"]),
    ("fixture", &["base", "wire", "packet", "sys", "bpf", "port", "stack", "pipeline", "modules", "testbed"]),
    ("capi", &["base", "wire", "packet", "sys", "bbr", "fastopen", "stack", "socket"]),
    (
        "cli",
        &[
            "base",
            "config",
            "wire",
            "packet",
            "sys",
            "bpf",
            "tcp",
            "port",
            "stack",
            "pipeline",
            "mux",
            "content",
            "modules",
            "web",
            "dns",
            "service",
            "control",
            "script",
            "diagram",
            "daemon",
            "dashboard",
            "testbed",
        ],
    ),
    (
        "bench",
        &[
            "base", "config", "wire", "packet", "sys", "bpf", "tcp", "port", "stack", "pipeline", "mux",
            "content", "modules", "web", "dns", "testbed",
        ],
    ),
    ("xtask", &[]),
];

/// Crates that tests on any floor may stand on.
const FOR_TESTS: [&str; 2] = ["testbed", "fixture"];

/// Crates of others that only these of ours may name: they are the doors to the kernel.
const FENCED: [(&str, &[&str]); 5] = [
    ("libc", &["sys"]),
    ("libbpf-rs", &["bpf"]),
    ("libbpf-sys", &["bpf"]),
    ("libbpf-cargo", &["bpf"]),
    ("rustix", &["sys"]),
];

fn graph() -> Graph {
    Graph::load(&root()).unwrap()
}

fn floor_of(name: &str) -> usize {
    ALLOWED.iter().position(|(listed, _)| *listed == name).unwrap_or(usize::MAX)
}

fn shown<'a>(edges: impl Iterator<Item = &'a Edge>) -> Vec<String> {
    edges.map(|edge| format!("{} -> {}", edge.from, edge.to)).collect()
}

#[test]
fn every_crate_is_in_the_table() {
    let listed: BTreeSet<String> = ALLOWED.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(graph().crates, listed);
}

#[test]
fn the_table_points_down_only() {
    for (from, allowed) in ALLOWED {
        for to in allowed {
            assert!(floor_of(to) < floor_of(from), "{from} -> {to} points up");
        }
    }
}

#[test]
fn no_crate_uses_another_that_the_table_does_not_allow() {
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.into_iter().collect();
    let graph = graph();
    let strays = [EdgeKind::Normal, EdgeKind::Build].into_iter().flat_map(|kind| graph.inner(kind));
    let strays = strays.filter(|edge| !allowed[edge.from.as_str()].contains(&edge.to.as_str()));
    assert_eq!(shown(strays), [""; 0], "an arrow that ARCHITECTURE.md does not know");
}

#[test]
fn tests_reach_down_or_to_what_is_there_for_tests() {
    let graph = graph();
    let strays = graph.inner(EdgeKind::Dev);
    let strays = strays
        .filter(|edge| !FOR_TESTS.contains(&edge.to.as_str()) && floor_of(&edge.to) >= floor_of(&edge.from));
    assert_eq!(shown(strays), [""; 0], "a test that leans on a crate above its own");
}

#[test]
fn only_sys_and_bpf_speak_to_the_kernel() {
    let fenced: BTreeMap<&str, &[&str]> = FENCED.into_iter().collect();
    let graph = graph();
    let strays = graph.outer().filter(|edge| {
        fenced.get(edge.to.as_str()).is_some_and(|users| !users.contains(&edge.from.as_str()))
    });
    assert_eq!(shown(strays), [""; 0], "ask sys or bpf for what is needed");
}
