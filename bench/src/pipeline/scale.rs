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
use super::yardstick::Yardstick;
use super::{Args, ROUNDS_PER_LOOK, passed, worker};
use crate::statistics::median;

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

/// Runs each line by one worker and by one a core, in turns.
pub(super) fn measure(lines: &[&'static Line], args: &Args, yardstick: &mut Yardstick) -> Result<Vec<Row>> {
    let cores = cpu::allowed();
    let wanted: Vec<&'static Line> =
        lines.iter().copied().filter(|line| NAMES.contains(&line.name)).collect();
    let mut rates = vec![(Vec::new(), Vec::new()); wanted.len()];
    for run in 0..args.runs {
        for (line, (one, all)) in wanted.iter().zip(&mut rates) {
            // Cores are seldom alike: each is the one in its turn.
            let alone = cores[run as usize % cores.len()];
            one.push(yardstick.measure(|| rate(line, args, &[alone])).with_context(|| line.name)?);
            all.push(yardstick.measure(|| rate(line, args, &cores)).with_context(|| line.name)?);
        }
    }
    let row = |(line, (one, all)): (&&'static Line, (Vec<f64>, Vec<f64>))| Row {
        name: line.name,
        worker_count: cores.len(),
        one: median(one),
        all: median(all),
    };
    Ok(wanted.iter().zip(rates).map(row).collect())
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

/// Millions of packets a second of all workers together, one on each of `cores`.
fn rate(line: &'static Line, args: &Args, cores: &[usize]) -> Result<f64> {
    let barrier = Barrier::new(cores.len());
    std::thread::scope(|scope| {
        let replica = |core: &usize| {
            let (core, barrier) = (*core, &barrier);
            scope.spawn(move || -> Result<f64> {
                let made =
                    cpu::pin_current_thread(core).map_err(Into::into).and_then(|()| worker(line, args));
                // Whoever has no worker must not keep the others waiting.
                barrier.wait();
                Ok(timed(&mut made?, args))
            })
        };
        let replicas: Vec<_> = cores.iter().map(replica).collect();
        let rates =
            replicas.into_iter().map(|it| it.join().map_err(|_| anyhow::anyhow!("a worker panicked"))?);
        rates.sum()
    })
}

fn timed(worker: &mut Worker, args: &Args) -> f64 {
    let span = Duration::from_millis(args.run_ms);
    for is_warm in [false, true] {
        let (start, before) = (Instant::now(), passed(worker));
        while start.elapsed() < span {
            let now = clock::now();
            (0..ROUNDS_PER_LOOK).for_each(|_| {
                worker.round(now);
            });
        }
        if is_warm {
            return (passed(worker) - before) as f64 / start.elapsed().as_secs_f64() / 1e6;
        }
    }
    0.0
}
