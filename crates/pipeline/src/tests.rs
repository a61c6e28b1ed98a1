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
    fn process(&mut self, _: &mut Context<'_>, _: usize, _: &mut Batch) {}
    fn task_count(&self) -> usize {
        1
    }
    fn asks_room(&self) -> bool {
        true
    }
    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        let count = self.count.min(ctx.room(0));
        for _ in 0..count {
            if let Some(frame) = ctx.pool().alloc() {
                ctx.emit(0, frame);
            }
        }
        Work { packet_count: count, byte_count: 0 }
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
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        self.log.lock().unwrap().push((self.name.into(), batch.len()));
        for frame in batch.drain() {
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

/// Deals frames out to its two output gates, one by one.
struct Deal;

impl Module for Deal {
    fn class(&self) -> &'static str {
        "deal"
    }
    fn gates(&self) -> GateCounts {
        GateCounts { inputs: 1, outputs: 2 }
    }
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        for (n, frame) in batch.drain().enumerate() {
            ctx.emit(n % 2, frame);
        }
    }
}

#[test]
fn small_batches_that_meet_are_merged() {
    //               +--> a(4) --+
    //  source(7) -> deal        +--> sink(7)
    //               +--> b(3) --+
    let log = Log::default();
    let mut graph = Graph::new();
    let sink = graph.add("sink", probe("sink", &log, GateCounts::SINK, usize::MAX)).unwrap();
    let deal = graph.add("deal", Box::new(Deal)).unwrap();
    for (gate, name) in ["a", "b"].into_iter().enumerate() {
        let branch = graph.add(name, probe(name, &log, GateCounts::THROUGH, usize::MAX)).unwrap();
        graph.connect(deal, gate, branch, 0).unwrap();
        graph.connect(branch, 0, sink, 0).unwrap();
    }
    let source = graph.add("source", Box::new(Source { count: 7 })).unwrap();
    graph.connect(source, 0, deal, 0).unwrap();
    worker(graph).round(Instant::ZERO);
    assert_eq!(*log.lock().unwrap(), [("a", 4), ("b", 3), ("sink", 7)].map(|(n, l)| (n.to_string(), l)));
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
fn sources_that_always_want_more_have_equal_shares_of_the_room() {
    //  idle, greedy(32), idle, greedy(32), modest(3), greedy(32) -> sink: room for 10 a round
    let log = Log::default();
    let mut graph = Graph::new();
    let sink = graph.add("sink", probe("sink", &log, GateCounts::SINK, 10)).unwrap();
    let counts = [0, 32, 0, 32, 3, 32];
    for (n, count) in counts.into_iter().enumerate() {
        let source = graph.add(&format!("source{n}"), Box::new(Source { count })).unwrap();
        graph.connect(source, 0, sink, 0).unwrap();
    }
    let mut worker = worker(graph);
    for _ in 0..400 {
        worker.round(Instant::ZERO);
    }
    let snapshot = worker.snapshot();
    let sent = |n: usize| {
        let name = format!("source{n}");
        let module = snapshot.modules.iter().find(|module| module.name == name).unwrap();
        module.traffic.out_packet_count
    };
    // Four take turns at being the first; the modest one leaves seven of its ten to the next.
    assert_eq!([sent(1), sent(3), sent(5)].iter().sum::<u64>() + sent(4), 4000);
    assert_eq!(sent(4), 300);
    assert_eq!([sent(1), sent(3)], [1000, 1000]);
    assert_eq!(sent(5), 1700);
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

/// Keeps what arrives until it is asked for it, frame by frame.
#[derive(Default)]
struct Store(Vec<tidegate_packet::Frame>);

impl Module for Store {
    fn class(&self) -> &'static str {
        "store"
    }
    fn gates(&self) -> GateCounts {
        GateCounts::SINK
    }
    fn process(&mut self, _: &mut Context<'_>, _: usize, batch: &mut Batch) {
        self.0.extend(batch.drain());
    }
    fn retire(&mut self, pool: &mut Pool) {
        self.0.drain(..).for_each(|frame| pool.free(frame));
    }
}

fn source_and_store(graph: &mut Graph, source: ModuleId, store: ModuleId) {
    graph.connect(source, 0, store, 0).unwrap();
}

#[test]
fn a_new_graph_keeps_what_it_names_and_gives_the_rest_back() {
    let mut graph = Graph::new();
    let source = graph.add("source", Box::new(Source { count: 5 })).unwrap();
    let store = graph.add("store", Box::new(Store::default())).unwrap();
    source_and_store(&mut graph, source, store);
    let mut worker = worker(graph);
    worker.round(Instant::ZERO);

    let mut next = Graph::new();
    let source = next.add("source", Box::new(Source { count: 2 })).unwrap();
    let store = next.keep("store", GateCounts::SINK).unwrap();
    source_and_store(&mut next, source, store);
    assert_eq!(worker.replace(next).unwrap().len(), 1);
    worker.round(Instant::ZERO);
    assert_eq!(worker.module_mut::<Store>("store").unwrap().0.len(), 7);
    let store = &worker.snapshot().modules[1];
    assert_eq!((store.name.as_str(), store.traffic.in_packet_count), ("store", 7));

    assert_eq!(worker.replace(Graph::new()).unwrap().len(), 2);
    assert_eq!(worker.snapshot().pool.free_count, 256, "what a module kept is in the pool again");
}

#[test]
fn a_graph_that_keeps_what_is_not_there_changes_nothing() {
    let mut graph = Graph::new();
    graph.add("source", Box::new(Source { count: 1 })).unwrap();
    let mut worker = worker(graph);
    let mut wrong = Graph::new();
    wrong.keep("source", GateCounts::SOURCE).unwrap();
    wrong.keep("sink", GateCounts::SINK).unwrap();
    assert_eq!(worker.replace(wrong).err(), Some(GraphError::NotThere("sink".into())));
    worker.round(Instant::ZERO);
    assert_eq!(worker.snapshot().modules[0].traffic.drops.of(DropReason::Policy), 1);
}

#[test]
fn what_is_more_than_a_batch_arrives_whole_and_in_order() {
    let mut graph = Graph::new();
    let source = graph.add("source", Box::new(Source { count: 100 })).unwrap();
    let store = graph.add("store", Box::new(Store::default())).unwrap();
    source_and_store(&mut graph, source, store);
    let mut worker = worker(graph);
    worker.round(Instant::ZERO);
    let indexes: Vec<u32> =
        worker.module_mut::<Store>("store").unwrap().0.iter().map(tidegate_packet::Frame::index).collect();
    assert_eq!(indexes, (0..100).collect::<Vec<u32>>());
    assert_eq!(worker.snapshot().modules[1].traffic.in_batch_count, 4);
}

/// Counts what it sees.
struct Counting(Arc<Mutex<usize>>);

impl GateHook for Counting {
    fn class(&self) -> &'static str {
        "counting"
    }
    fn on_frames(&mut self, _: Instant, frames: &[tidegate_packet::Frame]) {
        *self.0.lock().unwrap() += frames.len();
    }
}

#[test]
fn hooks_see_what_passes_their_gate_until_they_are_taken_away() {
    let mut graph = Graph::new();
    let source = graph.add("source", Box::new(Source { count: 5 })).unwrap();
    let store = graph.add("store", Box::new(Store::default())).unwrap();
    source_and_store(&mut graph, source, store);
    let mut worker = worker(graph);
    let (out, input) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
    assert!(worker.add_hook("source", GateSide::Output(0), Box::new(Counting(out.clone()))));
    assert!(worker.add_hook("store", GateSide::Input(0), Box::new(Counting(input.clone()))));
    assert!(!worker.add_hook("store", GateSide::Input(1), Box::new(Counting(input.clone()))));
    worker.round(Instant::ZERO);
    assert_eq!(worker.remove_hooks("source", GateSide::Output(0), "counting").len(), 1);
    worker.round(Instant::ZERO);
    assert_eq!((*out.lock().unwrap(), *input.lock().unwrap()), (5, 10));
}
