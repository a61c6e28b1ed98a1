//! `make bench-dns`: the same zones, the same clients and the same cable for every name server, in turns.
//!
//! ```text
//!   CPU 0: dnsperf or kxdpgun, napi/client0  ===== veth =====  napi/server0, one server: CPU 1
//! ```
//!
//! A server runs alone, one worker, tuned as its manual says, and is asked a few questions whose answers are known
//! before it is measured. Two clients: dnsperf asks again when it was answered (closed loop) and tells latencies;
//! kxdpgun, Knot's generator over XDP, asks at a rate whatever comes back (open loop), at shares of what each server
//! bears without loss ([`saturation`]). A measurement during which the server's processor was held back by other machines
//! is repeated ([`crate::yardstick`]). What is quoted is the median of the rounds. The figure that compares is the
//! server's processor time an answer, everything that ran on CPU 1.

mod batches;
mod client;
mod earlier;
mod generate;
mod goals;
mod median;
mod memory;
mod plan;
mod report;
mod saturation;
mod server;
mod turn;
mod verify;
mod zone;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use tidegate_testbed::{Layout, Testbed};

use self::earlier::Earlier;
use self::generate::NameCount;
use self::plan::{Contender, Plan};
use self::report::{Findings, Report, ZoneFacts};
use self::saturation::Saturation;
use self::server::{Programs, ServerKind};
use self::turn::{Sample, Turn};
use self::zone::Zone;
use crate::binary::tidegate_binary;
use crate::machine::Machine;
use crate::terms;
use crate::yardstick::Yardstick;

/// Options of the bench. Without any it is the whole comparison; `--add` makes it in parts.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// Two minutes' look: 10 k names, one round, written below target/
    #[arg(long)]
    quick: bool,
    /// Sizes of generated zones, in names, such as 1,10k,1M
    #[arg(long, value_delimiter = ',', value_name = "COUNT")]
    names: Vec<NameCount>,
    /// A zone file to serve instead, such as the root's
    #[arg(long, value_name = "FILE", requires = "queries")]
    zone: Option<PathBuf>,
    /// Questions for it, a name and a type a line; asked with EDNS, and two in three for DNSSEC
    #[arg(long, value_name = "FILE", requires = "zone")]
    queries: Option<PathBuf>,
    /// The name of that zone
    #[arg(long, value_name = "NAME", default_value = ".")]
    apex: String,
    /// Servers to compare on every zone (default: all on the zone nearest to 100 k names; NSD, Knot in XDP mode and
    /// Tidegate in place on the others)
    #[arg(long, value_delimiter = ',', value_enum, value_name = "NAME")]
    servers: Vec<ServerKind>,
    /// Batch sizes to run Tidegate with (default: 1,2,4,8,16,32,64, on the zone nearest to 10 k names)
    #[arg(long, value_delimiter = ',', value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    batches: Vec<u16>,
    /// No batch sizes
    #[arg(long, conflicts_with = "batches")]
    no_batches: bool,
    /// Not the name server alone, over the memory port
    #[arg(long)]
    no_memory: bool,
    /// Count what dns.json has already as earlier rounds, of other zones and servers too: a run in parts
    #[arg(long)]
    add: bool,
    /// Rounds of which the median is quoted
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=99))]
    rounds: Option<u32>,
    /// Seconds a measurement
    #[arg(long, default_value_t = 1, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// Leave the interrupts of the server's device as the kernel has them, not deferred
    #[arg(long)]
    no_defer: bool,
    /// Tidegate's binary (default: the one beside this program)
    #[arg(long, value_name = "FILE")]
    tidegate: Option<PathBuf>,
    /// More arguments for `tidegate dns`, such as --tidegate-arg=--idle=poll
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    tidegate_arg: Vec<String>,
    /// Where dns.json, dns.svg and dns.md go (default: bench/results)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// How long all turns together wait for the server's processor where it is shared with other machines.
const PATIENCE: Duration = Duration::from_secs(400);

/// What each server bears of each zone, found in the first round and kept for the others.
type Saturations = BTreeMap<(usize, Contender), Saturation>;

/// Runs the bench, prints its tables and writes its results.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let plan = Plan::new(args);
    let programs = Programs {
        tidegate: tidegate_binary(args.tidegate.as_deref())?,
        tidegate_args: args.tidegate_arg.clone(),
    };
    programs.check(&plan.servers)?;
    let machine = Machine::describe(&programs.versions(&plan.servers));
    let earlier = if args.add { Earlier::read(&plan.out, &machine, plan.seconds)? } else { None };
    let zones = zones(args, &plan)?;
    let facts: Vec<ZoneFacts> = zones.iter().map(ZoneFacts::of).collect();
    let mut saturations = earlier.as_ref().map(|earlier| earlier.saturations(&facts)).unwrap_or_default();
    let samples = measure(&plan, &programs, &zones, &mut saturations)?;
    let in_memory = if plan.has_memory { memory::measure()? } else { Vec::new() };
    let found = Findings { machine, zones: facts, samples, saturations, in_memory };
    let found = match earlier {
        Some(earlier) => earlier.join(found),
        None => found,
    };
    let report = Report::new(plan.seconds, found);
    write!(io::stdout().lock(), "{}", report.text())?;
    report.write(&plan.out)
}

fn zones(args: &Args, plan: &Plan) -> anyhow::Result<Vec<Zone>> {
    match (&args.zone, &args.queries) {
        (Some(zone), Some(queries)) => Ok(vec![Zone::given(zone, &args.apex, queries)?]),
        _ => plan.names.iter().map(|&count| Zone::generate(count)).collect(),
    }
}

/// Takes all turns; what servers bear goes to `saturations`, unless it is there.
fn measure(
    plan: &Plan,
    programs: &Programs,
    zones: &[Zone],
    saturations: &mut Saturations,
) -> anyhow::Result<Vec<Sample>> {
    let bed = Testbed::new(&Layout::default()).context("make the testbed (CPU 0 and CPU 1 are needed)")?;
    if plan.is_deferred {
        terms::defer_interrupts(&bed)?;
    }
    let mut samples = Vec::new();
    let mut yardstick = Yardstick::of(bed.server().cpu(), PATIENCE);
    for round in 0..plan.rounds {
        for (index, zone) in zones.iter().enumerate() {
            for contender in plan.contenders(index, zones) {
                writeln!(
                    io::stderr(),
                    "round {} of {}, {}: {contender}",
                    round + 1,
                    plan.rounds,
                    zone.label()
                )?;
                let turn = Turn { plan, programs, zone, zone_index: index, bed: &bed, round, contender };
                turn.take(&mut samples, saturations, &mut yardstick)
                    .with_context(|| format!("round {round}, {}, {contender}", zone.label()))?;
            }
        }
    }
    ensure!(!samples.is_empty(), "nothing to measure: name servers and zones");
    writeln!(io::stderr(), "{}", yardstick.words())?;
    Ok(samples)
}
