//! The clients: dnsperf and kxdpgun, how each is told what to do, and what it says at the end.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use tidegate_testbed::Testbed;

use super::saturation::Trial;
use super::zone::Zone;
use crate::syscalls::{SyscallCounter, under};

/// Sockets of dnsperf, and questions that wait for an answer at a time.
const SOCKET_COUNT: u32 = 32;
const OUTSTANDING_COUNT: u32 = 256;
/// Questions that kxdpgun sends at a time; more come as bursts that no wire would carry.
const KXDPGUN_BATCH: u32 = 16;

/// How long the client's device may stay taken by a client that has ended.
const BUSY_PATIENCE: Duration = Duration::from_secs(20);

/// What a client is told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asking {
    /// dnsperf: a new question for each answer; with a limit a second it tells each latency.
    Dnsperf { limit_per_s: Option<u32> },
    /// kxdpgun: so many a second.
    Kxdpgun { rate_per_s: u32 },
}

/// What the client saw.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) sent_count: u64,
    pub(crate) answer_count: u64,
    pub(crate) sent_per_s: f64,
    pub(crate) answers_per_s: f64,
    pub(crate) p50_us: Option<f64>,
    pub(crate) p99_us: Option<f64>,
}

impl Seen {
    /// The part of the questions that was not answered.
    pub(crate) fn loss(&self) -> f64 {
        1.0 - self.answer_count as f64 / self.sent_count.max(1) as f64
    }

    pub(crate) fn trial(&self) -> Trial {
        Trial { sent_per_s: self.sent_per_s, loss: self.loss() }
    }
}

impl Asking {
    /// Asks the server of `bed` for the zone's questions, under `counter` if there is one.
    pub(crate) fn apply(
        self,
        bed: &Testbed,
        zone: &Zone,
        seconds: f64,
        counter: Option<&SyscallCounter>,
    ) -> anyhow::Result<Seen> {
        let asking = match self {
            Asking::Dnsperf { limit_per_s } => dnsperf(bed, zone, seconds, limit_per_s),
            Asking::Kxdpgun { rate_per_s } => kxdpgun(bed, zone, seconds, rate_per_s),
        };
        let program = asking.get_program().to_string_lossy().into_owned();
        let command = under(counter, asking);
        let deadline = Instant::now() + BUSY_PATIENCE;
        let output = loop {
            let output = bed.client().output(again(&command))?;
            if !is_busy(&output) || Instant::now() > deadline {
                break output;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let said = String::from_utf8_lossy(&output.stdout);
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{program} failed: {complaint}");
        let seen = match self {
            Asking::Dnsperf { .. } => parse_dnsperf(&said),
            Asking::Kxdpgun { .. } => parse_kxdpgun(&said),
        };
        seen.with_context(|| format!("{program} said what nobody expected: {complaint}"))
    }
}

/// The same command as one that has not run.
fn again(command: &Command) -> Command {
    let mut again = Command::new(command.get_program());
    again.args(command.get_args());
    again
}

/// The kernel frees an AF_XDP socket some time after its owner has ended, and kxdpgun then says so and exits with 0.
fn is_busy(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stderr).contains("requested resource is busy")
}

/// Of its time only whole seconds.
fn dnsperf(bed: &Testbed, zone: &Zone, seconds: f64, limit_per_s: Option<u32>) -> Command {
    let mut command = Command::new("dnsperf");
    command.args(["-s", &bed.server().ipv4().to_string(), "-T", "1", "-t", "1"]);
    command.arg("-d").arg(zone.dnsperf_questions());
    command.args(["-c", &SOCKET_COUNT.to_string(), "-q", &OUTSTANDING_COUNT.to_string()]);
    command.args(["-l", &format!("{}", seconds.ceil())]);
    command.arg(if zone.is_signed() { "-D" } else { "-e" });
    if let Some(limit) = limit_per_s {
        command.args(["-v", "-Q", &limit.to_string()]);
    }
    command
}

fn kxdpgun(bed: &Testbed, zone: &Zone, seconds: f64, rate_per_s: u32) -> Command {
    let mut command = Command::new("kxdpgun");
    command.args(["-t", &seconds.to_string(), "-Q", &rate_per_s.to_string()]);
    command.args(["-b", &KXDPGUN_BATCH.to_string()]);
    command.args(bed.client().cpu().iter().flat_map(|cpu| ["-F".to_owned(), cpu.to_string()]));
    command.arg("-i").arg(zone.kxdpgun_questions()).arg(bed.server().ipv4().to_string());
    command
}

fn parse_dnsperf(said: &str) -> Option<Seen> {
    let number =
        |label: &str| said.lines().find_map(|line| line.trim().strip_prefix(label)).and_then(first_number);
    let seconds = number("Run time (s):")?;
    let (sent, answered) = (number("Queries sent:")?, number("Queries completed:")?);
    let latencies = latencies_us(said);
    let at = |share: f64| latencies.get((latencies.len() as f64 * share) as usize).copied();
    Some(Seen {
        sent_count: sent as u64,
        answer_count: answered as u64,
        sent_per_s: sent / seconds,
        answers_per_s: answered / seconds,
        p50_us: at(0.5),
        p99_us: at(0.99),
    })
}

/// With `-v` dnsperf says `> NOERROR name. A 0.000123` of each answer.
fn latencies_us(said: &str) -> Vec<f64> {
    let answers = said.lines().filter(|line| line.starts_with("> "));
    let seconds = answers.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    let mut sorted: Vec<f64> = seconds.map(|seconds| seconds * 1e6).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// `total queries:     50010 (50010 pps)`, and no line of replies where there are none.
fn parse_kxdpgun(said: &str) -> Option<Seen> {
    let line = |label: &str| said.lines().find_map(|line| line.strip_prefix(label));
    let per_s = |text: &str| first_number(text.split_once('(')?.1);
    let queries = line("total queries:")?;
    let replies = line("total replies:").unwrap_or("0 (0 pps)");
    Some(Seen {
        sent_count: first_number(queries)? as u64,
        answer_count: first_number(replies)? as u64,
        sent_per_s: per_s(queries)?,
        answers_per_s: per_s(replies)?,
        p50_us: None,
        p99_us: None,
    })
}

fn first_number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_dnsperf_says() {
        let said = "\
> NOERROR h2201.example. A 0.005462
> NXDOMAIN h4179.example. MX 0.004365
> T h4180.example. MX
[Status] Testing complete (time limit)

Statistics:

  Queries sent:         190051
  Queries completed:    190000 (99.97%)
  Queries lost:         51 (0.03%)

  Response codes:       NOERROR 171078 (90.02%), NXDOMAIN 18973 (9.98%)
  Average packet size:  request 30, response 58
  Run time (s):         2.0
  Queries per second:   95000.000000
";
        let seen = parse_dnsperf(said).unwrap();
        assert_eq!((seen.sent_count, seen.answer_count, seen.answers_per_s), (190_051, 190_000, 95_000.0));
        assert_eq!(seen.p50_us.map(f64::round), Some(5462.0));
        assert_eq!(parse_dnsperf("Error: unable to connect"), None);
    }

    #[test]
    fn what_kxdpgun_says() {
        let said = "\
using interface client0, XDP threads 1, UDP, native mode
thread#00: sent 200000, received 190969
total queries:     200000 (400000 pps)
total replies:     190000 (380000 pps) (95%)
average DNS reply size: 58 B
duration: 0 s
";
        let seen = parse_kxdpgun(said).unwrap();
        assert_eq!((seen.sent_per_s, seen.answers_per_s), (400_000.0, 380_000.0));
        assert!((seen.loss() - 0.05).abs() < 1e-9);
        let silence = parse_kxdpgun("total queries:     10 (10 pps)\n").unwrap();
        assert_eq!(silence.loss(), 1.0);
    }
}
