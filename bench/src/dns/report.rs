//! Everything that a run found: as tables for people, as JSON for programs, as a plot for README.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Saturations;
use super::batches;
use super::goals::Goal;
use super::median::{Median, find};
use super::memory;
use super::plan::{Contender, HALF, Load, NEARLY_ALL, PACED_PER_S, TOO_MUCH};
use super::saturation::Saturation;
use super::server::ServerKind;
use super::turn::Sample;
use super::zone::Zone;
use crate::dns_memory::Row;
use crate::machine::Machine;
use crate::plot::{Panel, Plot, Series};
use crate::results::{self, or_dash};
use crate::terms;

/// What the files of results are called, before the dot.
pub(crate) const FILE_NAME: &str = "dns";

/// What a reader must know of a zone.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct ZoneFacts {
    pub(crate) label: String,
    pub(crate) name_count: u32,
    pub(crate) file_bytes: u64,
    pub(crate) is_signed: bool,
}

/// What a server bears of a zone.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Borne {
    pub(crate) zone: usize,
    pub(crate) contender: Contender,
    pub(crate) saturation: Saturation,
}

/// What a run found, zones by their place.
#[derive(Clone, Debug)]
pub(crate) struct Findings {
    pub(crate) machine: Machine,
    pub(crate) zones: Vec<ZoneFacts>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) saturations: Saturations,
    /// Tidegate over the memory port.
    pub(crate) in_memory: Vec<Row>,
}

/// The results of a run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    machine: Machine,
    /// The fewest and the most that a server has had of a zone.
    rounds: [u32; 2],
    seconds: u32,
    zones: Vec<ZoneFacts>,
    saturations: Vec<Borne>,
    goals: Vec<Goal>,
    medians: Vec<Median>,
    in_memory: Vec<Row>,
    samples: Vec<Sample>,
}

impl ZoneFacts {
    /// Those of `zone`.
    pub(crate) fn of(zone: &Zone) -> ZoneFacts {
        ZoneFacts {
            label: zone.label().to_owned(),
            name_count: zone.name_count(),
            file_bytes: zone.file_len(),
            is_signed: zone.is_signed(),
        }
    }
}

impl Report {
    /// What is to be said of `findings`, each measurement of which took so many seconds.
    pub(crate) fn new(seconds: u32, findings: Findings) -> Report {
        let Findings { machine, zones, samples, saturations, in_memory } = findings;
        let borne = saturations.into_iter().map(|((zone, contender), saturation)| Borne {
            zone,
            contender,
            saturation,
        });
        let medians = Median::all(&samples);
        Report {
            machine,
            rounds: round_counts(&samples),
            seconds,
            goals: Goal::all(&zones, &medians, &in_memory),
            zones,
            saturations: borne.collect(),
            medians,
            in_memory,
            samples,
        }
    }

    /// Markdown tables, which read as well on a terminal.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for zone in 0..self.zones.len() {
            text.push_str(&self.zone_text(zone));
        }
        text.push_str(&batches::table(&self.medians));
        text.push_str(&memory::table(&self.in_memory));
        text.push_str(&Goal::table(&self.goals));
        text.push_str(&self.footer());
        text
    }

    /// Writes `dns.json`, `dns.md` and `dns.svg` into `directory`.
    pub(crate) fn write(&self, directory: &Path) -> anyhow::Result<()> {
        results::write(directory, FILE_NAME, self, self.text(), &self.plot())
    }

    fn zone_text(&self, zone: usize) -> String {
        let ZoneFacts { label, file_bytes, is_signed, .. } = &self.zones[zone];
        let mib = *file_bytes as f64 / f64::from(1 << 20);
        let signed = if *is_signed { ", signed" } else { "" };
        let mut text = format!("\n## {label} ({mib:.2} MiB of zone file{signed})\n");
        text.push_str(OPEN_HEADING);
        self.contenders(zone).for_each(|contender| text.push_str(&self.open_row(zone, contender)));
        text.push_str(CLOSED_HEADING);
        self.contenders(zone).for_each(|contender| text.push_str(&self.closed_row(zone, contender)));
        text
    }

    /// Who served that zone with its own choice of batch size.
    fn contenders(&self, zone: usize) -> impl Iterator<Item = Contender> {
        let closed = self.medians.iter().filter(move |m| m.zone == zone && m.load == Load::Closed);
        closed.map(|median| median.contender)
    }

    fn open_row(&self, zone: usize, contender: Contender) -> String {
        let at = |share| find(&self.medians, zone, contender, Load::Open(share));
        let (Some(half), Some(most), Some(over)) = (at(HALF), at(NEARLY_ALL), at(TOO_MUCH)) else {
            return String::new();
        };
        format!(
            "| {:22} | {:>9} | {:>10} | {:>10} | {:>7.2} | {:>10} | {:>15} | {:>7} | {:>7} | {:>9.0} | {:>9.0} | {:>7} | {:>15} |\n",
            contender.to_string(),
            self.borne(zone, contender),
            marked_cpu(half),
            marked_cpu(most),
            most.user_us_per_answer,
            or_dash(most.nsd_ratio, 2),
            or_dash(most.knot_xdp_ratio, 2),
            percent(half.loss),
            percent(most.loss),
            over.sent_per_s,
            over.answers_per_s,
            percent(over.loss),
            or_dash(most.syscalls_per_answer, 3),
        )
    }

    fn closed_row(&self, zone: usize, contender: Contender) -> String {
        let at = |load| find(&self.medians, zone, contender, load);
        let (Some(closed), Some(paced)) = (at(Load::Closed), at(Load::Paced)) else { return String::new() };
        format!(
            "| {:22} | {:9.0} | {:>10} | {:>7.2} | {:>10} | {:>15} | {:>7} | {:>8} | {:>8} | {:>10} | {:>7.1} | {:>6.2} |\n",
            contender.to_string(),
            closed.answers_per_s,
            marked_cpu(closed),
            closed.user_us_per_answer,
            or_dash(closed.nsd_ratio, 2),
            or_dash(closed.knot_xdp_ratio, 2),
            percent(closed.loss),
            or_dash(paced.p50_us, 0),
            or_dash(paced.p99_us, 0),
            marked_cpu(paced),
            closed.memory_mib,
            closed.load_s,
        )
    }

    fn borne(&self, zone: usize, contender: Contender) -> String {
        let is_it = |borne: &&Borne| (borne.zone, borne.contender) == (zone, contender);
        let Some(Borne { saturation, .. }) = self.saturations.iter().find(is_it) else { return "-".into() };
        format!("{}{}", if saturation.is_client_bound { ">= " } else { "" }, saturation.rate_per_s)
    }

    fn footer(&self) -> String {
        let Report { rounds: [fewest, most], seconds, machine, .. } = self;
        let rounds = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
        let disturbed = "(!) over 5 % of CPU 1 went to others: this machine was not quiet.\n";
        format!(
            "\nMedians of {rounds} rounds of {seconds} s, clients on CPU 0, server on CPU 1, each server with one worker.\n\
             {}.\n{}\
             What was measured while plain arithmetic on CPU 1 was a tenth slower than at its best was measured again, as long as patience lasted.\n\
             CPU: everything that ran on CPU 1; own user: the server's threads in user space. Bears: the highest rate of \
             kxdpgun with at most 0.5 %\nunanswered (>=: the client could ask no more); open loop at {HALF}, {NEARLY_ALL} \
             and {TOO_MUCH} % of it. Latencies at {PACED_PER_S} questions a second.\n{}",
            machine.line(),
            terms::WORDS,
            if self.medians.iter().any(Median::is_disturbed) { disturbed } else { "" },
        )
    }

    fn plot(&self) -> Plot {
        let loads =
            [(Load::Open(NEARLY_ALL), "open loop, 90 % of what each bears"), (Load::Closed, "closed loop")];
        let panels = loads.into_iter().map(|(load, title)| self.panel(load, title));
        Plot {
            title: "Server CPU an answer, everything that ran on its core (less is better)".into(),
            unit: "us".into(),
            footer: self.machine.line(),
            panels: panels.chain(batches::panel(&self.medians)).collect(),
        }
    }

    fn panel(&self, load: Load, title: &str) -> Panel {
        let values = |server| {
            let contender = Contender { server, batch: None };
            let of = |zone| Some(find(&self.medians, zone, contender, load)?.cpu_us_per_answer);
            (0..self.zones.len()).map(of).collect()
        };
        let mut servers: Vec<ServerKind> = self.medians.iter().map(|m| m.contender.server).collect();
        servers.sort();
        servers.dedup();
        let series = |server: ServerKind| Series { name: server.name().into(), values: values(server) };
        Panel {
            title: title.into(),
            categories: self.zones.iter().map(|zone| zone.label.clone()).collect(),
            series: servers.into_iter().map(series).collect(),
        }
    }
}

const OPEN_HEADING: &str = "
Open loop (kxdpgun), at 50, 90 and 150 % of what each server bears

| server                 | bears/s   | CPU us, 50 | CPU us, 90 | user us | NSD / this | Knot XDP / this | lost 50 | lost 90 | sent/s 150 | answers/s | lost    | syscalls/answer |
|------------------------|----------:|-----------:|-----------:|--------:|-----------:|----------------:|--------:|--------:|-----------:|----------:|--------:|----------------:|
";

const CLOSED_HEADING: &str = "
Closed loop (dnsperf); latencies and CPU at 20,000 questions a second

| server                 | answers/s | CPU us     | user us | NSD / this | Knot XDP / this | lost    | p50 us   | p99 us   | CPU us 20k | MiB     | load s |
|------------------------|----------:|-----------:|--------:|-----------:|----------------:|--------:|---------:|---------:|-----------:|--------:|-------:|
";

/// The fewest and the most rounds that a server has had of a zone.
fn round_counts(samples: &[Sample]) -> [u32; 2] {
    let mut counts: BTreeMap<_, u32> = BTreeMap::new();
    for sample in samples {
        let count = counts.entry((sample.zone, sample.contender)).or_default();
        *count = (*count).max(sample.round + 1);
    }
    let of = |count: Option<&u32>| count.copied().unwrap_or(0);
    [of(counts.values().min()), of(counts.values().max())]
}

fn marked_cpu(median: &Median) -> String {
    format!("{}{:.2}", if median.is_disturbed() { "(!) " } else { "" }, median.cpu_us_per_answer)
}

/// Losses below what shows are none.
pub(crate) fn percent(share: f64) -> String {
    if share <= 0.0 { "0".into() } else { format!("{:.3} %", share * 100.0) }
}
