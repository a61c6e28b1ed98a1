//! `make bench-pipeline`: what the pipeline's modules cost, without a kernel: packets a second of one worker's
//! processor.
//!
//! ```text
//!   lines.rs   what is measured: a graph a line, and what BESS does on this kind of machine
//!   tables.rs  lines of modules with tables or state
//!   modules.rs a line for each other module that works on a frame
//!   makers.rs  those that make, copy, join and cut frames
//!   costs.rs   counters, classes and metadata: with them and without
//!   testpmd.rs the same work by DPDK's testpmd
//!   scale.rs   the same by one worker and by one a core
//!   mod.rs     each line for a while, in turns; medians; the table
//! ```
//! Frames of 60 bytes in batches of 32. The worker's time is its thread's processor time, so that others who ran meanwhile
//! cost nothing; a noisy neighbour still makes caches colder.

mod costs;
mod lines;
mod makers;
mod modules;
mod scale;
mod tables;
mod testpmd;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::Serialize;
use tidegate_packet::Pool;
use tidegate_pipeline::{ModuleSnapshot, Worker, WorkerConfig, control};
use tidegate_sys::mem::Mapping;
use tidegate_sys::{clock, cpu};

use self::lines::{LINES, Line, Parts};
use crate::machine::Machine;
use crate::results::{or_dash, write_table};
use crate::statistics::median;
use crate::yardstick::Yardstick;

/// Options of the bench.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// Only lines whose name has this in it
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Turns of which the median is quoted
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=99))]
    runs: u32,
    /// Milliseconds a line and turn
    #[arg(long, value_name = "MS", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    run_ms: u64,
    /// Frames taken from a port or emitted by a source at a time, at most
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u64).range(1..=32))]
    batch: u64,
    /// Leave DPDK's testpmd out
    #[arg(long)]
    no_testpmd: bool,
    /// Print each line's rate, and nothing else
    #[arg(long, hide = true)]
    rates_only: bool,
    /// Where pipeline.json, pipeline-workers.json and pipeline.md go (default: nowhere)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Bytes of a chunk, and how many: a worker's usual pool.
const CHUNK_LEN: usize = 2048;
const CHUNK_COUNT: usize = 8192;
/// Rounds between two looks at the clock.
const ROUNDS_PER_LOOK: usize = 64;

/// One line's figures, in millions of packets a second of processor time.
#[derive(Clone, Debug, Serialize)]
struct Row {
    name: &'static str,
    median: f64,
    best: f64,
    /// BESS on this kind of machine.
    reference: Option<f64>,
    /// DPDK's testpmd in the same run, its median.
    testpmd: Option<f64>,
}

/// What is measured turn by turn of a line.
#[derive(Clone, Debug, Default)]
struct Rates {
    ours: Vec<f64>,
    testpmd: Vec<f64>,
    /// With the counters of gates and without, each pair by two processes.
    counters: Vec<(f64, f64)>,
}

/// Runs the bench, and prints its table.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let wanted: Vec<&'static Line> = LINES
        .iter()
        .chain(tables::LINES)
        .chain(modules::LINES)
        .chain(makers::LINES)
        .chain(costs::LINES)
        .filter(|line| line.name.contains(&args.only))
        .collect();
    if args.rates_only {
        return print_rates(&wanted, args);
    }
    let mut yardstick = Yardstick::new();
    let rates = measure_in_turns(&wanted, args, &mut yardstick)?;
    let rows: Vec<Row> = wanted.iter().zip(&rates).map(|(line, rates)| Row::of(line, rates)).collect();
    let costs = costs::of(&wanted, &rates);
    let scaling = scale::measure(&wanted, args, &mut yardstick)?;
    let table = [table(&rows, args, &yardstick), costs::table(&costs), scale::table(&scaling)].join("\n");
    writeln!(io::stdout().lock(), "{table}")?;
    let Some(out) = &args.out else { return Ok(()) };
    write_table(out, "pipeline", &Report { rows, costs, scaling }, &table)
}

/// All of it.
#[derive(Serialize)]
struct Report {
    rows: Vec<Row>,
    costs: Vec<costs::Cost>,
    scaling: Vec<scale::Row>,
}

/// A line of text a line, for a bench that runs this one beside itself.
fn print_rates(lines: &[&'static Line], args: &Args) -> anyhow::Result<()> {
    for line in lines {
        let rate = measure(line, args).with_context(|| line.name)?;
        writeln!(io::stdout().lock(), "{rate}")?;
    }
    Ok(())
}

fn measure_in_turns(
    lines: &[&'static Line],
    args: &Args,
    yardstick: &mut Yardstick,
) -> anyhow::Result<Vec<Rates>> {
    let mut rates = vec![Rates::default(); lines.len()];
    for _ in 0..args.runs {
        for (line, rates) in lines.iter().zip(&mut rates) {
            rates.ours.push(yardstick.measure(|| measure(line, args)).with_context(|| line.name)?);
            rates.counters.extend(yardstick.measure(|| costs::with_and_without_counters(line, args))?);
            let peer = testpmd::beside(line.name).filter(|_| !args.no_testpmd);
            if let Some(peer) = peer {
                rates.testpmd.push(yardstick.measure(|| peer.measure(Duration::from_millis(args.run_ms)))?);
            }
        }
    }
    Ok(rates)
}

impl Row {
    fn of(line: &Line, rates: &Rates) -> Self {
        Self {
            name: line.name,
            best: rates.ours.iter().copied().fold(0.0, f64::max),
            median: median(rates.ours.iter().copied()),
            reference: line.reference,
            testpmd: (!rates.testpmd.is_empty()).then(|| median(rates.testpmd.iter().copied())),
        }
    }
}

fn table(rows: &[Row], args: &Args, yardstick: &Yardstick) -> String {
    let mut text = String::from(
        "| pipeline | M packets/s, median | best | BESS | median / BESS | testpmd, same run | median / testpmd |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
    );
    for Row { name, median, best, reference, testpmd } in rows {
        let ratio = |other: &Option<f64>| or_dash(other.map(|other| median / other), 2);
        text += &format!(
            "| {name} | {median:.1} | {best:.1} | {} | {} | {} | {} |\n",
            or_dash(*reference, 0),
            ratio(reference),
            or_dash(*testpmd, 1),
            ratio(testpmd),
        );
    }
    text + &format!(
        "\nMedians of {} turns of {} ms, batches of {}, frames of 60 bytes unless said, one worker, processor time. The \
         machine's processors are shared: turns beside which plain arithmetic was slower by a tenth than at its best were \
         repeated ({} of {}).\n{}\n",
        args.runs,
        args.run_ms,
        args.batch,
        yardstick.repeated_count,
        yardstick.repeated_count + yardstick.kept_count,
        Machine::describe(&[]).line()
    )
}

/// Millions of packets a second of this thread's time through a fresh worker.
fn measure(line: &Line, args: &Args) -> anyhow::Result<f64> {
    let mut worker = worker(line, args)?;
    drive(&mut worker, Duration::from_millis(args.run_ms / 4 + 1));
    let (packets, spent) = drive(&mut worker, Duration::from_millis(args.run_ms));
    let modules = worker.snapshot().modules;
    let drops = modules.iter().map(|it| it.traffic.drops.iter().map(|(_, count)| count).sum::<u64>());
    ensure!(drops.sum::<u64>() == 0, "packets were dropped, so this is no figure of what it says");
    Ok(packets as f64 / spent.as_secs_f64() / 1e6)
}

/// A fresh worker that runs a line.
fn worker(line: &Line, args: &Args) -> anyhow::Result<Worker> {
    let memory = Mapping::anonymous(CHUNK_COUNT * CHUNK_LEN)?;
    let mut pool = Pool::new(Box::new(memory), CHUNK_LEN)?;
    let Parts { graph, ports, prepare } = (line.build)(&mut pool, args.batch as usize)?;
    let config = WorkerConfig { batch_len: args.batch as usize, ..WorkerConfig::default() };
    let (_control, commands) = control(|| {});
    let mut worker = Worker::new(config, pool, ports, graph, commands);
    prepare(&mut worker)?;
    Ok(worker)
}

/// Runs rounds for a while of this thread's time: how many packets they worked on, and the time.
fn drive(worker: &mut Worker, span: Duration) -> (u64, Duration) {
    let start = cpu::thread_time();
    let before = passed(worker);
    let mut work = 0;
    loop {
        let now = clock::now();
        for _ in 0..ROUNDS_PER_LOOK {
            work += worker.round(now) as u64;
        }
        let spent = cpu::thread_time().saturating_sub(start);
        if spent >= span {
            let packets = if costs::IS_COUNTED { passed(worker) - before } else { work };
            return (packets, spent);
        }
    }
}

/// Packets that all ports have sent; without ports, those that have passed the module that most have passed: a queue's
/// task works on those of a source once more.
fn passed(worker: &Worker) -> u64 {
    let snapshot = worker.snapshot();
    if !snapshot.ports.is_empty() {
        return snapshot.ports.iter().map(|port| port.tx_packet_count).sum();
    }
    let most = |it: &ModuleSnapshot| it.traffic.in_packet_count.max(it.traffic.out_packet_count);
    snapshot.modules.iter().map(most).max().unwrap_or(0)
}
