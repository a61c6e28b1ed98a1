//! Medians of the turns: as a table for people, as JSON for programs, as a plot for README.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use super::client::ClientKind;
use super::clients;
use super::content::Body;
use super::plan::{Cell, Connection, Cut, Plan};
use super::server::ServerKind;
use super::turn::Sample;
use crate::machine::Machine;
use crate::plot::{Panel, Plot, Series};
use crate::results::{self, or_dash};
use crate::statistics::{median, median_known};
use crate::terms::{self, is_disturbed};

/// The medians of one server in one cell.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Median {
    pub(super) cell: Cell,
    pub(super) server: ServerKind,
    pub(super) requests_per_s: f64,
    pub(super) cpu_us_per_request: f64,
    threads_us_per_request: f64,
    busy_share: f64,
    p50_us: Option<f64>,
    p99_us: Option<f64>,
    syscalls_per_request: Option<f64>,
    error_count: u64,
    /// Processor time of the better peer over this server's: more is better, above 1 is ahead.
    peer_ratio: Option<f64>,
}

/// Everything that a run found.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    machine: Machine,
    runs: u32,
    seconds: u32,
    concurrency: u32,
    medians: Vec<Median>,
    samples: Vec<Sample>,
}

impl Report {
    pub(crate) fn new(machine: Machine, plan: &Plan, samples: Vec<Sample>) -> Report {
        let mut medians = Vec::new();
        for cell in plan.cuts.iter().flat_map(|&cut| plan.cells(cut)) {
            let row = plan.servers.iter().filter_map(|&server| Median::of(cell, server, &samples));
            let mut row: Vec<Median> = row.collect();
            let peers = row.iter().filter(|median| !median.server.is_tidegate());
            let best = peers.map(|median| median.cpu_us_per_request).min_by(f64::total_cmp);
            for median in &mut row {
                median.peer_ratio = best.map(|best| best / median.cpu_us_per_request);
            }
            medians.extend(row);
        }
        let Plan { runs, seconds, concurrency, .. } = *plan;
        Report { machine, runs, seconds, concurrency, medians, samples }
    }

    /// A Markdown table, which reads as well on a terminal.
    pub(crate) fn table(&self) -> String {
        let mut text = String::new();
        let mut above = None;
        for median in &self.medians {
            let group = (median.cell.cut, median.cell.client, median.cell.connection);
            if above != Some(group) {
                text.push_str(&heading(median.cell));
                above = Some(group);
            }
            text.push_str(&median.row());
        }
        text.push_str(&clients::cross_check(&self.medians));
        let Report { runs, seconds, concurrency, machine, .. } = self;
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "\nMedians of {runs} turns of {seconds} s, {concurrency} connections, client on CPU 0, server on CPU 1.\n{}.",
            machine.line()
        );
        text.push_str(terms::WORDS);
        text.push_str(
            "CPU: everything that ran on CPU 1; own: the server's threads and its receive thread.\n",
        );
        if self.medians.iter().any(Median::is_disturbed) {
            text.push_str("(!) over 5 % of CPU 1 went to others: this machine was not quiet.\n");
        }
        text
    }

    /// Writes `web.json`, `web.md` and `web.svg` into `directory`.
    pub(crate) fn write(&self, directory: &Path) -> anyhow::Result<()> {
        results::write(directory, "web", self, self.table(), &self.plot())
    }

    fn plot(&self) -> Plot {
        let panels = [(Cut::Wire, Connection::KeepAlive), (Cut::Wire, Connection::Close)];
        Plot {
            title: "Server CPU a request, everything that ran on its core (less is better)".into(),
            unit: "us".into(),
            footer: self.machine.line(),
            panels: panels.into_iter().filter_map(|(cut, connection)| self.panel(cut, connection)).collect(),
        }
    }

    fn panel(&self, cut: Cut, connection: Connection) -> Option<Panel> {
        let here = || {
            self.medians.iter().filter(move |median| {
                let Cell { client, body, .. } = median.cell;
                let is_drawn = matches!(body, Body::Bytes(_)) && client != ClientKind::Packet;
                is_drawn && median.cell.cut == cut && median.cell.connection == connection
            })
        };
        let mut bodies: Vec<Body> = here().map(|median| median.cell.body).collect();
        bodies.sort();
        bodies.dedup();
        let mut servers: Vec<ServerKind> = here().map(|median| median.server).collect();
        servers.sort();
        servers.dedup();
        let value = |server, body| {
            let mut found = here().filter(move |median| median.server == server && median.cell.body == body);
            found.next().map(|median| median.cpu_us_per_request)
        };
        let series = servers.iter().map(|&server| Series {
            name: server.name().into(),
            values: bodies.iter().map(|&body| value(server, body)).collect(),
        });
        let series: Vec<Series> = series.collect();
        let categories = bodies.iter().map(Body::to_string).collect();
        let title = format!("{}, {}", connection.words(), cut.words());
        (!series.is_empty()).then_some(Panel { title, categories, series })
    }
}

fn heading(Cell { cut, client, connection, .. }: Cell) -> String {
    format!(
        "\n{}, {}, {}\n\n\
         | body    | server            | CPU us/request | own us/request | best peer / this | requests/s |   p50 us |   p99 us | syscalls/request | errors |\n\
         |---------|-------------------|---------------:|---------------:|-----------------:|-----------:|---------:|---------:|-----------------:|-------:|\n",
        connection.words(),
        cut.words(),
        client.words()
    )
}

impl Median {
    fn of(cell: Cell, server: ServerKind, samples: &[Sample]) -> Option<Median> {
        let here = || samples.iter().filter(|sample| sample.cell == cell && sample.server == server);
        here().next()?;
        let of = |field: fn(&Sample) -> f64| median(here().map(field));
        let told = |field: fn(&Sample) -> Option<f64>| median_known(here().map(field));
        Some(Median {
            cell,
            server,
            requests_per_s: of(|sample| sample.requests_per_s),
            cpu_us_per_request: of(|sample| sample.cpu_us_per_request),
            threads_us_per_request: of(|sample| sample.threads_us_per_request),
            busy_share: of(|sample| sample.busy_share),
            p50_us: told(|sample| sample.p50_us),
            p99_us: told(|sample| sample.p99_us),
            syscalls_per_request: told(|sample| sample.syscalls_per_request),
            error_count: here().map(|sample| sample.error_count).sum(),
            peer_ratio: None,
        })
    }

    fn is_disturbed(&self) -> bool {
        is_disturbed(self.cpu_us_per_request, self.threads_us_per_request)
    }

    fn row(&self) -> String {
        let cpu = format!("{}{:.2}", if self.is_disturbed() { "(!) " } else { "" }, self.cpu_us_per_request);
        format!(
            "| {:7} | {:17} | {cpu:>14} | {:14.2} | {:>16} | {:10.0} | {:>8} | {:>8} | {:>16} | {:6} |\n",
            self.cell.body,
            self.server.name(),
            self.threads_us_per_request,
            or_dash(self.peer_ratio, 2),
            self.requests_per_s,
            or_dash(self.p50_us, 0),
            or_dash(self.p99_us, 0),
            or_dash(self.syscalls_per_request, 3),
            self.error_count
        )
    }
}
