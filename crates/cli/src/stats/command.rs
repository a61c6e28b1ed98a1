//! `tidegate stats`: what running services count, as a table or as JSON; `tidegate dns reload`.

use super::{socket, table};
use crate::args::StatsArgs;
use crate::exit::wrong_input;
use anyhow::{Result, bail};
use std::io::Write;
use std::time::Duration;
use tidegate_dns::name::NameBuf;
use tidegate_service::{Report, ZoneNews};

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
    pids.into_iter().filter_map(|pid| socket::report(pid).transpose()).collect()
}

/// Has running name servers read their zone files again, and says what came of it. A zone that could not be
/// read is a failure, after all have been tried.
pub(crate) fn reload(zone: Option<&str>, pid: Option<u32>) -> Result<()> {
    if let Some(zone) = zone.filter(|zone| zone.parse::<NameBuf>().is_err()) {
        return Err(wrong_input(format!("{zone} is no domain name: name a zone, such as example.org")));
    }
    let pids = pid.map_or_else(socket::processes, |pid| vec![pid]);
    let answers = pids.into_iter().filter_map(|pid| socket::reload_zones(pid, zone).transpose());
    let news: Vec<ZoneNews> = answers.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    let faults = news.iter().filter(|news| news.fault.is_some()).count();
    for news in &news {
        writeln!(std::io::stdout(), "{news}")?;
    }
    match (news.is_empty(), faults, zone) {
        (true, _, Some(zone)) => {
            bail!("no running name server has a file of the zone {zone}: see tidegate stats")
        }
        (true, _, None) => bail!("no running name server has zone files: see tidegate stats"),
        (_, 0, _) => Ok(()),
        (_, count, _) => bail!("{count} of {} zones could not be read: the old ones stay", news.len()),
    }
}
