//! What may be typed to watch a daemon that runs: rates, drawings, packets.

use super::client::AddressArg;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

const MONITOR_EXAMPLES: &str = "\
Examples:
  tidegate monitor                                  rates of all gates, every second
  tidegate monitor ports classes --interval 5
  tidegate monitor gates --only src --count 3
  tidegate monitor ports --json | jq .";

const TOP_EXAMPLES: &str = "\
Examples:
  tidegate top
  tidegate top --interval 0.5
Keys: Tab or 1 to 4 another table, s another order, p pause, q end";

const GRAPH_EXAMPLES: &str = "\
Examples:
  tidegate graph > pipeline.svg                     with what passed each gate
  tidegate graph --dot | dot -Tpdf > pipeline.pdf
  tidegate graph --file router.tg > router.svg      a pipeline that no daemon runs";

const CAPTURE_EXAMPLES: &str = "\
Examples:
  tidegate capture q:0 | tcpdump -n -r -            what leaves q by output gate 0
  tidegate capture 0:q --count 100 > q.pcap         100 packets that come to q by input gate 0
The daemon must run on this machine: packets come through a FIFO.";

/// What has rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Counted {
    /// Gates of modules
    #[value(alias = "pipeline")]
    Gates,
    /// Modules
    Modules,
    /// Ports
    Ports,
    /// Traffic classes
    #[value(alias = "tc")]
    Classes,
}

/// Flags of `tidegate monitor`.
#[derive(Clone, Debug, Args)]
#[command(after_help = MONITOR_EXAMPLES)]
pub(crate) struct MonitorArgs {
    /// Of what; without it of gates
    #[arg(value_enum)]
    pub(crate) kinds: Vec<Counted>,
    /// Only modules, ports and classes of these names
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Seconds from one report to the next
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    pub(crate) interval: f64,
    /// How many reports; without it until Ctrl-C
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u64>,
    /// A JSON object a line and a report
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) address: AddressArg,
}

/// Flags of `tidegate top`.
#[derive(Clone, Debug, Args)]
#[command(after_help = TOP_EXAMPLES)]
pub(crate) struct TopArgs {
    /// Seconds from one look to the next
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    pub(crate) interval: f64,
    #[command(flatten)]
    pub(crate) address: AddressArg,
}

/// Flags of `tidegate graph`.
#[derive(Clone, Debug, Args)]
#[command(after_help = GRAPH_EXAMPLES)]
pub(crate) struct GraphArgs {
    /// Write DOT, for Graphviz, rather than SVG
    #[arg(long)]
    pub(crate) dot: bool,
    /// Draw the pipeline of a .tg file, and ask no daemon
    #[arg(long, value_name = "FILE", conflicts_with = "address")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) address: AddressArg,
}

/// Flags of `tidegate capture`.
#[derive(Clone, Debug, Args)]
#[command(after_help = CAPTURE_EXAMPLES)]
pub(crate) struct CaptureArgs {
    /// MODULE:GATE for what leaves, GATE:MODULE for what comes in
    pub(crate) gate: String,
    /// End after so many packets
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u64>,
    #[command(flatten)]
    pub(crate) address: AddressArg,
}

/// Seconds that the protocol's Watch takes: 0.1 to 3600.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=3600.0).contains(seconds));
    seconds.ok_or_else(|| "give 0.1 to 3600 seconds".to_owned())
}
