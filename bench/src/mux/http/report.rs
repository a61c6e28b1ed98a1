//! Medians of the turns, what the same server over the host's sockets and nginx cost beside them, and whether that reaches what
//! the paper's server reached: 18 to 90 % more requests of one processor.

use std::fmt::Write;

use anyhow::ensure;
use serde::Serialize;

use super::Plan;
use super::server::ServerKind;
use super::turn::Sample;
use crate::results::or_dash;
use crate::statistics::{median, median_known};
use crate::terms::{self, is_disturbed};
use crate::web::{Body, ClientKind};

/// What the paper's least gain is (section 5.2).
const GAIN_MIN: f64 = 1.18;

/// The medians of one server, asked by one client for one body. Times are in us a request.
#[derive(Clone, Copy, Debug, Serialize)]
struct Median {
    server: ServerKind,
    client: ClientKind,
    body: Body,
    requests_per_s: f64,
    cpu_us: f64,
    user_us: f64,
    kernel_us: f64,
    receive_us: f64,
    busy_share: f64,
    p50_us: Option<f64>,
    p99_us: Option<f64>,
    syscalls: Option<f64>,
    error_count: u64,
    /// Processor time of the same server over the host's sockets over this one's: above 1 this one is ahead.
    over_host: Option<f64>,
    /// The same of the better nginx.
    over_nginx: Option<f64>,
}

/// A server that did not go on.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Failure {
    pub(super) server: ServerKind,
    pub(super) why: String,
}

/// Everything that this part found.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    runs: u32,
    seconds: u32,
    concurrency: u32,
    medians: Vec<Median>,
    failures: Vec<Failure>,
    samples: Vec<Sample>,
}

impl Report {
    pub(super) fn new(plan: &Plan, samples: Vec<Sample>, failures: Vec<Failure>) -> Self {
        let mut medians = Vec::new();
        for &client in &plan.clients {
            for &body in &plan.sizes {
                let all = plan.servers.iter();
                let mut row: Vec<Median> =
                    all.filter_map(|&server| Median::of(server, client, body, &samples)).collect();
                compare(&mut row);
                medians.extend(row);
            }
        }
        let Plan { runs, seconds, concurrency, .. } = *plan;
        Self { runs, seconds, concurrency, medians, failures, samples }
    }

    /// An error that names who failed, if somebody did.
    pub(in super::super) fn check(&self) -> anyhow::Result<()> {
        let names: Vec<&str> = self.failures.iter().map(|failure| failure.server.name()).collect();
        ensure!(names.is_empty(), "not all servers served, see above: {}", names.join("; "));
        Ok(())
    }

    /// Markdown tables, which read as well on a terminal.
    pub(in super::super) fn table(&self) -> String {
        let mut text = String::new();
        let mut above = None;
        for median in &self.medians {
            if above != Some(median.client) {
                text += &heading(median.client);
                above = Some(median.client);
            }
            text += &median.row();
        }
        text += &self.goals();
        text += &self.shortfalls();
        let Self { runs, seconds, concurrency, .. } = self;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "\nMedians of {runs} turns of {seconds} s, {concurrency} connections, client on CPU 0, server on CPU 1, TSO off."
        );
        text += terms::WORDS;
        text += "CPU: everything that ran on CPU 1: the server in user space (user) and in its calls (kernel), and what received for it.\n";
        if self.medians.iter().any(Median::is_disturbed) {
            text += "(!) over 5 % of CPU 1 went to others: this machine was not quiet.\n";
        }
        for Failure { server, why } in &self.failures {
            let _ = writeln!(text, "\n{} failed and was left out from then on: {why}", server.name());
        }
        text
    }

    /// How many times the requests that the same server serves over the host's sockets a processor serves with ours.
    fn goals(&self) -> String {
        let mut text = String::new();
        for &(server, client) in &self.contenders() {
            let gains =
                || self.of(server, client).filter_map(|median| Some((median.body, median.over_host?)));
            let least = gains().map(|(_, gain)| gain).fold(f64::INFINITY, f64::min);
            if least.is_infinite() {
                continue;
            }
            let each: Vec<String> = gains().map(|(body, gain)| format!("{body}: {gain:.2}")).collect();
            let reached = if least >= GAIN_MIN { "yes" } else { "no" };
            let (name, who) = (server.name(), client.words());
            let _ =
                writeln!(text, "| {name:16} | {who:14} | {} | {least:5.2} | {reached:^7} |", each.join(", "));
        }
        if text.is_empty() {
            return text;
        }
        format!(
            "\nRequests of one processor, over those of the same server on the host's sockets: the paper has {GAIN_MIN} to 1.90\n\n\
             | server           | client         | by size | least | reached |\n\
             |------------------|----------------|---------|------:|:-------:|\n{text}"
        )
    }

    /// Where the time goes where the aim was missed, beside the host's.
    fn shortfalls(&self) -> String {
        let missed = |median: &&Median| median.over_host.is_some_and(|gain| gain < GAIN_MIN);
        let short = self.medians.iter().filter(|median| median.server.is_utcp()).filter(missed);
        let rows: String = short.filter_map(|ours| Some(shortfall(ours, self.host_of(ours)?))).collect();
        if rows.is_empty() {
            return rows;
        }
        format!(
            "\nWhere it goes where that was missed, us a request: this server's / over the host's sockets\n\n\
             | server           | client         | body    | user          | kernel        | receiving     | other         |\n\
             |------------------|----------------|---------|--------------:|--------------:|--------------:|--------------:|\n{rows}"
        )
    }

    fn contenders(&self) -> Vec<(ServerKind, ClientKind)> {
        let ours = self.medians.iter().filter(|median| median.server.is_utcp());
        let mut all: Vec<_> = ours.map(|median| (median.server, median.client)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn of(&self, server: ServerKind, client: ClientKind) -> impl Iterator<Item = &Median> {
        self.medians.iter().filter(move |median| median.server == server && median.client == client)
    }

    fn host_of(&self, ours: &Median) -> Option<&Median> {
        self.of(ServerKind::Host, ours.client).find(|median| median.body == ours.body)
    }
}

/// Sets what each costs beside the others of its row.
fn compare(row: &mut [Median]) {
    let best = |is_peer: fn(ServerKind) -> bool| {
        let peers = row.iter().filter(|median| is_peer(median.server));
        peers.map(|median| median.cpu_us).min_by(f64::total_cmp)
    };
    let (host, nginx) = (best(|server| server == ServerKind::Host), best(ServerKind::is_nginx));
    for median in row {
        median.over_host = host.map(|host| host / median.cpu_us);
        median.over_nginx = nginx.map(|nginx| nginx / median.cpu_us);
    }
}

fn shortfall(ours: &Median, hosts: &Median) -> String {
    let pair = |of: fn(&Median) -> f64| format!("{:.2} / {:.2}", of(ours), of(hosts));
    let (user, kernel) = (pair(|m| m.user_us), pair(|m| m.kernel_us));
    let (receive, other) = (pair(|m| m.receive_us), pair(Median::other_us));
    let (name, who, body) = (ours.server.name(), ours.client.words(), ours.body);
    format!("| {name:16} | {who:14} | {body:7} | {user:>13} | {kernel:>13} | {receive:>13} | {other:>13} |\n")
}

fn heading(client: ClientKind) -> String {
    format!(
        "\none request a connection, {}\n\n\
         | body    | server           | CPU us/request |   user | kernel | receiving | CPU over host | over nginx | requests/s |   p50 us |   p99 us | syscalls | errors |\n\
         |---------|------------------|---------------:|-------:|-------:|----------:|--------------:|-----------:|-----------:|---------:|---------:|---------:|-------:|\n",
        client.words()
    )
}

impl Median {
    fn of(server: ServerKind, client: ClientKind, body: Body, samples: &[Sample]) -> Option<Self> {
        let is_here =
            |sample: &&Sample| sample.server == server && sample.client == client && sample.body == body;
        let here = || samples.iter().filter(is_here);
        here().next()?;
        let of = |field: fn(&Sample) -> f64| median(here().map(field));
        let told = |field: fn(&Sample) -> Option<f64>| median_known(here().map(field));
        Some(Self {
            server,
            client,
            body,
            requests_per_s: of(|sample| sample.requests_per_s),
            cpu_us: of(|sample| sample.cpu_us),
            user_us: of(|sample| sample.user_us),
            kernel_us: of(|sample| sample.kernel_us),
            receive_us: of(|sample| sample.receive_us),
            busy_share: of(|sample| sample.busy_share),
            p50_us: told(|sample| sample.p50_us),
            p99_us: told(|sample| sample.p99_us),
            syscalls: told(|sample| sample.syscalls),
            error_count: here().map(|sample| sample.error_count).sum(),
            over_host: None,
            over_nginx: None,
        })
    }

    fn threads_us(&self) -> f64 {
        self.user_us + self.kernel_us + self.receive_us
    }

    /// Interrupts of an idle processor, or somebody else.
    fn other_us(&self) -> f64 {
        (self.cpu_us - self.threads_us()).max(0.0)
    }

    fn is_disturbed(&self) -> bool {
        is_disturbed(self.cpu_us, self.threads_us())
    }

    fn row(&self) -> String {
        let cpu = format!("{}{:.2}", if self.is_disturbed() { "(!) " } else { "" }, self.cpu_us);
        format!(
            "| {:7} | {:16} | {cpu:>14} | {:6.2} | {:6.2} | {:9.2} | {:>13} | {:>10} | {:10.0} | {:>8} | {:>8} | {:>8} | {:6} |\n",
            self.body,
            self.server.name(),
            self.user_us,
            self.kernel_us,
            self.receive_us,
            or_dash(self.over_host, 2),
            or_dash(self.over_nginx, 2),
            self.requests_per_s,
            or_dash(self.p50_us, 0),
            or_dash(self.p99_us, 0),
            or_dash(self.syscalls, 2),
            self.error_count
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: Body = Body::Bytes(1 << 10);

    fn sample(server: ServerKind, cpu_us: f64) -> Sample {
        Sample {
            server,
            client: ClientKind::Wrk,
            body: BODY,
            run: 0,
            requests_per_s: 1e6 / cpu_us,
            cpu_us,
            user_us: cpu_us / 4.0,
            kernel_us: cpu_us / 4.0,
            receive_us: cpu_us / 2.0,
            busy_share: 1.0,
            p50_us: None,
            p99_us: None,
            syscalls: None,
            error_count: 0,
        }
    }

    fn report(samples: Vec<Sample>, failures: Vec<Failure>) -> Report {
        let plan = Plan {
            servers: samples.iter().map(|sample| sample.server).collect(),
            sizes: vec![BODY],
            clients: vec![ClientKind::Wrk],
            runs: 1,
            seconds: 1,
            concurrency: 64,
            tidegate: "tidegate".into(),
            library: "libtidegate.so".into(),
        };
        Report::new(&plan, samples, failures)
    }

    #[test]
    fn the_better_nginx_and_the_host_are_what_a_server_is_compared_with() {
        use ServerKind::{Host, Nginx, NginxSendfile, Veth};
        let samples = [(Veth, 10.0), (Host, 15.0), (Nginx, 30.0), (NginxSendfile, 20.0)];
        let report = report(samples.map(|(server, cpu)| sample(server, cpu)).to_vec(), Vec::new());
        let ours = report.medians[0];
        assert_eq!((ours.over_host, ours.over_nginx), (Some(1.5), Some(2.0)));
        let table = report.table();
        assert!(table.contains("1 KiB: 1.50") && table.contains("yes"), "{table}");
        assert!(!table.contains("Where it goes"), "{table}");
        assert!(report.check().is_ok());
    }

    #[test]
    fn a_miss_says_where_the_time_goes_and_a_failure_whose_it_is() {
        let samples = vec![sample(ServerKind::Veth, 10.0), sample(ServerKind::Host, 11.0)];
        let failure = Failure { server: ServerKind::Nginx, why: "1 KiB, turn 0: no such program".to_owned() };
        let report = report(samples, vec![failure]);
        let table = report.table();
        assert!(table.contains("Where it goes") && table.contains("2.50 / 2.75"), "{table}");
        assert!(table.contains("nginx failed") && table.contains("no such program"), "{table}");
        assert!(report.check().unwrap_err().to_string().ends_with("nginx"));
    }
}
