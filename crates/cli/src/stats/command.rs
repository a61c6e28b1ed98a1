//! `tidegate stats`: what running services count, as a table or as JSON.

use super::{Report, socket, table};
use crate::args::StatsArgs;
use crate::exit::wrong_input;
use anyhow::{Result, bail};
use std::io::Write;
use std::time::Duration;

/// The time over which rates are measured.
const PERIOD: Duration = Duration::from_secs(1);

/// Prints the counters of all services, or of the one asked for.
pub(crate) fn stats(args: &StatsArgs) -> Result<()> {
    let first = reports(args.pid)?;
    if first.is_empty() {
        match args.pid {
            Some(pid) => {
                return Err(wrong_input(format!("process {pid} is no running Tidegate: leave --pid out")));
            }
            None => bail!("no Tidegate runs here: start one with: tidegate web --root DIR"),
        }
    }
    if args.json {
        return Ok(writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&first)?)?);
    }
    std::thread::sleep(PERIOD);
    let second = reports(args.pid)?;
    let pairs = second.iter().filter_map(|now| Some((first.iter().find(|then| then.pid == now.pid)?, now)));
    let text: Vec<String> = pairs.map(|(then, now)| table::text(then, now)).collect();
    Ok(writeln!(std::io::stdout(), "{}", text.join("\n"))?)
}

fn reports(pid: Option<u32>) -> Result<Vec<Report>> {
    let pids = pid.map_or_else(socket::processes, |pid| vec![pid]);
    pids.into_iter().filter_map(|pid| socket::ask(pid).transpose()).collect()
}
