//! `make bench-web`: the same files, the same client and the same cable for every server, in turns.
//!
//! ```text
//!   CPU 0: wrk or h2load, napi/client0  ===== veth =====  napi/server0, one server: CPU 1
//! ```
//!
//! A server runs alone: Tidegate's XDP program on the device would otherwise be paid for by its peers. In
//! each turn every server starts afresh and serves every [`Cell`]; what is quoted is the median of the turns.
//! The figure that compares is the server's processor time a request, everything that ran on CPU 1, since one
//! core of kernel client cannot fill a fast server. For small bodies our own client asks as well, which can; that both
//! see the same is a table of its own.

mod client;
mod clients;
mod content;
mod plan;
mod report;
mod server;
mod turn;

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use tidegate_testbed::{Layout, Testbed};

pub(crate) use self::client::{ClientKind, Load, verify};
pub(crate) use self::content::{Body, Content};
pub(crate) use self::plan::Connection;
use self::plan::Plan;
use self::report::Report;
use self::server::ServerKind;
pub(crate) use self::server::{COPYING, SENDFILE, nginx};
use self::turn::{Sample, Turn};
use crate::binary::tidegate_binary;
use crate::machine::Machine;
use crate::terms;

/// Options of the bench. Without any it is the run that README quotes, and takes some 20 minutes.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// A minute's look: 64 B and 16 KiB, one turn of a second each, written below target/
    #[arg(long)]
    quick: bool,
    /// Body sizes, such as 64,4K,1M, and mix for a mix like that of Yahoo!'s CDN
    #[arg(long, value_delimiter = ',', value_name = "SIZE")]
    sizes: Vec<content::Body>,
    /// Servers to compare
    #[arg(long, value_delimiter = ',', value_enum, value_name = "NAME")]
    servers: Vec<ServerKind>,
    /// Keep-alive, or one request a connection
    #[arg(long, value_delimiter = ',', value_enum, value_name = "HOW")]
    connections: Vec<Connection>,
    /// Who cuts what a kernel server sends: its kernel, as on a wire, or nobody (virtual TSO)
    #[arg(long, value_delimiter = ',', value_enum, value_name = "HOW")]
    segmentation: Vec<plan::Cut>,
    /// Turns of which the median is quoted
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=99))]
    runs: Option<u32>,
    /// Seconds a measurement
    #[arg(long, default_value_t = 1, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// Requests under way at a time
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    concurrency: u32,
    /// Leave the interrupts of the server's device as the kernel has them, not deferred
    #[arg(long)]
    no_defer: bool,
    /// The program that asks (default: wrk, and for bodies up to 4 KiB our own client too)
    #[arg(long, value_enum)]
    client: Option<ClientKind>,
    /// Tidegate's binary (default: the one beside this program)
    #[arg(long, value_name = "FILE")]
    tidegate: Option<PathBuf>,
    /// More arguments for `tidegate web`, such as --tidegate-arg=--batch=1
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    tidegate_arg: Vec<String>,
    /// Where web.json, web.svg and web.md go (default: bench/results)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs the bench, prints its table and writes its results.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let plan = Plan::new(args);
    let tidegate = tidegate_binary(args.tidegate.as_deref())?;
    let binaries = server::Binaries { tidegate, tidegate_args: args.tidegate_arg.clone() };
    binaries.check(&plan.servers)?;
    let content = Content::write(&plan.bodies())?;
    let machine = Machine::describe(&binaries.versions(&plan.servers, &plan.clients));
    let samples = measure(&plan, &binaries, &content)?;
    let report = Report::new(machine, &plan, samples);
    write!(io::stdout().lock(), "{}", report.table())?;
    report.write(&plan.out)
}

fn measure(plan: &Plan, binaries: &server::Binaries, content: &Content) -> anyhow::Result<Vec<Sample>> {
    let mut samples = Vec::new();
    for cut in &plan.cuts {
        let bed = Testbed::new(&Layout { segmentation: cut.segmentation(), ..Layout::default() })
            .context("make the testbed (CPU 0 and CPU 1 are needed)")?;
        prepare(&bed, plan.is_deferred)?;
        for run in 0..plan.runs {
            for &server in &plan.servers {
                let turn = Turn { plan, binaries, content, bed: &bed, cut: *cut, run, server };
                turn.take(&mut samples).with_context(|| format!("turn {run} of {}", server.name()))?;
            }
        }
    }
    Ok(samples)
}

/// Room for many connections that end at once, and interrupts deferred; the same for every server.
pub(crate) fn prepare(bed: &Testbed, is_deferred: bool) -> anyhow::Result<()> {
    if is_deferred {
        terms::defer_interrupts(bed)?;
    }
    bed.client().set_parameter("ipv4/ip_local_port_range", "1024 65535")?;
    bed.client().set_parameter("ipv4/tcp_tw_reuse", "1")?;
    bed.server().set_parameter("core/somaxconn", "16384")?;
    bed.server().set_parameter("ipv4/tcp_max_syn_backlog", "16384")?;
    Ok(())
}
