//! One turn: streams through the tunnel that is there, and what each side spent.

use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use tidegate_sys::cpu;
use tidegate_testbed::{CpuMeter, End, Process, Testbed};

use super::Args;
use super::tunnel::inner_address;

const PATIENCE: Duration = Duration::from_secs(30);
/// From the client's start to the measurement, and from its end to the client's.
const MARGIN: Duration = Duration::from_millis(1500);

/// What a turn came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// Of text, as it was received.
    pub(super) gbit_per_s: f64,
    pub(super) sender: Spent,
    pub(super) receiver: Spent,
}

/// What a side's processor did, in percent of its time.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Spent {
    /// Tidegate's worker, with the system calls that it makes.
    pub(super) tidegate: f64,
    /// The program that sends or receives, with the system calls that it makes: the guest's part.
    pub(super) guest: f64,
    /// Whatever else ran: the kernel's receive threads, softirqs, interrupts.
    pub(super) host: f64,
}

impl Spent {
    pub(super) fn total(&self) -> f64 {
        self.tidegate + self.guest + self.host
    }
}

/// Measures streams from the client to the server. The workers' threads are the client's and the server's.
pub(super) fn measure(bed: &Testbed, workers: [Option<u32>; 2], args: &Args) -> anyhow::Result<Turn> {
    let address = inner_address(2).to_string();
    let mut server = bed.server().spawn(iperf(&["-s", "-1", "--forceflush", "-B", &address]))?;
    server.await_text("listening", PATIENCE)?;
    let seconds = (args.seconds + 2 * MARGIN.as_secs() + 1).to_string();
    let streams = args.streams.to_string();
    let asked = ["-c", &address, "-P", &streams, "-t", &seconds, "-O", "1", "-J"];
    let mut client = bed.client().spawn(iperf(&asked))?;
    std::thread::sleep(MARGIN);
    let sender = Meter::start(bed.client(), &client, workers[0])?;
    let receiver = Meter::start(bed.server(), &server, workers[1])?;
    std::thread::sleep(Duration::from_secs(args.seconds));
    let (sender, receiver) = (sender.stop(&client)?, receiver.stop(&server)?);
    client.await_end(PATIENCE)?;
    Ok(Turn { gbit_per_s: gbit_per_s(&client.said())?, sender, receiver })
}

fn iperf(arguments: &[&str]) -> Command {
    let mut command = Command::new("iperf3");
    command.args(arguments);
    command
}

fn gbit_per_s(said: &str) -> anyhow::Result<f64> {
    let report: serde_json::Value =
        serde_json::from_str(said).with_context(|| format!("iperf3 said {said:?}"))?;
    let rate = report.pointer("/end/sum_received/bits_per_second").and_then(serde_json::Value::as_f64);
    let why = || report.get("error").map_or("iperf3 gave no rate".to_owned(), ToString::to_string);
    Ok(rate.with_context(why)? / 1e9)
}

/// A measurement of one side under way.
struct Meter {
    meter: CpuMeter,
    worker: Option<u32>,
    worker_before: Duration,
    guest_before: Duration,
}

impl Meter {
    fn start(end: &End, guest: &Process, worker: Option<u32>) -> anyhow::Result<Self> {
        let cpu = end.cpu().context("the end is pinned to no processor")?;
        Ok(Self {
            worker,
            worker_before: time_of(worker)?,
            guest_before: guest.cpu_time()?,
            meter: CpuMeter::start(cpu, &[])?,
        })
    }

    fn stop(self, guest: &Process) -> anyhow::Result<Spent> {
        let spent = self.meter.stop()?;
        let percent = |time: Duration| time.as_secs_f64() / spent.elapsed.as_secs_f64() * 100.0;
        let tidegate = time_of(self.worker)?.saturating_sub(self.worker_before);
        let guest = guest.cpu_time()?.saturating_sub(self.guest_before);
        let host = spent.busy.saturating_sub(tidegate + guest);
        Ok(Spent { tidegate: percent(tidegate), guest: percent(guest), host: percent(host) })
    }
}

fn time_of(thread: Option<u32>) -> anyhow::Result<Duration> {
    Ok(thread.map_or(Ok(Duration::ZERO), cpu::time_of)?)
}
