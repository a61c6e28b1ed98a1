//! A graph that changes all the time under load: nothing is lost, nothing is overtaken, nothing leaks.

use crate::*;
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::time::Duration;
use tidegate_base::{DropReason, Instant, Rng};
use tidegate_packet::{Batch, Frame, HeapMemory, Pool};

const CHUNK_COUNT: usize = 1024;

/// Emits frames that carry their number.
struct Numbers {
    next: u64,
}

impl Module for Numbers {
    fn class(&self) -> &'static str {
        "numbers"
    }
    fn gates(&self) -> GateCounts {
        GateCounts::SOURCE
    }
    fn process(&mut self, _: &mut Context<'_>, _: usize, _: &mut Batch) {}
    fn task_count(&self) -> usize {
        1
    }
    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        let mut work = Work::NONE;
        while work.packet_count < 20 {
            let Some(mut frame) = ctx.pool().alloc() else { break };
            frame.extend(&self.next.to_be_bytes());
            self.next += 1;
            work.packet_count += 1;
            ctx.emit(0, frame);
        }
        work
    }
}

/// Passes frames on.
struct Pass;

impl Module for Pass {
    fn class(&self) -> &'static str {
        "pass"
    }
    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        ctx.emit_batch(0, batch);
    }
}

/// Holds up to some hundred frames back and lets a few go each turn.
#[derive(Default)]
struct Hold {
    frames: VecDeque<Frame>,
}

impl Module for Hold {
    fn class(&self) -> &'static str {
        "hold"
    }
    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }
    fn process(&mut self, _: &mut Context<'_>, _: usize, batch: &mut Batch) {
        self.frames.extend(batch.drain());
    }
    fn task_count(&self) -> usize {
        1
    }
    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        let count = (self.frames.len() / 4).max(19).min(self.frames.len());
        for frame in self.frames.drain(..count) {
            ctx.emit(0, frame);
        }
        Work { packet_count: count, byte_count: 0 }
    }
    fn retire(&mut self, pool: &mut Pool) {
        self.frames.drain(..).for_each(|frame| pool.free(frame));
    }
}

/// Sees whether every number comes, in order.
#[derive(Default)]
struct Audit {
    expected: u64,
    fault_count: u64,
}

impl Module for Audit {
    fn class(&self) -> &'static str {
        "audit"
    }
    fn gates(&self) -> GateCounts {
        GateCounts::SINK
    }
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        for frame in batch.drain() {
            let number = frame.data().try_into().map_or(u64::MAX, u64::from_be_bytes);
            self.fault_count += u64::from(number != self.expected);
            self.expected = number.wrapping_add(1);
            ctx.pool().free(frame);
        }
    }
}

/// numbers -> some passes -> hold -> some passes -> audit; `is_first`: none of them is there yet.
fn graph(rng: &mut Rng, is_first: bool) -> Graph {
    let mut graph = Graph::new();
    let mut row = Vec::new();
    let mut stay = |graph: &mut Graph, name: &str, gates, module: Box<dyn Module>| {
        let added = if is_first { graph.add(name, module) } else { graph.keep(name, gates) };
        row.push(added.unwrap());
        for n in 0..rng.below(4) {
            row.push(graph.add(&format!("pass_after_{name}{n}"), Box::new(Pass)).unwrap());
        }
    };
    stay(&mut graph, "numbers", GateCounts::SOURCE, Box::new(Numbers { next: 0 }));
    stay(&mut graph, "hold", GateCounts::THROUGH, Box::<Hold>::default());
    let audit = match is_first {
        true => graph.add("audit", Box::<Audit>::default()),
        false => graph.keep("audit", GateCounts::SINK),
    };
    row.push(audit.unwrap());
    graph.chain(&row).unwrap();
    graph
}

/// Time passes, and nobody sleeps for long.
struct Awake(Instant);

impl Environment for Awake {
    fn now(&mut self) -> Instant {
        self.0 += tidegate_base::Duration::from_micros(10);
        self.0
    }
    fn sleep(&mut self, _: &[BorrowedFd<'_>], _: Option<Instant>) {
        std::thread::yield_now();
    }
}

#[test]
fn a_thousand_changes_under_load_lose_nothing() {
    let mut rng = Rng::new(7);
    let (control, commands) = control(|| {});
    let pool = Pool::new(Box::new(HeapMemory::new(CHUNK_COUNT * 2048)), 2048).unwrap();
    let first = graph(&mut rng, true);
    let mut worker = Worker::new(WorkerConfig::default(), pool, Vec::new(), first, commands);
    let thread = std::thread::spawn(move || {
        worker.run(&mut Awake(Instant::ZERO));
        worker
    });
    for _ in 0..1000 {
        let next = graph(&mut rng, false);
        let changed = control.ask(Duration::from_secs(30), move |worker| worker.replace(next).map(|_| ()));
        assert_eq!(changed, Some(Ok(())));
    }
    control.send(Worker::stop);
    let mut worker = thread.join().unwrap();
    let Audit { expected, fault_count } = worker.module_mut::<Audit>("audit").unwrap();
    assert!(*expected > 1000 && *fault_count == 0, "{fault_count} out of order of {expected}");
    let dropped: u64 = worker.snapshot().modules.iter().map(|m| m.traffic.drops.of(DropReason::Policy)).sum();
    assert_eq!(dropped, 0);
    worker.replace(Graph::new()).unwrap();
    assert_eq!(worker.snapshot().pool.free_count, CHUNK_COUNT, "every frame is in the pool again");
}
