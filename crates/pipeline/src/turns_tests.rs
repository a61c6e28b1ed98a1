//! Tasks in turn and by rules, and attributes from one module to the next, in a worker with a scripted clock.

use crate::class::{Policy, Position, Resource};
use crate::metadata::{Attribute, Place, Slot};
use crate::*;
use tidegate_base::{DropReason, Instant};
use tidegate_packet::{Batch, HeapMemory, Pool};

/// Emits `count` frames a turn.
struct Source(usize);

impl Module for Source {
    fn class(&self) -> &'static str {
        "source"
    }
    fn gates(&self) -> GateCounts {
        GateCounts::SOURCE
    }
    fn process(&mut self, _: &mut Context<'_>, _: usize, _: &mut Batch) {}
    fn task_count(&self) -> usize {
        1
    }
    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        for _ in 0..self.0 {
            let Some(frame) = ctx.pool().alloc() else { break };
            ctx.emit(0, frame);
        }
        Work { packet_count: self.0, byte_count: self.0 * 100 }
    }
}

/// Writes or reads an attribute of each frame.
struct Marker {
    attributes: [Attribute; 1],
    slot: Slot<4>,
    written: Option<u32>,
    seen: Vec<u32>,
}

impl Marker {
    fn new(attribute: Attribute, written: Option<u32>) -> Box<Self> {
        Box::new(Self { attributes: [attribute], slot: Slot::new(Place::Unread), written, seen: Vec::new() })
    }
}

impl Module for Marker {
    fn class(&self) -> &'static str {
        "marker"
    }
    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }
    fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }
    fn bind(&mut self, places: &[Place]) {
        self.slot = Slot::new(places[0]);
    }
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        for frame in batch.iter_mut() {
            match self.written {
                Some(value) => self.slot.write_number(frame, value),
                None => self.seen.push(self.slot.read_number(frame)),
            }
        }
        ctx.emit_batch(0, batch);
    }
}

fn worker(graph: Graph) -> Worker {
    let (_, commands) = control(|| {});
    let pool = Pool::new(Box::new(HeapMemory::new(256 * 2048)), 2048).unwrap();
    Worker::new(WorkerConfig::default(), pool, Vec::new(), graph, commands)
}

/// A worker with sources of these names, ten frames a turn each, whose gates are open.
fn sources(names: &[&str]) -> Worker {
    let mut graph = Graph::new();
    for name in names {
        graph.add(name, Box::new(Source(10))).unwrap();
    }
    worker(graph)
}

/// How many frames a source has emitted: an open gate drops them all, counted.
fn emitted(worker: &Worker, name: &str) -> u64 {
    let snapshot = worker.snapshot();
    let module = snapshot.modules.iter().find(|module| module.name == name).unwrap();
    module.traffic.drops.of(DropReason::Policy)
}

#[test]
fn without_rules_every_task_has_a_turn_a_round_and_its_use_is_known() {
    let mut worker = sources(&["a", "b"]);
    for round in 0..5 {
        assert_eq!(worker.round(Instant::from_millis(round)), 20);
    }
    let leaf = worker.leaf("b", 0).unwrap();
    let used = worker.edit_classes(|tree| {
        let class = tree.find_leaf(leaf).unwrap();
        tree.usage(class).unwrap()
    });
    assert_eq!((used.packets, used.bits), (50, 50 * 800));
}

#[test]
fn by_rules_a_round_is_a_turn_of_the_task_that_is_due() {
    let mut worker = sources(&["a", "b"]);
    let leaves = ["a", "b"].map(|name| worker.leaf(name, 0).unwrap());
    worker.edit_classes(|tree| {
        let root = tree.add("shares", None, Policy::WeightedFair(Resource::Packet), Position::None).unwrap();
        for (leaf, share) in leaves.into_iter().zip([3, 1]) {
            let class = tree.find_leaf(leaf).unwrap();
            tree.reparent(class, Some(root), Position::Share(share)).unwrap();
        }
    });
    for round in 0..4000 {
        worker.round(Instant::from_millis(round));
    }
    let (a, b) = (emitted(&worker, "a"), emitted(&worker, "b"));
    assert_eq!(a + b, 40_000);
    assert!((29_960..=30_040).contains(&a), "{a} of {}", a + b);
}

#[test]
fn a_limited_task_waits_for_its_time_and_the_worker_knows_until_when() {
    let mut worker = sources(&["a"]);
    let leaf = worker.leaf("a", 0).unwrap();
    worker.edit_classes(|tree| {
        let limit = Policy::RateLimit { resource: Resource::Packet, limit: 1000, max_burst: 0 };
        let limit = tree.add("limit", None, limit, Position::None).unwrap();
        let class = tree.find_leaf(leaf).unwrap();
        tree.reparent(class, Some(limit), Position::None).unwrap();
    });
    for round in 0..10_000 {
        worker.round(Instant::from_millis(round));
    }
    let count = emitted(&worker, "a");
    assert!((9_990..=10_020).contains(&count), "{count} in 10 s at 1000 a second");
}

#[test]
fn a_task_keeps_its_class_when_the_graph_changes_around_it() {
    let mut worker = sources(&["a", "b"]);
    let leaf = worker.leaf("a", 0).unwrap();
    worker.edit_classes(|tree| {
        let root = tree.add("first", None, Policy::Priority, Position::None).unwrap();
        let class = tree.find_leaf(leaf).unwrap();
        tree.reparent(class, Some(root), Position::Priority(0)).unwrap();
    });
    let mut next = Graph::new();
    next.add("c", Box::new(Source(1))).unwrap();
    next.keep("a", GateCounts::SOURCE).unwrap();
    worker.replace(next).unwrap();
    assert_eq!(worker.leaf("a", 0), Some(leaf));
    assert_eq!(worker.leaf("b", 0), None);
    let parent = worker.edit_classes(|tree| {
        let class = tree.class(tree.find_leaf(leaf).unwrap()).unwrap();
        tree.class(class.parent.unwrap()).unwrap().name.to_owned()
    });
    assert_eq!(parent, "first");
}

#[test]
fn an_attribute_arrives_as_it_was_written() {
    let mut graph = Graph::new();
    let source = graph.add("source", Box::new(Source(3))).unwrap();
    let write = graph.add("write", Marker::new(Attribute::write("mark", 4), Some(7))).unwrap();
    let other = graph.add("other", Marker::new(Attribute::write("else", 4), Some(9))).unwrap();
    let read = graph.add("read", Marker::new(Attribute::read("mark", 4), None)).unwrap();
    graph.chain(&[source, write, other, read]).unwrap();
    let layout = graph.lay_out();
    assert!(layout.faults().is_empty(), "{:?}", layout.faults());
    let mut worker = worker(graph);
    worker.round(Instant::ZERO);
    assert_eq!(worker.module_mut::<Marker>("read").unwrap().seen, [7, 7, 7]);
}
