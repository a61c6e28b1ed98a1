//! `tidegate graph`: the pipeline as SVG or DOT, with what passed each gate.

use super::rates::{once, short};
use super::{print, reach};
use crate::args::GraphArgs;
use anyhow::Result;
use tidegate_control::proto::v1::gate_counters::Direction;
use tidegate_control::proto::v1::watch_request::Kind;
use tidegate_diagram::Diagram;

/// Draws what the daemon runs, or what a file describes.
pub(crate) fn graph(args: &GraphArgs) -> Result<()> {
    let diagram = match &args.file {
        Some(file) => Diagram::of(&crate::pipeline::read(file)?.pipeline, |_, _| String::new()),
        None => running(&args.address.address)?,
    };
    print(&if args.dot { diagram.dot() } else { diagram.svg() })
}

fn running(address: &str) -> Result<Diagram> {
    let mut client = reach(address)?;
    let pipeline = client.show_graph()?;
    let counters = once(&mut client, &[Kind::Gates])?;
    let passed = |module: &str, gate: u64| {
        let is_meant = |it: &&tidegate_control::proto::v1::GateCounters| {
            it.module == module && u64::from(it.gate) == gate && it.direction() == Direction::Output
        };
        counters.gates.iter().find(is_meant).map_or(0, |it| it.packets)
    };
    Ok(Diagram::of(&pipeline, |module, gate| short(passed(module, gate) as f64)))
}
