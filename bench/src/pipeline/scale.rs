//! Several workers at once, each on a core of its own with its own pool: what sharing nothing is worth.
//!
//! Time is the wall's here, because that is what a second worker is to gain; a machine that does other things shows less.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Serialize;
use tidegate_pipeline::Worker;
use tidegate_sys::{clock, cpu};

use super::lines::Line;
use super::{Args, ROUNDS_PER_LOOK, passed, worker};
use crate::statistics::median;
use crate::yardstick::{self, Yardstick};

/// What is run by one worker and by several: a source's frames, a router's work, and frames that go round between ports.
const NAMES: [&str; 5] =
    ["source, sink", "10 bypass", "router, 65,536 destinations", "null port in, out", "memory in, out"];

/// One line's figures, in millions of packets a second.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    name: &'static str,
    worker_count: usize,
    one: f64,
    all: f64,
}

/// What the cores themselves give together: work that shares nothing, not even a cache. Two that are threads of one core
/// give less than twice one of them, and no pipeline can give more.
const ARITHMETIC: &str = "arithmetic only, M rounds/s";

/// What one thread runs, once to be warm and once to be measured.
type Replica<'a> = Box<dyn FnMut() -> f64 + 'a>;

/// Runs each line by one worker and by one a core, in turns.
pub(super) fn measure(lines: &[&'static Line], args: &Args, yardstick: &mut Yardstick) -> Result<Vec<Row>> {
    let cores = cpu::allowed();
    let wanted: Vec<&'static Line> =
        lines.iter().copied().filter(|line| NAMES.contains(&line.name)).collect();
    let span = Duration::from_millis(args.run_ms);
    let calculate = || -> Result<Replica<'_>> { Ok(Box::new(move || yardstick::wall_rate(span))) };
    let mut rows = Vec::new();
    rows.push(turns(ARITHMETIC, &calculate, &cores, args, yardstick)?);
    for line in wanted {
        let replica = || -> Result<Replica<'_>> {
            let mut worker = worker(line, args)?;
            Ok(Box::new(move || timed(&mut worker, span)))
        };
        rows.push(turns(line.name, &replica, &cores, args, yardstick).context(line.name)?);
    }
    Ok(rows)
}

fn turns<'a>(
    name: &'static str,
    replica: &(dyn Fn() -> Result<Replica<'a>> + Sync),
    cores: &[usize],
    args: &Args,
    yardstick: &mut Yardstick,
) -> Result<Row> {
    let (mut one, mut all) = (Vec::new(), Vec::new());
    for run in 0..args.runs {
        // Cores are seldom alike: each is the one in its turn.
        let alone = cores[run as usize % cores.len()];
        one.push(yardstick.measure(|| rate(replica, &[alone]))?);
        all.push(yardstick.measure(|| rate(replica, cores))?);
    }
    Ok(Row { name, worker_count: cores.len(), one: median(one), all: median(all) })
}

/// The table.
pub(super) fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| replicas of a pipeline | one worker, M packets/s | workers | together | together / one |\n|---|---:|---:|---:|---:|\n",
    );
    for Row { name, worker_count, one, all } in rows {
        text += &format!("| {name} | {one:.1} | {worker_count} | {all:.1} | {:.2} |\n", all / one);
    }
    text + "\nWall time, each worker pinned to its core.\n"
}

/// The rates of all replicas together, one on each of `cores`.
fn rate<'a>(replica: &(dyn Fn() -> Result<Replica<'a>> + Sync), cores: &[usize]) -> Result<f64> {
    let barrier = Barrier::new(cores.len());
    std::thread::scope(|scope| {
        let start = |core: &usize| {
            let (core, barrier) = (*core, &barrier);
            scope.spawn(move || -> Result<f64> {
                let made = cpu::pin_current_thread(core).map_err(Into::into).and_then(|()| replica());
                // Whoever has no worker must not keep the others waiting.
                barrier.wait();
                let mut run = made?;
                run();
                Ok(run())
            })
        };
        let threads: Vec<_> = cores.iter().map(start).collect();
        let rates =
            threads.into_iter().map(|it| it.join().map_err(|_| anyhow::anyhow!("a worker panicked"))?);
        rates.sum()
    })
}

/// Millions of packets a second.
fn timed(worker: &mut Worker, span: Duration) -> f64 {
    let (start, before) = (Instant::now(), passed(worker));
    while start.elapsed() < span {
        let now = clock::now();
        (0..ROUNDS_PER_LOOK).for_each(|_| {
            worker.round(now);
        });
    }
    (passed(worker) - before) as f64 / start.elapsed().as_secs_f64() / 1e6
}
