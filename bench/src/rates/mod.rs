//! `make bench-rates`: how exactly the rate limiter keeps the rates of many flows, and how evenly it spaces their packets:
//! the experiments of S. Han's *System Design for Software Packet Processing* (2019), chapter 6.1.2 and Table 6.2.
//!
//! ```text
//!   starter --> rate_limiter --> gauge --> port_out ==+
//!        +----^                                       | two ports joined in memory: a frame that left comes back,
//!        +----------------------------- port_in ======+ so that each flow always has another waiting
//! ```
//! Flows begin at random times, within the time that a frame of theirs takes at its rate.
//! The gauge reads the clock for each batch that leaves the limiter. Frames of 1,500 bytes, one worker that never sleeps.

mod gauge;
mod starter;

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use tidegate_base::Instant;
use tidegate_modules::queue::{RateLimiter, RateLimiterParams};
use tidegate_modules::{Field, PortIn, PortOut, Position};
use tidegate_packet::Pool;
use tidegate_pipeline::{Graph, PortIndex, Worker, WorkerConfig, control};
use tidegate_port::{Port, joined_by_move};
use tidegate_sys::mem::Mapping;
use tidegate_sys::{clock, cpu};

use self::gauge::{Gauge, Spacing};
use self::starter::Starter;
use crate::machine::Machine;
use crate::results;

/// Options of the bench.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// Seconds that the rates are measured over
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Seconds a line of the spacing table and turn
    #[arg(long, value_name = "S", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=600))]
    spacing_seconds: u64,
    /// Turns of a line of the spacing table, of which the one of median deviation is quoted
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99))]
    runs: u32,
    /// The processor to run on (default: the last)
    #[arg(long, value_name = "CPU")]
    cpu: Option<usize>,
    /// Where rates.json and rates.md go (default: nowhere)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const CHUNK_LEN: usize = 2048;
const FRAME_LEN: usize = 1500;
/// Frames of a flow that are under way: one waits while another comes back.
const FRAMES_PER_FLOW: usize = 2;
/// Not measured: until every flow has found its place.
const WARM_UP: Duration = Duration::from_millis(500);
const MBPS: u64 = 1_000_000;

/// Flows, Mbit/s of each, and the standard deviations of gaps that Table 6.2 has for SENIC and for BESS, in us.
const SPACINGS: [(u64, u32, Option<f64>, Option<f64>); 14] = [
    (1, 1, None, Some(0.8)),
    (1, 500, Some(7.1), Some(1.4)),
    (1, 4096, None, Some(2.0)),
    (1, 8192, None, Some(6.5)),
    (10, 1, Some(0.23), Some(1.4)),
    (10, 10, Some(0.24), Some(1.4)),
    (10, 100, Some(1.3), Some(1.6)),
    (10, 1000, None, Some(4.4)),
    (100, 1, Some(0.087), Some(1.1)),
    (100, 10, Some(0.173), Some(1.4)),
    (100, 100, None, Some(1.4)),
    (1000, 1, Some(0.161), Some(1.1)),
    (1000, 3, Some(0.191), Some(1.1)),
    (1000, 10, None, Some(0.6)),
];

/// How near to their rates flows were.
#[derive(Clone, Copy, Debug, Serialize)]
struct Accuracy {
    flow_count: usize,
    /// The largest deviation of a flow from its rate, as a share of it.
    worst: f64,
    /// The mean of all deviations.
    mean: f64,
}

/// A line of Table 6.2.
#[derive(Clone, Copy, Debug, Serialize)]
struct Line {
    rate_mbps: u64,
    flow_count: u32,
    spacing: Spacing,
    senic_us: Option<f64>,
    bess_us: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
struct Report {
    machine: Machine,
    seconds: u64,
    spacing_seconds: u64,
    runs: u32,
    accuracy: Accuracy,
    lines: Vec<Line>,
}

/// Runs the bench, and prints its table.
#[allow(clippy::print_stdout)] // its figures are what a bench is for
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    cpu::pin_current_thread(args.cpu.unwrap_or_else(|| cpu::count().saturating_sub(1)))?;
    let accuracy = accuracy(Duration::from_secs(args.seconds))?;
    let span = Duration::from_secs(args.spacing_seconds);
    let line = |(rate_mbps, flow_count, senic_us, bess_us): (u64, u32, Option<f64>, Option<f64>)| {
        let rates = vec![rate_mbps * MBPS; flow_count as usize];
        let mut turns: Vec<Spacing> =
            (0..args.runs).map(|_| Ok(run_flows(&rates, span)?.spacing())).collect::<anyhow::Result<_>>()?;
        turns.sort_by(|one, other| one.deviation_us.total_cmp(&other.deviation_us));
        let spacing = turns[turns.len() / 2];
        Ok(Line { rate_mbps, flow_count, spacing, senic_us, bess_us })
    };
    let lines = SPACINGS.into_iter().map(line).collect::<anyhow::Result<_>>()?;
    let report = Report {
        machine: Machine::describe(&[]),
        seconds: args.seconds,
        spacing_seconds: args.spacing_seconds,
        runs: args.runs,
        accuracy,
        lines,
    };
    let table = report.table();
    print!("{table}");
    match &args.out {
        Some(out) => results::write_table(out, "rates", &report, &table),
        None => Ok(()),
    }
}

/// A thousand flows, from 1 to 11 Mbit/s in steps of 10 kbit/s.
fn accuracy(span: Duration) -> anyhow::Result<Accuracy> {
    let rates: Vec<u64> = (1..=1000).map(|step| MBPS + step * 10_000).collect();
    let off = run_flows(&rates, span)?.deviations().collect::<Option<Vec<f64>>>();
    let off = off.context("a flow sent nothing")?;
    Ok(Accuracy {
        flow_count: rates.len(),
        worst: off.iter().copied().fold(0.0, f64::max),
        mean: off.iter().sum::<f64>() / off.len() as f64,
    })
}

/// Has flows send at these rates, and says what the gauge saw.
fn run_flows(rates: &[u64], span: Duration) -> anyhow::Result<Gauge> {
    let frame_count = rates.len() * FRAMES_PER_FLOW;
    let memory = Mapping::anonymous((frame_count + 64) * CHUNK_LEN)?;
    let pool = Pool::new(Box::new(memory), CHUNK_LEN)?;
    let (near, far) = joined_by_move(frame_count, FRAME_LEN);
    let ports: Vec<Box<dyn Port>> = vec![Box::new(near), Box::new(far)];
    let (_control, commands) = control(|| {});
    let graph = graph(rates, frame_count)?;
    let mut worker = Worker::new(WorkerConfig::default(), pool, ports, graph, commands);
    drive(&mut worker, WARM_UP);
    worker.module_mut::<Gauge>("gauge").context("the gauge is gone")?.begin();
    drive(&mut worker, span);
    let modules = worker.replace(Graph::new())?;
    let gauge = modules.into_iter().find(|(name, _)| name == "gauge").context("the gauge is gone")?.1;
    let gauge: Box<dyn std::any::Any> = gauge;
    gauge.downcast().map(|gauge| *gauge).map_err(|_| anyhow::anyhow!("the gauge is another module"))
}

fn graph(rates: &[u64], frame_count: usize) -> anyhow::Result<Graph> {
    let flow = Field { position: Position::Offset(0), size: 4 };
    let mut limiter = RateLimiter::new(&RateLimiterParams {
        flow_count: rates.len(),
        queued_max: frame_count,
        ..RateLimiterParams::new(flow)
    })?;
    for (flow, rate) in (0..).zip(rates) {
        limiter.set_rate(flow, *rate)?;
    }
    let mut graph = Graph::new();
    let row = [
        graph.add("in", Box::new(PortIn::new(PortIndex(1))))?,
        graph.add("limiter", Box::new(limiter))?,
        graph.add("gauge", Box::new(Gauge::new(rates, FRAME_LEN)))?,
        graph.add("out", Box::new(PortOut::new(PortIndex(0))))?,
    ];
    graph.chain(&row)?;
    let starter = graph.add("starter", Box::new(Starter::new(rates, FRAME_LEN, FRAMES_PER_FLOW)))?;
    graph.connect(starter, 0, row[1], 0)?;
    Ok(graph)
}

fn drive(worker: &mut Worker, span: Duration) {
    let end: Instant = clock::now() + span.into();
    loop {
        let now = clock::now();
        if now >= end {
            return;
        }
        worker.round(now);
    }
}

impl Report {
    fn table(&self) -> String {
        let Accuracy { flow_count, worst, mean } = self.accuracy;
        let mut text = format!(
            "{flow_count} flows at 1 to 11 Mbit/s in steps of 10 kbit/s, over {} s: the worst flow is off by {:.5} %, the mean flow by {:.5} % (in the paper: less than 0.01 %).\n\n",
            self.seconds,
            worst * 100.0,
            mean * 100.0
        );
        text.push_str("| Mbit/s a flow | flows | packets | 99 % of gaps are off by at most (us) | standard deviation of gaps (us) | BESS (paper) | SENIC (paper) |\n");
        text.push_str("|---:|---:|---:|---:|---:|---:|---:|\n");
        for line in &self.lines {
            let Line { rate_mbps, flow_count, spacing, senic_us, bess_us } = line;
            let _ = writeln!(
                text,
                "| {rate_mbps} | {flow_count} | {} | {:.2} | {:.2} | {} | {} |",
                spacing.packet_count,
                spacing.off_us_p99,
                spacing.deviation_us,
                results::or_dash(*bess_us, 1),
                results::or_dash(*senic_us, 2)
            );
        }
        let _ = writeln!(
            text,
            "\nFrames of {FRAME_LEN} bytes; of {} turns of {} s a line, the one of median deviation; flows begin at random times; times read where frames leave the module, in this process. The paper's were read by a receiver.\n\n{}",
            self.runs,
            self.spacing_seconds,
            self.machine.line()
        );
        text
    }
}
