//! Our client at a device: it takes the whole device over, asks a server for some seconds, and says in one
//! line of JSON what it saw. `tidegate-bench web --client packet` runs it at the client's end of the cable.

use crate::device::{TakenDevice, service};
use crate::load::{Failures, HttpLoad, LoadCounters, Reuse};
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tidegate_pipeline::{Control, Worker};

/// Time before what is seen counts.
const WARM_UP: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(10);

/// Our client on a device that it takes over
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The device; nobody else hears what arrives there meanwhile
    #[arg(long)]
    dev: String,
    /// The address to ask from
    #[arg(long)]
    from: IpAddr,
    /// The server
    #[arg(long)]
    to: SocketAddr,
    /// What to ask for, in turn
    #[arg(long = "path", required = true)]
    paths: Vec<String>,
    /// Connections at once
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// One request a connection
    #[arg(long)]
    close: bool,
    /// Seconds to ask for
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Keep the receive threads on this processor
    #[arg(long)]
    cpu: Option<usize>,
}

/// What the client says at the end.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Said {
    /// All, those of the warm-up included: the server paid for them too.
    pub(crate) request_count: u64,
    pub(crate) requests_per_s: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) failures: Failures,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let reuse = if args.close { Reuse::Close } else { Reuse::KeepAlive };
    let load = HttpLoad::new(args.to, &args.paths, reuse, args.connections);
    let device = TakenDevice::take(&args.dev, &[args.from], args.cpu, load)?;
    let (seconds, control) = (args.seconds, device.control.clone());
    let judge = std::thread::spawn(move || judge_run(&control, seconds));
    device.run();
    let seen = judge.join().ok().flatten().context("the client's worker did not answer")?;
    say(&seen, args.seconds)
}

/// What the client saw: in its warm-up, and after.
struct Seen {
    warm_up: LoadCounters,
    measured: LoadCounters,
}

/// Lets the client run, takes what it saw, and ends it.
fn judge_run(control: &Control, seconds: u64) -> Option<Seen> {
    let take =
        || control.ask(PATIENCE, |worker| Some(service::<HttpLoad>(worker)?.take_counters())).flatten();
    std::thread::sleep(WARM_UP);
    let warm_up = take();
    std::thread::sleep(Duration::from_secs(seconds));
    let measured = take();
    control.send(Worker::stop);
    Some(Seen { warm_up: warm_up?, measured: measured? })
}

fn say(seen: &Seen, seconds: u64) -> anyhow::Result<()> {
    let Seen { warm_up, measured } = seen;
    let at = |quantile: f64| measured.latency_ns.value_at_quantile(quantile) as f64 / 1e3;
    let said = Said {
        request_count: warm_up.answer_count + measured.answer_count,
        requests_per_s: measured.answer_count as f64 / seconds as f64,
        p50_us: at(0.5),
        p99_us: at(0.99),
        failures: warm_up.failures.and(&measured.failures),
    };
    let line = serde_json::to_string(&said)?;
    writeln!(std::io::stdout().lock(), "{line}").context("say what was seen")
}
