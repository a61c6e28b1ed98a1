//! `make bench-mux`: what it costs to share a NIC between many stacks, and what a stack of one's own is good for.
//!
//! | part | |
//! |---|---|
//! | [`rates`] | frames to and from 1 to 1,024 stacks behind veths, by length |
//! | [`fair`] (`flood`) | what a stack that floods leaves to its neighbours |
//! | [`http`] | one HTTP server in C, over our stack in its several places on the NIC, over the host's sockets, and nginx |

mod fair;
mod http;
mod rates;
mod rig;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use clap::ValueEnum;
use serde::Serialize;
use tidegate_sys::cpu;

use self::fair::Share;
use self::rates::{Rates, Turn};
use crate::machine::Machine;
use crate::results;

/// A part of the bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Frames to and from many stacks
    Rates,
    /// A flood beside others
    Flood,
    /// An HTTP server over our stack and over the host's
    Http,
}

/// Options of the bench. Without any it is the run that the results are of, and takes some 15 minutes
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// A minute's look: one turn, fewer lines, written below target/
    #[arg(long)]
    quick: bool,
    /// Parts to run (default: all); what is found is written below target/ then
    #[arg(long, value_delimiter = ',', value_enum, value_name = "PART")]
    only: Vec<Part>,
    /// Turns, of which the median is quoted (default: 3 for rates, 5 for http)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=99))]
    runs: Option<u32>,
    /// rates: milliseconds a figure and turn
    #[arg(long, value_name = "MS", default_value_t = 500, value_parser = clap::value_parser!(u64).range(10..=60_000))]
    milliseconds: u64,
    /// rates: the processor to run on (default: the last)
    #[arg(long, value_name = "CPU")]
    cpu: Option<usize>,
    #[command(flatten)]
    http: http::HttpArgs,
    /// Where mux.json and mux.md go (default: bench/results)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Clone, Debug, Serialize)]
struct Report {
    machine: Machine,
    rates: Option<Rates>,
    share: Option<Share>,
    http: Option<http::Report>,
}

/// Runs the bench, and prints its tables.
#[allow(clippy::print_stdout)] // its figures are what a bench is for
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    ensure!(cpu::count() > 1, "the bench wants two processors");
    let is_wanted = |part| args.only.is_empty() || args.only.contains(&part);
    let plan =
        is_wanted(Part::Http).then(|| http::Plan::new(&args.http, args.quick, args.runs)).transpose()?;
    let machine = Machine::describe(&plan.as_ref().map_or_else(Vec::new, http::Plan::versions));
    let http = plan.as_ref().map(http::measure).transpose()?;
    let span = Duration::from_secs(if args.quick { 2 } else { 10 });
    let share = is_wanted(Part::Flood).then(|| fair::measure(span)).transpose()?;
    let rates = is_wanted(Part::Rates).then(|| rates_on(args)).transpose()?;
    let report = Report { machine, rates, share, http };
    let table = report.table();
    print!("{table}");
    results::write_table(&args.out(), "mux", &report, &table)?;
    report.http.as_ref().map_or(Ok(()), http::Report::check)
}

/// The rest of the process stays on that processor, too.
fn rates_on(args: &Args) -> anyhow::Result<Rates> {
    cpu::pin_current_thread(args.cpu.unwrap_or_else(|| cpu::count().saturating_sub(1)))?;
    let runs = if args.quick { 1 } else { args.runs.unwrap_or(3) };
    rates::measure(Turn { span: Duration::from_millis(args.milliseconds), runs }, args.quick)
}

impl Args {
    /// What is whole is a result.
    fn out(&self) -> PathBuf {
        let is_whole = !self.quick && self.only.is_empty();
        self.out.clone().unwrap_or_else(|| if is_whole { "bench/results" } else { "target/bench" }.into())
    }
}

impl Report {
    fn table(&self) -> String {
        let rates =
            self.rates.as_ref().map(|rates| format!("## Frames to and from stacks\n\n{}", rates.table()));
        let share =
            self.share.as_ref().map(|share| format!("## A flood beside others\n\n{}", share.sentence()));
        let http = self.http.as_ref().map(|http| format!("## A server in C\n{}", http.table()));
        let parts: Vec<String> = [rates, share, http].into_iter().flatten().collect();
        format!("{}\n{}.\n", parts.join("\n"), self.machine.line())
    }
}
