//! What the pipeline's own services cost: a line with each, beside the one without.
//!
//! Counters are always there; `tidegate-bench-uncounted`, beside this program, is this bench built without them
//! (`--features uncounted`): it is run for the lines that show what they cost.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;
use tidegate_modules::mark::{MetadataSource, MetadataValue, SetMetadata};
use tidegate_pipeline::class::{Policy, Position, Resource};
use tidegate_pipeline::metadata::Place;
use tidegate_pipeline::{Module, Worker};

use super::lines::{Line, Parts, row};
use super::{Args, Rates};
use crate::statistics::median;

/// Whether this bench was built with the counters of gates.
pub(super) const IS_COUNTED: bool = cfg!(not(feature = "uncounted"));
/// The bench that was built without.
const UNCOUNTED: &str = "tidegate-bench-uncounted";
/// Lines that are run by it too.
const COUNTED_LINES: [&str; 2] = [PLAIN, "10 bypass"];
const PLAIN: &str = "source, sink";

/// A service's name, a line that has it, and the line that has it not.
const PAIRS: [(&str, &str, &str); 2] = [
    ("a tree of three classes", "source, sink, by a tree of three classes", PLAIN),
    ("an attribute of 4 bytes", "set metadata", "set metadata that nobody reads"),
];

/// What a service costs, in millions of packets a second.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Cost {
    service: String,
    with: f64,
    without: f64,
}

pub(crate) const LINES: &[Line] = &[
    Line {
        name: "source, sink, by a tree of three classes",
        reference: None,
        build: |_, batch| Ok(Parts { prepare: rank, ..row(batch, Vec::new())? }),
    },
    Line { name: "set metadata", reference: None, build: |_, batch| metadata(batch, Place::At(0)) },
    Line {
        name: "set metadata that nobody reads",
        reference: None,
        build: |_, batch| metadata(batch, Place::Unread),
    },
];

/// Puts the source's task below a share below a limit that it does not reach.
fn rank(worker: &mut Worker) -> Result<()> {
    let leaf = worker.leaf("source", 0).context("the source has no task")?;
    worker.edit_classes(|tree| {
        let limit =
            Policy::RateLimit { resource: Resource::Packet, limit: 10_000_000_000, max_burst: 1_000_000 };
        let limit = tree.add("limit", None, limit, Position::None)?;
        let share = Policy::WeightedFair(Resource::Cycle);
        let share = tree.add("share", Some(limit), share, Position::None)?;
        let class = tree.find_leaf(leaf).context("the task has no class")?;
        Ok(tree.reparent(class, Some(share), Position::Share(1))?)
    })
}

/// An attribute of four bytes for every frame, at a place or nowhere.
fn metadata(batch: usize, place: Place) -> Result<Parts> {
    let value = MetadataValue { name: "tag".into(), size: 4, source: MetadataSource::Number(7) };
    let mut set = SetMetadata::new(&[value])?;
    set.bind(&[place]);
    row(batch, vec![Box::new(set)])
}

/// The rates of a line with counters and without, if it is one to show their cost, and there is such a bench. Each by a
/// process of its own, so that nothing but the counters is different.
pub(super) fn with_and_without_counters(line: &Line, args: &Args) -> Result<Option<(f64, f64)>> {
    let program = std::env::current_exe().context("where this program is")?;
    let uncounted = program.with_file_name(UNCOUNTED);
    if !IS_COUNTED || !COUNTED_LINES.contains(&line.name) || !uncounted.exists() {
        return Ok(None);
    }
    Ok(Some((rate_of(&program, line, args)?, rate_of(&uncounted, line, args)?)))
}

fn rate_of(program: &Path, line: &Line, args: &Args) -> Result<f64> {
    let mut command = Command::new(program);
    command.args(["pipeline", "--rates-only", "--only", line.name]);
    command.args(["--run-ms", &args.run_ms.to_string(), "--batch", &args.batch.to_string()]);
    let name = program.display();
    let output = command.output().with_context(|| format!("run {name}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    // Other lines' names may begin with this one's: it is the first.
    let first = said.lines().next().and_then(|line| line.parse().ok());
    first.with_context(|| format!("{name} said {said:?}"))
}

/// What services cost, as far as the lines that show it were measured.
pub(super) fn of(lines: &[&'static Line], rates: &[Rates]) -> Vec<Cost> {
    let find = |name: &str| {
        let (_, rates) = lines.iter().zip(rates).find(|(line, _)| line.name == name)?;
        Some(median(rates.ours.iter().copied()))
    };
    let pair = |(service, with, without): (&str, &str, &str)| {
        Some(Cost { service: service.to_owned(), with: find(with)?, without: find(without)? })
    };
    let counted = |(line, rates): (&&Line, &Rates)| {
        let (with, without): (Vec<f64>, Vec<f64>) = rates.counters.iter().copied().unzip();
        let (with, without) = (!with.is_empty()).then(|| (median(with), median(without)))?;
        Some(Cost { service: format!("counters of all gates: {}", line.name), with, without })
    };
    lines.iter().zip(rates).filter_map(counted).chain(PAIRS.into_iter().filter_map(pair)).collect()
}

/// The table.
pub(super) fn table(costs: &[Cost]) -> String {
    let mut text = String::from(
        "| service | with, M packets/s | switched off | cost, ns a packet |\n|---|---:|---:|---:|\n",
    );
    for Cost { service, with, without } in costs {
        text += &format!("| {service} | {with:.1} | {without:.1} | {:.2} |\n", 1e3 / with - 1e3 / without);
    }
    text
}
