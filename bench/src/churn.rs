//! A worker under full load whose graph is replaced a thousand times a second: frames carry their numbers, and a module at
//! the end sees whether every one comes, in order.
//!
//! ```text
//!   numbers -> 0 to 3 bypasses -> queue -> 0 to 3 bypasses -> audit      numbers, queue and audit stay, the rest is new
//! ```
//! It fails if a frame was lost, overtaken or not in the pool at the end; how fast all this was, it only tells.

use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use hdrhistogram::Histogram;
use tidegate_base::{DropReason, Rng};
use tidegate_modules::Bypass;
use tidegate_modules::queue::{Queue, QueueParams};
use tidegate_packet::{Batch, Pool};
use tidegate_pipeline::{
    Context, GateCounts, Graph, KernelEnvironment, Module, Waker, Work, Worker, WorkerConfig, control,
};
use tidegate_sys::{cpu, mem::Mapping};

use crate::machine::Machine;

/// Options of the bench.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// Seconds
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Changes a second
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    rate: u64,
    /// Where the drawing of graphs starts
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

const CHUNK_LEN: usize = 2048;
const CHUNK_COUNT: usize = 8192;
/// How long a worker may take for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Frames emitted a turn.
const BURST: usize = 32;

/// Emits frames that carry their number.
struct Numbers {
    next: u64,
    batch: Batch,
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
        ctx.pool().alloc_batch(BURST, size_of::<u64>(), &mut self.batch);
        for frame in self.batch.iter_mut() {
            frame.data_mut().copy_from_slice(&self.next.to_ne_bytes());
            self.next += 1;
        }
        let work = Work { packet_count: self.batch.len(), byte_count: self.batch.byte_count() };
        ctx.emit_batch(0, &mut self.batch);
        work
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
        for frame in batch.iter() {
            let number = frame.data().try_into().map_or(u64::MAX, u64::from_ne_bytes);
            self.fault_count += u64::from(number != self.expected);
            self.expected = number.wrapping_add(1);
        }
        ctx.consume_batch(batch);
    }
}

/// A graph with another number of bypasses; the first one has everything new.
fn graph(rng: &mut Rng, is_first: bool) -> anyhow::Result<Graph> {
    let mut graph = Graph::new();
    let mut row = Vec::new();
    let stay: [(&str, GateCounts, Box<dyn Module>); 3] = [
        ("numbers", GateCounts::SOURCE, Box::new(Numbers { next: 0, batch: Batch::new() })),
        ("queue", GateCounts::THROUGH, Box::new(Queue::new(QueueParams::default())?)),
        ("audit", GateCounts::SINK, Box::<Audit>::default()),
    ];
    for (name, gates, module) in stay {
        row.push(if is_first { graph.add(name, module)? } else { graph.keep(name, gates)? });
        let bypass_count = if name == "audit" { 0 } else { rng.below(4) };
        for number in 0..bypass_count {
            row.push(graph.add(&format!("{name}_bypass{number}"), Box::new(Bypass::default()))?);
        }
    }
    graph.chain(&row)?;
    Ok(graph)
}

/// What came of it.
struct Outcome {
    change_count: u64,
    waits_ns: Histogram<u64>,
    elapsed: Duration,
}

/// Runs the bench; an error if anything was lost.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let mut rng = Rng::new(args.seed);
    let pool = Pool::new(Box::new(Mapping::anonymous(CHUNK_COUNT * CHUNK_LEN)?), CHUNK_LEN)?;
    let waker = Waker::new()?;
    let wake = waker.clone();
    let (control, commands) = control(move || wake.wake());
    let first = graph(&mut rng, true)?;
    let mut worker = Worker::new(WorkerConfig::default(), pool, Vec::new(), first, commands);
    let cores = cpu::allowed();
    let core = cores.last().copied().context("no processor to run on")?;
    let thread = thread::Builder::new().name("worker".to_owned()).spawn(move || {
        if let Err(error) = cpu::pin_current_thread(core) {
            eprintln!("tidegate-bench: the worker is not pinned: {error}");
        }
        worker.run(&mut KernelEnvironment::new(waker));
        worker
    })?;
    let changed = change(args, &mut rng, |graph| {
        control
            .ask(PATIENCE, move |worker| worker.replace(graph).map(drop))
            .context("the worker is stuck")?
            .context("refused")
    });
    control.send(Worker::stop);
    let mut worker = thread.join().map_err(|_| anyhow::anyhow!("the worker panicked"))?;
    report(&mut worker, &changed?)
}

/// Changes the graph at the wanted rate.
fn change(
    args: &Args,
    rng: &mut Rng,
    mut replace: impl FnMut(Graph) -> anyhow::Result<()>,
) -> anyhow::Result<Outcome> {
    let (start, span) = (Instant::now(), Duration::from_secs(args.seconds));
    let mut outcome = Outcome { change_count: 0, waits_ns: Histogram::new(3)?, elapsed: span };
    while start.elapsed() < span {
        let due = Duration::from_nanos(outcome.change_count * 1_000_000_000 / args.rate);
        thread::sleep(due.saturating_sub(start.elapsed()));
        let graph = graph(rng, false)?;
        let asked = Instant::now();
        replace(graph)?;
        outcome.waits_ns.record(asked.elapsed().as_nanos() as u64)?;
        outcome.change_count += 1;
    }
    outcome.elapsed = start.elapsed();
    Ok(outcome)
}

fn report(worker: &mut Worker, outcome: &Outcome) -> anyhow::Result<()> {
    let modules = worker.snapshot().modules;
    let dropped: u64 =
        modules.iter().map(|it| it.traffic.drops.iter().map(|(_, count)| count).sum::<u64>()).sum();
    let dead_ends: u64 = modules.iter().map(|it| it.traffic.drops.of(DropReason::Policy)).sum();
    let audit = worker.module_mut::<Audit>("audit").context("the audit is gone")?;
    let (arrived, fault_count) = (audit.expected, audit.fault_count);
    let made = worker.module_mut::<Numbers>("numbers").context("the source is gone")?.next;
    let waiting = worker.module_mut::<Queue>("queue").context("the queue is gone")?.status().count;
    worker.replace(Graph::new())?;
    let pool = worker.snapshot().pool;
    let Outcome { change_count, waits_ns, elapsed } = outcome;
    let seconds = elapsed.as_secs_f64();
    writeln!(
        io::stdout().lock(),
        "{change_count} changes in {seconds:.1} s ({:.0} a second); each took {:.1} us in the median, {:.1} at the 99th \
         percentile, {:.1} at most\n\
         {made} frames made ({:.1} M a second), {arrived} arrived, {waiting} waited, {dropped} dropped ({dead_ends} at open \
         gates), {fault_count} out of order\n\
         {} of {CHUNK_COUNT} frames in the pool at the end\n{}",
        *change_count as f64 / seconds,
        waits_ns.value_at_quantile(0.5) as f64 / 1e3,
        waits_ns.value_at_quantile(0.99) as f64 / 1e3,
        waits_ns.max() as f64 / 1e3,
        made as f64 / seconds / 1e6,
        pool.free_count,
        Machine::describe(&[]).line()
    )?;
    ensure!(fault_count == 0, "{fault_count} frames did not come in order");
    ensure!(dropped == 0 && made == arrived + waiting, "{} frames were lost", made - arrived - waiting);
    ensure!(pool.free_count == CHUNK_COUNT, "{} frames leaked", CHUNK_COUNT - pool.free_count);
    Ok(())
}
