//! `make bench-mux`: what it costs to share a NIC between many stacks, each behind a veth of its own.
//!
//! ```text
//!   wire ======= nic (demux) ==veth== stack      frames to stacks: from the wire to their AF_XDP sockets
//!   wire ======= nic <-------- check ==veth== stack      frames from stacks: checked, and out
//! ```
//! One thread on one processor sends and takes, and the kernel's work is done on the same one: a figure is of everything
//! together. Beside each stands what the sender alone does, whose frames are dropped at the first device. Frames go to
//! and come from one stack after the other.

mod fair;
mod rig;

use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::ensure;
use serde::Serialize;
use tidegate_bpf::WayOut;
use tidegate_sys::cpu;

use self::fair::Share;
use self::rig::{Rig, Sender};
use crate::machine::Machine;
use crate::{results, statistics};

/// Options of the bench
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// Milliseconds a figure and turn
    #[arg(long, value_name = "MS", default_value_t = 500, value_parser = clap::value_parser!(u64).range(10..=60_000))]
    milliseconds: u64,
    /// Turns, of which the median is quoted
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99))]
    runs: u32,
    /// The processor to run on (default: the last)
    #[arg(long, value_name = "CPU")]
    cpu: Option<usize>,
    /// A minute's look: one turn, fewer lines
    #[arg(long)]
    quick: bool,
    /// Where mux.json and mux.md go (default: nowhere)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const STACK_COUNTS: [u32; 5] = [1, 8, 64, 254, 1024];
const FRAME_LENS: [usize; 6] = [64, 128, 256, 512, 1024, 1500];

/// Frames a second, in one way.
#[derive(Clone, Copy, Debug, Serialize)]
struct Line {
    stack_count: u32,
    frame_len: usize,
    /// From the wire to the stacks.
    to_per_s: f64,
    /// From the stacks to the wire, as rigs of the kernel.
    from_per_s: f64,
    /// From the stacks to the wire, redirected by XDP.
    from_by_xdp_per_s: f64,
}

/// Frames a second that the senders alone put on a device where they are dropped.
#[derive(Clone, Copy, Debug, Serialize)]
struct Yardstick {
    frame_len: usize,
    per_s: f64,
}

#[derive(Clone, Debug, Serialize)]
struct Report {
    machine: Machine,
    milliseconds: u64,
    runs: u32,
    yardsticks: Vec<Yardstick>,
    lines: Vec<Line>,
    share: Share,
}

/// Runs the bench, and prints its table.
#[allow(clippy::print_stdout)] // its figures are what a bench is for
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let on = args.cpu.unwrap_or_else(|| cpu::count().saturating_sub(1));
    ensure!(cpu::count() > 1, "the bench wants two processors");
    let share = fair::measure(Duration::from_secs(if args.quick { 2 } else { 10 }))?;
    cpu::pin_current_thread(on)?;
    let turn =
        Turn { span: Duration::from_millis(args.milliseconds), runs: if args.quick { 1 } else { args.runs } };
    let frame_lens = if args.quick { &FRAME_LENS[..1] } else { &FRAME_LENS[..] };
    let stack_counts = if args.quick { &STACK_COUNTS[..3] } else { &STACK_COUNTS[..] };
    let report = Report {
        machine: Machine::describe(&[]),
        milliseconds: args.milliseconds,
        runs: turn.runs,
        yardsticks: frame_lens.iter().map(|len| turn.yardstick(*len)).collect::<anyhow::Result<_>>()?,
        lines: lines(turn, stack_counts, frame_lens)?,
        share,
    };
    let table = report.table();
    print!("{table}");
    match &args.out {
        Some(out) => results::write_table(out, "mux", &report, &table),
        None => Ok(()),
    }
}

fn lines(turn: Turn, stack_counts: &[u32], frame_lens: &[usize]) -> anyhow::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for &stack_count in stack_counts {
        let mut rig = Rig::new(stack_count)?;
        rig.cable.drop_all()?;
        for &frame_len in frame_lens {
            let (to_per_s, from_per_s) =
                (turn.rate_to_stacks(&mut rig, frame_len)?, turn.rate_from_stacks(&mut rig, frame_len)?);
            lines.push(Line { stack_count, frame_len, to_per_s, from_per_s, from_by_xdp_per_s: 0.0 });
        }
        rig.set_way_out(WayOut::Xdp)?;
        for line in lines.iter_mut().filter(|line| line.stack_count == stack_count) {
            line.from_by_xdp_per_s = turn.rate_from_stacks(&mut rig, line.frame_len)?;
        }
    }
    Ok(lines)
}

/// How long and how often.
#[derive(Clone, Copy)]
struct Turn {
    span: Duration,
    runs: u32,
}

impl Turn {
    /// The median of what `count` goes up by in a second while `work` is done over and over.
    fn rate<C>(
        self,
        context: &mut C,
        mut work: impl FnMut(&mut C) -> anyhow::Result<()>,
        count: impl Fn(&C) -> anyhow::Result<u64>,
    ) -> anyhow::Result<f64> {
        let mut rates = Vec::new();
        for _ in 0..self.runs {
            let (start, before) = (Instant::now(), count(context)?);
            while start.elapsed() < self.span {
                work(context)?;
            }
            let elapsed = start.elapsed();
            rates.push((count(context)? - before) as f64 / elapsed.as_secs_f64());
        }
        Ok(statistics::median(rates))
    }

    fn yardstick(self, frame_len: usize) -> anyhow::Result<Yardstick> {
        let mut sender = Sender::into_nowhere(frame_len)?;
        let per_s = self.rate(&mut sender, Sender::send, |sender| Ok(sender.sent_count()))?;
        Ok(Yardstick { frame_len, per_s })
    }

    fn rate_to_stacks(self, rig: &mut Rig, frame_len: usize) -> anyhow::Result<f64> {
        rig.load_wire(frame_len);
        self.rate(rig, Rig::send_to_stacks, |rig| Ok(rig.taken_count))
    }

    fn rate_from_stacks(self, rig: &mut Rig, frame_len: usize) -> anyhow::Result<f64> {
        rig.load_stacks(frame_len);
        self.rate(rig, Rig::send_from_stacks, Rig::passed_count)
    }
}

impl Report {
    fn table(&self) -> String {
        let mut text = String::from(
            "| stacks | frame, bytes | to stacks, kframes/s | from stacks | from stacks by XDP | sender alone |\n",
        );
        text += "|---|---|---|---|---|---|\n";
        for line in &self.lines {
            let alone = self.yardsticks.iter().find(|yardstick| yardstick.frame_len == line.frame_len);
            let alone = alone.map_or(0.0, |yardstick| yardstick.per_s);
            let kilo = [line.to_per_s, line.from_per_s, line.from_by_xdp_per_s, alone]
                .map(|rate| format!("{:.0}", rate / 1e3));
            // Writing to a string cannot fail.
            let _ = writeln!(text, "| {} | {} | {} |", line.stack_count, line.frame_len, kilo.join(" | "));
        }
        text + "\n" + &self.share.sentence()
    }
}
