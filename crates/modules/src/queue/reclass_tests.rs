//! A transformer edge in a worker with a scripted clock: what is done in which class.

use super::*;
use crate::{Sink, Source};
use tidegate_base::Instant;
use tidegate_packet::HeapMemory;
use tidegate_pipeline::class::{LeafId, Position, Resource};
use tidegate_pipeline::{Graph, Worker, WorkerConfig, control};

fn params(classes: &[(&str, &str)], others: Option<&str>, size: u64) -> ReclassParams {
    let named = |(old, new): &(&str, &str)| ((*old).to_owned(), (*new).to_owned());
    ReclassParams { classes: classes.iter().map(named).collect(), others: others.map(str::to_owned), size }
}

/// Below `top`: `a` and `b` with a source each, and `c` with the edge's first task.
///
/// ```text
///   in_a (a) --+
///              +--> edge (c) --> end
///   in_b (b) --+
/// ```
fn worker(params: ReclassParams, of_c: Policy) -> Worker {
    let mut graph = Graph::new();
    let sources = ["in_a", "in_b"].map(|name| graph.add(name, Box::new(Source::new(60))).unwrap());
    let edge = graph.add("edge", Box::new(Reclass::new(params).unwrap())).unwrap();
    let end = graph.add("end", Box::new(Sink)).unwrap();
    sources.iter().for_each(|source| graph.connect(*source, 0, edge, 0).unwrap());
    graph.connect(edge, 0, end, 0).unwrap();
    let pool = Pool::new(Box::new(HeapMemory::new(512 * 2048)), 2048).unwrap();
    let (_, commands) = control(|| {});
    let mut worker = Worker::new(WorkerConfig::default(), pool, Vec::new(), graph, commands);
    let leaves = ["in_a", "in_b", "edge"].map(|module| worker.leaf(module, 0).unwrap());
    worker.edit_classes(|tree| {
        let top = tree.add("top", None, Policy::RoundRobin, Position::None).unwrap();
        let policies = [Policy::RoundRobin, Policy::RoundRobin, of_c];
        for ((name, policy), leaf) in ["a", "b", "c"].into_iter().zip(policies).zip(leaves) {
            let class = tree.add(name, Some(top), policy, Position::None).unwrap();
            let leaf = tree.find_leaf(leaf).unwrap();
            tree.reparent(leaf, Some(class), Position::None).unwrap();
        }
    });
    worker
}

fn packets_of(worker: &mut Worker, class: &str) -> u64 {
    worker.edit_classes(|tree| tree.usage(tree.find(class).unwrap()).unwrap().packets)
}

fn counter(worker: &Worker, name: &str) -> u64 {
    let snapshot = worker.snapshot();
    let edge = snapshot.modules.iter().find(|module| module.name == "edge").unwrap();
    edge.own.iter().find(|(own, _)| *own == name).unwrap().1
}

fn arrived(worker: &Worker) -> u64 {
    let snapshot = worker.snapshot();
    let end = snapshot.modules.iter().find(|module| module.name == "end").unwrap();
    end.inputs.iter().map(|gate| gate.traffic.packet_count).sum()
}

/// A round a microsecond.
fn run(worker: &mut Worker, rounds: std::ops::Range<u64>) {
    for round in rounds {
        worker.round(Instant::from_nanos(round * 1000));
    }
}

/// Takes the graph away: every frame must be back then.
fn retire(mut worker: Worker) {
    worker.replace(Graph::new()).unwrap();
    assert_eq!(worker.snapshot().pool.held_count, 0, "frames were lost");
}

#[test]
fn packets_of_an_old_class_go_on_in_the_new_one() {
    let mut worker = worker(params(&[("a", "c")], None, 256), Policy::RoundRobin);
    run(&mut worker, 0..3000);
    let [a, b, c] = ["a", "b", "c"].map(|class| packets_of(&mut worker, class));
    assert!(a > 10_000 && b > 10_000, "{a} {b}");
    assert_eq!(counter(&worker, "passed"), b);
    assert_eq!(counter(&worker, "enqueued"), a);
    assert_eq!(counter(&worker, "dropped"), 0);
    assert_eq!(c + counter(&worker, "waiting"), a);
    assert_eq!(arrived(&worker), b + c);
    retire(worker);
}

#[test]
fn the_new_classs_limit_holds_and_what_does_not_fit_is_dropped() {
    let limit = Policy::RateLimit { resource: Resource::Packet, limit: 1_000_000, max_burst: 0 };
    let mut worker = worker(params(&[], Some("c"), 100), limit);
    run(&mut worker, 0..10_000);
    let sent = arrived(&worker);
    assert!((9_900..=10_100).contains(&sent), "{sent} in 10 ms");
    assert_eq!(counter(&worker, "passed"), 0);
    let lost = counter(&worker, "dropped");
    assert!(lost > 0);
    let came = packets_of(&mut worker, "a") + packets_of(&mut worker, "b");
    assert_eq!(sent + lost + counter(&worker, "waiting"), came);
    retire(worker);
}

#[test]
fn a_change_of_classes_is_heeded_at_once() {
    let mut worker = worker(params(&[("a", "c")], None, 256), Policy::RoundRobin);
    let leaf = worker.leaf("in_a", 0).unwrap();
    worker.edit_classes(|tree| {
        let (leaf, b) = (tree.find_leaf(leaf).unwrap(), tree.find("b").unwrap());
        tree.reparent(leaf, Some(b), Position::None).unwrap();
    });
    run(&mut worker, 0..100);
    assert_eq!(counter(&worker, "enqueued"), 0);
    retire(worker);
}

/// The ways of tasks 0 to 3: below `a`, below `b` which is below `a`, below `c`, and below none.
fn ways(params: ReclassParams) -> Vec<Option<usize>> {
    let mut tree = ClassTree::new(0, 1);
    let a = tree.add("a", None, Policy::RoundRobin, Position::None).unwrap();
    let b = tree.add("b", Some(a), Policy::RoundRobin, Position::None).unwrap();
    let c = tree.add("c", None, Policy::RoundRobin, Position::None).unwrap();
    for (leaf, parent) in (0..).map(LeafId).zip([Some(a), Some(b), Some(c), None]) {
        tree.add(&format!("leaf{}", leaf.0), parent, Policy::Leaf(leaf), Position::None).unwrap();
    }
    let mut edge = Reclass::new(params).unwrap();
    edge.on_classes(&tree);
    edge.ways
}

#[test]
fn the_nearest_class_that_is_named_decides() {
    assert_eq!(ways(params(&[("a", "c")], None, 32)), [Some(0), Some(0), None, None]);
    assert_eq!(ways(params(&[("a", "d"), ("b", "c")], None, 32)), [Some(1), Some(0), None, None]);
    assert_eq!(ways(params(&[("a", "c"), ("c", "a")], None, 32)), [Some(1), Some(1), Some(0), None]);
}

#[test]
fn others_change_unless_they_are_there_already() {
    assert_eq!(ways(params(&[], Some("a"), 32)), [None, None, Some(0), Some(0)]);
    assert_eq!(ways(params(&[("b", "c")], Some("a"), 32)), [None, Some(1), Some(0), Some(0)]);
}

#[test]
fn wrong_parameters_say_which_are_right() {
    let error = |params| Reclass::new(params).err().unwrap().to_string();
    assert!(error(params(&[], None, 32)).contains("no new class"));
    assert!(error(params(&[], Some("a"), 0)).contains("1 to 1048576"));
}
