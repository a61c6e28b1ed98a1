//! A worker under full load whose graph is replaced a thousand times a second: frames carry their numbers, and a module at
//! the end sees whether every one comes, in order.
//!
//! ```text
//!   numbers -> 0 to 3 bypasses -> queue -> 0 to 3 bypasses -> audit      numbers, queue and audit stay, the rest is new
//! ```
//! It fails if a frame was lost, overtaken or not in the pool at the end; how fast all this was, it only tells.

use std::io::{self, Write};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use hdrhistogram::Histogram;
use serde::Serialize;
use tidegate_base::Rng;
use tidegate_modules::Bypass;
use tidegate_modules::queue::{Queue, QueueParams};
use tidegate_packet::{Batch, Pool};
use tidegate_pipeline::{
    Context, GateCounts, Graph, KernelEnvironment, Module, Waker, Work, Worker, WorkerConfig, control,
};
use tidegate_sys::{cpu, mem::Mapping};

use crate::machine::Machine;
use crate::results;

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
    /// Where churn.json and churn.md go (default: nowhere)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
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
    let report = Report::of(&mut worker, &changed?)?;
    let text = report.text();
    write!(io::stdout().lock(), "{text}")?;
    if let Some(out) = &args.out {
        results::write_table(out, "churn", &report, &text)?;
    }
    report.check()
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

/// What the worker was found to be in at the end.
#[derive(Debug, Serialize)]
struct Report {
    machine: Machine,
    seconds: f64,
    change_count: u64,
    /// How long the thread that asked waited for a change.
    wait_us_median: f64,
    wait_us_p99: f64,
    wait_us_max: f64,
    made_count: u64,
    arrived_count: u64,
    waiting_count: u64,
    dropped_count: u64,
    fault_count: u64,
    free_count: usize,
}

impl Report {
    fn of(worker: &mut Worker, outcome: &Outcome) -> anyhow::Result<Self> {
        let modules = worker.snapshot().modules;
        let dropped = modules.iter().flat_map(|it| it.traffic.drops.iter()).map(|(_, count)| count).sum();
        let audit = worker.module_mut::<Audit>("audit").context("the audit is gone")?;
        let (arrived, fault_count) = (audit.expected, audit.fault_count);
        let made = worker.module_mut::<Numbers>("numbers").context("the source is gone")?.next;
        let waiting = worker.module_mut::<Queue>("queue").context("the queue is gone")?.status().count;
        worker.replace(Graph::new())?;
        let wait_us = |part: f64| outcome.waits_ns.value_at_quantile(part) as f64 / 1e3;
        Ok(Self {
            machine: Machine::describe(&[]),
            seconds: outcome.elapsed.as_secs_f64(),
            change_count: outcome.change_count,
            wait_us_median: wait_us(0.5),
            wait_us_p99: wait_us(0.99),
            wait_us_max: wait_us(1.0),
            made_count: made,
            arrived_count: arrived,
            waiting_count: waiting,
            dropped_count: dropped,
            fault_count,
            free_count: worker.snapshot().pool.free_count,
        })
    }

    fn text(&self) -> String {
        let Self { seconds, change_count, wait_us_median, wait_us_p99, wait_us_max, made_count, .. } = self;
        let Self { arrived_count, waiting_count, dropped_count, fault_count, free_count, machine, .. } = self;
        format!(
            "{change_count} changes in {seconds:.1} s ({:.0} a second); each took {wait_us_median:.1} us in the median, \
             {wait_us_p99:.1} at the 99th percentile, {wait_us_max:.1} at most\n\
             {made_count} frames made ({:.1} M a second), {arrived_count} arrived, {waiting_count} waited, {dropped_count} \
             dropped, {fault_count} out of order\n\
             {free_count} of {CHUNK_COUNT} frames in the pool at the end\n\n{}\n",
            *change_count as f64 / seconds,
            *made_count as f64 / seconds / 1e6,
            machine.line()
        )
    }

    fn check(&self) -> anyhow::Result<()> {
        let Self { made_count, arrived_count, waiting_count, dropped_count, fault_count, free_count, .. } =
            *self;
        ensure!(fault_count == 0, "{fault_count} frames did not come in order");
        let lost = made_count - arrived_count - waiting_count;
        ensure!(dropped_count == 0 && lost == 0, "{lost} frames were lost");
        ensure!(free_count == CHUNK_COUNT, "{} frames leaked", CHUNK_COUNT - free_count);
        Ok(())
    }
}
