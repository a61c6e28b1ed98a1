//! Two workers and a line between them: numbers made on one arrive on the other, all and in order, while graphs change.

use super::*;
use crate::Bypass;
use crate::queue::{Queue, QueueParams};
use std::thread::JoinHandle;
use std::time::Duration;
use tidegate_base::Rng;
use tidegate_packet::HeapMemory;
use tidegate_pipeline::{
    Control, Graph, KernelEnvironment, NamedModule, Waker, Work, Worker, WorkerConfig, control,
};

const CHUNK_COUNT: usize = 1024;

/// Emits frames that carry their number, as many as there is room for, until it is told to stop.
#[derive(Default)]
struct Numbers {
    next: u64,
    is_over: bool,
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
    fn asks_room(&self) -> bool {
        true
    }
    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        let mut work = Work::NONE;
        while !self.is_over && work.packet_count < 32.min(ctx.room(0)) {
            let Some(mut frame) = ctx.pool().alloc() else { break };
            frame.extend(&self.next.to_be_bytes());
            frame.scratch_mut()[3] = self.next as u8;
            self.next += 1;
            work.packet_count += 1;
            ctx.emit(0, frame);
        }
        work
    }
}

/// Sees whether every number comes, in order, with its attribute.
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
            let is_right = number == self.expected && frame.scratch()[3] == number as u8;
            self.fault_count += u64::from(!is_right);
            self.expected = number.wrapping_add(1);
            ctx.pool().free(frame);
        }
    }
}

struct Running {
    control: Control,
    thread: JoinHandle<Worker>,
}

impl Running {
    fn start(graph: Graph) -> Self {
        let waker = Waker::new().unwrap();
        let wake = waker.clone();
        let (control, commands) = control(move || wake.wake());
        let pool = Pool::new(Box::new(HeapMemory::new(CHUNK_COUNT * 2048)), 2048).unwrap();
        let mut worker = Worker::new(WorkerConfig::default(), pool, Vec::new(), graph, commands);
        let thread = std::thread::spawn(move || {
            worker.run(&mut KernelEnvironment::new(waker));
            worker
        });
        Self { control, thread }
    }

    fn ask<R: Send + 'static>(&self, question: impl FnOnce(&mut Worker) -> R + Send + 'static) -> R {
        self.control.ask(Duration::from_secs(30), question).unwrap()
    }

    fn replace(&self, graph: Graph) -> Vec<NamedModule> {
        self.ask(move |worker| worker.replace(graph)).unwrap()
    }

    fn end(self) -> Worker {
        self.control.send(Worker::stop);
        self.thread.join().unwrap()
    }
}

/// A name, and a new module or the gates of the one that is there.
type End<'a> = (&'a str, GateCounts, Option<Box<dyn Module>>);

/// first -> 0 to 3 bypasses -> last.
fn row(rng: &mut Rng, ends: [End<'_>; 2]) -> Graph {
    let mut graph = Graph::new();
    let mut ids = Vec::new();
    for (name, gates, module) in ends {
        let id = match module {
            Some(module) => graph.add(name, module),
            None => graph.keep(name, gates),
        };
        ids.push(id.unwrap());
    }
    let bypasses =
        (0..rng.below(4)).map(|n| graph.add(&format!("b{n}"), Box::new(Bypass::default())).unwrap());
    let middle: Vec<_> = bypasses.collect();
    let all: Vec<_> = [ids[0]].into_iter().chain(middle).chain([ids[1]]).collect();
    graph.chain(&all).unwrap();
    graph
}

fn queue() -> Box<dyn Module> {
    Box::new(Queue::new(QueueParams::default()).unwrap())
}

#[test]
fn nothing_is_lost_or_overtaken_while_both_ends_change() {
    let mut rng = Rng::new(11);
    let bell = Arc::new(Bell::new().unwrap());
    let (outlet, inlet) = line(0, 64, &bell);
    let (source, through, sink) = (GateCounts::SOURCE, GateCounts::THROUGH, GateCounts::SINK);
    let consumer = Running::start(row(
        &mut rng,
        [("q", through, Some(queue())), ("audit", sink, Some(Box::<Audit>::default()))],
    ));
    consumer.ask(move |worker| worker.module_mut::<Queue>("q").unwrap().add_inlet(inlet));
    let producer = Running::start(row(
        &mut rng,
        [("numbers", source, Some(Box::<Numbers>::default())), ("q", through, Some(Box::new(outlet)))],
    ));
    for round in 1..200 {
        consumer.replace(row(&mut rng, [("q", through, None), ("audit", sink, None)]));
        if round % 8 > 0 {
            producer.replace(row(&mut rng, [("numbers", source, None), ("q", through, None)]));
            continue;
        }
        // Another line in the place of the old one, which is emptied first.
        producer.ask(|worker| worker.set_paused(true));
        let (outlet, inlet) = line(round, 64, &bell);
        let next = row(&mut rng, [("numbers", source, None), ("q", through, Some(Box::new(outlet)))]);
        let mut left = producer.replace(next);
        let (_, mut old) = left.pop().unwrap();
        while old.class() != "queue_outlet" {
            (_, old) = left.pop().unwrap();
        }
        let is_empty = consumer.ask(move |worker| {
            let ended = worker.with_module_and_pool::<Queue, _>("q", |queue, pool| {
                let ended = queue.remove_inlet(round - 8, pool);
                queue.add_inlet(inlet);
                ended
            });
            ended.unwrap()
        });
        assert!(is_empty);
        producer.ask(move |worker| {
            old.retire(worker.pool_mut());
            worker.set_paused(false);
        });
    }
    let made = producer.ask(|worker| {
        let numbers = worker.module_mut::<Numbers>("numbers").unwrap();
        numbers.is_over = true;
        numbers.next
    });
    while consumer.ask(|worker| worker.module_mut::<Audit>("audit").unwrap().expected) < made {
        std::thread::yield_now();
    }
    let (mut producer, mut consumer) = (producer.end(), consumer.end());
    let Audit { expected, fault_count } = consumer.module_mut::<Audit>("audit").unwrap();
    assert!(
        made > 1000 && (*expected, *fault_count) == (made, 0),
        "{fault_count} wrong, {expected} of {made}"
    );
    for worker in [&mut consumer, &mut producer] {
        worker.replace(Graph::new()).unwrap();
        assert_eq!(worker.snapshot().pool.free_count, CHUNK_COUNT, "every frame is in its pool again");
    }
}

#[test]
fn frames_that_a_queue_never_takes_go_home() {
    let bell = Arc::new(Bell::new().unwrap());
    let (mut outlet, inlet) = line(7, 8, &bell);
    let mut pool = Pool::new(Box::new(HeapMemory::new(CHUNK_COUNT * 2048)), 2048).unwrap();
    for _ in 0..5 {
        outlet.frames.push(pool.alloc().unwrap()).unwrap();
        outlet.under_way_count += 1;
    }
    let mut queue = Queue::new(QueueParams::default()).unwrap();
    queue.add_inlet(inlet);
    assert!(!queue.abandon_inlet(6) && queue.abandon_inlet(7));
    assert_eq!(queue.status().dropped, 5);
    outlet.retire(&mut pool);
    assert_eq!((outlet.under_way_count, pool.free_count()), (0, CHUNK_COUNT));
}
