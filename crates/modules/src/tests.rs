//! Impairment by numbers, over a source and a sink made here.
use crate::{Impair, ImpairConfig};
use tidegate_base::{DropReason, Duration, Instant};
use tidegate_packet::{Batch, HeapMemory, Pool};
use tidegate_pipeline::{Context, GateCounts, Graph, Module, Work, Worker, WorkerConfig, control};

/// Emits frames that carry their number; its mate at the other end writes the numbers down.
struct Source(u32);

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
        for _ in 0..10 {
            let Some(mut frame) = ctx.pool().alloc() else { return Work::NONE };
            frame.extend(&self.0.to_be_bytes());
            self.0 += 1;
            ctx.emit(0, frame);
        }
        Work { packet_count: 10, byte_count: 40 }
    }
}

#[derive(Default)]
struct Sink(Vec<u32>);

impl Module for Sink {
    fn class(&self) -> &'static str {
        "sink"
    }
    fn gates(&self) -> GateCounts {
        GateCounts::SINK
    }
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        for frame in batch.drain() {
            self.0.push(u32::from_be_bytes(frame.data().try_into().unwrap()));
            ctx.drop(frame, DropReason::Policy);
        }
    }
}

fn numbers_through(config: &str, rounds: u64) -> Vec<u32> {
    let config: ImpairConfig = config.parse().unwrap();
    let mut graph = Graph::new();
    let source = graph.add("source", Box::new(Source(0))).unwrap();
    let impair = graph.add("impair", Box::new(Impair::new(config))).unwrap();
    let sink = graph.add("sink", Box::new(Sink::default())).unwrap();
    graph.chain(&[source, impair, sink]).unwrap();
    let pool = Pool::new(Box::new(HeapMemory::new(4096 * 2048)), 2048).unwrap();
    let (_control, commands) = control(|| {});
    let mut worker = Worker::new(WorkerConfig::default(), pool, Vec::new(), graph, commands);
    for round in 0..rounds {
        worker.round(Instant::from_millis(round));
    }
    std::mem::take(&mut worker.module_mut::<Sink>("sink").unwrap().0)
}

#[test]
fn without_faults_all_pass_in_order() {
    assert_eq!(numbers_through("", 10), (0..100).collect::<Vec<_>>());
}

#[test]
fn loss_is_about_what_was_asked() {
    let passed = numbers_through("loss=5%,seed=3", 2000).len();
    assert!((18_700..19_300).contains(&passed), "{passed} of 20000");
}

#[test]
fn the_same_seed_loses_the_same() {
    assert_eq!(numbers_through("loss=20%,seed=9", 50), numbers_through("loss=20%,seed=9", 50));
    assert_ne!(numbers_through("loss=20%,seed=9", 50), numbers_through("loss=20%,seed=8", 50));
}

#[test]
fn delay_holds_and_keeps_order_and_reordering_breaks_it() {
    let late = numbers_through("delay=5ms", 10);
    assert_eq!(late, (0..50).collect::<Vec<_>>());
    let mixed = numbers_through("delay=5ms,reorder=10%", 100);
    assert!(!mixed.is_sorted());
}

#[test]
fn a_line_of_a_rate_sends_a_packet_after_the_other() {
    // Ten packets of 32 bits come each millisecond, and the line takes five.
    assert_eq!(numbers_through("rate=160k", 100), (0..495).collect::<Vec<_>>());
    // As many as may wait do; the others are lost, and the line is never idle.
    assert_eq!(numbers_through("rate=160k", 1000).len(), 4995);
    assert_eq!(numbers_through("rate=1G", 100).len(), 990);
}

#[test]
fn duplication_repeats() {
    let mut numbers = numbers_through("duplicate=50%", 10);
    assert!(numbers.len() > 120);
    numbers.dedup();
    assert_eq!(numbers.len(), 100);
}

#[test]
fn wrong_descriptions_say_what_is_wrong() {
    let wrong = |text: &str| text.parse::<ImpairConfig>().unwrap_err().to_string();
    assert!(wrong("loss").contains("`loss` has no value"));
    assert!(wrong("loss=200%").contains("`loss=200%` is not understood"));
    assert!(wrong("delay=5").contains("`delay=5`"));
    assert!(wrong("fog=1%").contains("`fog` is not a fault"));
    assert_eq!("delay=3ms".parse::<ImpairConfig>().unwrap().delay, Duration::from_millis(3));
}
