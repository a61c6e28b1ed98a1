//! Graph rules, order, merging and back-pressure, over modules made here.
use crate::*;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex};
use tidegate_base::{DropReason, Instant};
use tidegate_packet::{Batch, HeapMemory, Pool};

type Log = Arc<Mutex<Vec<(String, usize)>>>;

/// Emits `count` frames a turn.
struct Source {
    count: usize,
}

impl Module for Source {
    fn class(&self) -> &'static str {
        "source"
    }
    fn gates(&self) -> GateCounts {
        GateCounts::SOURCE
    }
    fn process(&mut self, _: &mut Context<'_>, _: usize, _: Batch) {}
    fn run(&mut self, ctx: &mut Context<'_>) -> usize {
        let count = self.count.min(ctx.room(0));
        for _ in 0..count {
            if let Some(frame) = ctx.pool().alloc() {
                ctx.emit(0, frame);
            }
        }
        count
    }
}

/// Writes down the size of each batch, then passes it on or drops it.
struct Probe {
    name: &'static str,
    log: Log,
    gates: GateCounts,
    room: usize,
}

impl Module for Probe {
    fn class(&self) -> &'static str {
        "probe"
    }
    fn gates(&self) -> GateCounts {
        self.gates
    }
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: Batch) {
        self.log.lock().unwrap().push((self.name.into(), batch.len()));
        for frame in batch {
            if self.gates.outputs > 0 { ctx.emit(0, frame) } else { ctx.drop(frame, DropReason::Policy) }
        }
    }
    fn room(&mut self, _: &mut Context<'_>, downstream: usize) -> usize {
        self.room.min(downstream)
    }
}

fn probe(name: &'static str, log: &Log, gates: GateCounts, room: usize) -> Box<Probe> {
    Box::new(Probe { name, log: log.clone(), gates, room })
}

fn pool() -> Pool {
    Pool::new(Box::new(HeapMemory::new(256 * 2048)), 2048).unwrap()
}

fn worker(graph: Graph) -> Worker {
    let (_, commands) = control(|| {});
    Worker::new(WorkerConfig::default(), pool(), Vec::new(), graph, commands)
}

#[test]
fn small_batches_that_meet_are_merged() {
    //  a(3) --+
    //         +--> sink
    //  b(4) --+
    let log = Log::default();
    let mut graph = Graph::new();
    let sink = graph.add("sink", probe("sink", &log, GateCounts::SINK, usize::MAX)).unwrap();
    for (name, count) in [("a", 3), ("b", 4)] {
        let source = graph.add(name, Box::new(Source { count })).unwrap();
        graph.connect(source, 0, sink, 0).unwrap();
    }
    worker(graph).round(Instant::ZERO);
    assert_eq!(*log.lock().unwrap(), [("sink".to_string(), 7)]);
}

#[test]
fn upstream_runs_before_downstream_whatever_the_order_of_adding() {
    let log = Log::default();
    let mut graph = Graph::new();
    let c = graph.add("c", probe("c", &log, GateCounts::SINK, usize::MAX)).unwrap();
    let b = graph.add("b", probe("b", &log, GateCounts::THROUGH, usize::MAX)).unwrap();
    let a = graph.add("a", Box::new(Source { count: 40 })).unwrap();
    graph.chain(&[a, b, c]).unwrap();
    let mut worker = worker(graph);
    worker.round(Instant::ZERO);
    let expected = [("b", 32), ("b", 8), ("c", 32), ("c", 8)].map(|(n, l)| (n.to_string(), l));
    assert_eq!(*log.lock().unwrap(), expected);
    let snapshot = worker.snapshot();
    assert_eq!(snapshot.modules[2].traffic.drops.of(DropReason::Policy), 40);
    assert_eq!(snapshot.pool.free_count, 256);
}

#[test]
fn a_source_sees_the_narrowest_room_downstream() {
    let log = Log::default();
    let mut graph = Graph::new();
    let source = graph.add("source", Box::new(Source { count: 40 })).unwrap();
    let wide = graph.add("wide", probe("wide", &log, GateCounts::THROUGH, 30)).unwrap();
    let narrow = graph.add("narrow", probe("narrow", &log, GateCounts::SINK, 5)).unwrap();
    graph.chain(&[source, wide, narrow]).unwrap();
    worker(graph).round(Instant::ZERO);
    assert_eq!(log.lock().unwrap()[0], ("wide".to_string(), 5));
}

#[test]
fn a_frame_through_an_open_gate_is_dropped_and_counted() {
    let mut graph = Graph::new();
    graph.add("source", Box::new(Source { count: 2 })).unwrap();
    let mut worker = worker(graph);
    worker.round(Instant::ZERO);
    assert_eq!(worker.snapshot().modules[0].traffic.drops.of(DropReason::Policy), 2);
}

#[test]
fn wrong_graphs_are_refused_by_name() {
    let log = Log::default();
    let mut graph = Graph::new();
    let a = graph.add("a", probe("a", &log, GateCounts::THROUGH, 1)).unwrap();
    let b = graph.add("b", probe("b", &log, GateCounts::THROUGH, 1)).unwrap();
    assert_eq!(graph.add("a", Box::new(Source { count: 1 })), Err(GraphError::NameTaken("a".into())));
    graph.connect(a, 0, b, 0).unwrap();
    assert!(matches!(graph.connect(a, 0, b, 0), Err(GraphError::GateTaken { gate: 0, .. })));
    assert!(matches!(graph.connect(a, 1, b, 0), Err(GraphError::NoSuchGate { gate: 1, count: 1, .. })));
    assert!(matches!(graph.connect(b, 0, a, 0), Err(GraphError::Loop { .. })));
}

struct Asleep {
    sleeps: usize,
    control: Control,
}

impl Environment for Asleep {
    fn now(&mut self) -> Instant {
        Instant::from_millis(self.sleeps as u64 * 1000)
    }
    fn sleep(&mut self, _: &[BorrowedFd<'_>], deadline: Option<Instant>) {
        assert_eq!(deadline, None);
        self.sleeps += 1;
        if self.sleeps == 3 {
            self.control.send(Worker::stop);
        }
    }
}

#[test]
fn an_idle_worker_sleeps_and_a_command_stops_it() {
    let (control, commands) = control(|| {});
    let config = WorkerConfig {
        idle: Idle::Adaptive { spin: tidegate_base::Duration::ZERO, rest: tidegate_base::Duration::ZERO },
        ..Default::default()
    };
    let mut worker = Worker::new(config, pool(), Vec::new(), Graph::new(), commands);
    let mut env = Asleep { sleeps: 0, control };
    worker.run(&mut env);
    assert_eq!(env.sleeps, 3);
    assert_eq!(worker.snapshot().sleep_count, 3);
}
