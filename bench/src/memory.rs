//! The server without a kernel: our client and `tidegate web`'s service in one worker, joined by a memory
//! port. What is left is what the stack itself costs.
//!
//! ```text
//!   client_in -> client -> client_out ==memory== server_in -> server -> server_out ==memory== client_in
//! ```
//! Each module is timed; the server's share is that of its three, so the client's cost does not count.

use crate::in_memory::{self, CLIENT, CLIENT_MAC, SERVER, SERVER_MAC, drive, server_busy, stack};
use crate::load::{HttpLoad, LoadCounters, Reuse};
use anyhow::{Context, ensure};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use tidegate_base::{Duration, HashKey};
use tidegate_content::{Library, Mode, Packer};
use tidegate_modules::{PortIn, PortOut, StackModule};
use tidegate_pipeline::{Graph, PortIndex, Worker};
use tidegate_stack::Stack;
use tidegate_web::{Config, Shared, Site, library_config};

/// The stack alone
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Body sizes in bytes
    #[arg(long, value_delimiter = ',', default_values_t = [64, 1024, 4096, 16384, 65536, 1 << 20])]
    sizes: Vec<usize>,
    /// Batch lengths to try with 64-byte bodies
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16, 32, 64])]
    batches: Vec<usize>,
    /// Connections at once
    #[arg(long, default_value_t = 256)]
    connections: usize,
    /// Milliseconds a run
    #[arg(long, default_value_t = 1000)]
    run_ms: u64,
    /// Runs of each kind, of which the median is printed
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Where the server's and the client's thread runs
    #[arg(long, default_value_t = 1)]
    cpu: usize,
}

/// One row of the table.
#[derive(Clone, Copy)]
struct Case {
    size: usize,
    mode: Mode,
    reuse: Reuse,
    batch_len: usize,
}

/// What a run came to.
struct Outcome {
    answer_count: u64,
    server_busy: Duration,
    load: LoadCounters,
}

impl Outcome {
    fn server_ns(&self) -> f64 {
        self.server_busy.as_nanos() as f64 / self.answer_count.max(1) as f64
    }
}

#[allow(clippy::print_stdout)] // its table is what a bench is for
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    ensure!(!args.sizes.is_empty() && args.runs > 0, "nothing to run: give --sizes and --runs");
    clock_pin(args.cpu)?;
    let root = Root::new(&args.sizes)?;
    println!(
        "{:>9} {:>9} {:>10} {:>6} {:>10} {:>12} {:>9}",
        "body", "store", "use", "batch", "ns/request", "requests/s", "cycles"
    );
    for case in cases(args) {
        let mut outcomes = Vec::new();
        for _ in 0..args.runs {
            outcomes.push(run_case(args, &root, case)?);
        }
        print_case(case, &mut outcomes);
    }
    Ok(())
}

fn cases(args: &Args) -> Vec<Case> {
    let mut cases = Vec::new();
    for mode in [Mode::PreCopy, Mode::MemCopy] {
        for &size in &args.sizes {
            cases.push(Case { size, mode, reuse: Reuse::KeepAlive, batch_len: 32 });
        }
        cases.push(Case { size: args.sizes[0], mode, reuse: Reuse::Close, batch_len: 32 });
    }
    let batch =
        |&batch_len| Case { size: args.sizes[0], mode: Mode::MemCopy, reuse: Reuse::KeepAlive, batch_len };
    cases.extend(args.batches.iter().map(batch));
    cases
}

#[allow(clippy::print_stdout)] // likewise
fn print_case(case: Case, outcomes: &mut [Outcome]) {
    outcomes.sort_by(|a, b| a.server_ns().total_cmp(&b.server_ns()));
    let median = &outcomes[outcomes.len() / 2];
    let ns = median.server_ns();
    let store = if case.mode == Mode::PreCopy { "pre-copy" } else { "memcopy" };
    let reuse = if case.reuse == Reuse::KeepAlive { "keep-alive" } else { "close" };
    let cycles = ns * tsc_ghz();
    println!(
        "{:>9} {store:>9} {reuse:>10} {:>6} {ns:>10.1} {:>12.0} {cycles:>9.0}{}",
        case.size,
        case.batch_len,
        1e9 / ns,
        if median.load.failures.request_count() > 0 {
            format!("  {} errors", median.load.failures.request_count())
        } else {
            String::new()
        }
    );
}

/// Files of the sizes asked for, in a directory that goes when this does.
struct Root(std::path::PathBuf);

impl Root {
    fn new(sizes: &[usize]) -> anyhow::Result<Self> {
        let dir = std::env::temp_dir().join(format!("tidegate-bench-memory-{}", std::process::id()));
        std::fs::create_dir_all(&dir).with_context(|| format!("make {}", dir.display()))?;
        for size in sizes {
            std::fs::write(dir.join(format!("{size}.bin")), vec![b'x'; *size])?;
        }
        Ok(Self(dir))
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        // Left behind in the worst case, in the directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run_case(args: &Args, root: &Root, case: Case) -> anyhow::Result<Outcome> {
    let (mut worker, _library) = worker(&root.0, args.connections, case)?;
    drive(&mut worker, Duration::from_millis(args.run_ms / 5 + 50));
    take(&mut worker)?;
    let before = server_busy(&worker);
    drive(&mut worker, Duration::from_millis(args.run_ms));
    let load = take(&mut worker)?;
    ensure!(load.answer_count > 0, "no answers at {} bytes: {:?}", case.size, worker.snapshot());
    let server_busy = server_busy(&worker).saturating_sub(before);
    Ok(Outcome { answer_count: load.answer_count, server_busy, load })
}

fn take(worker: &mut Worker) -> anyhow::Result<LoadCounters> {
    let client = worker.module_mut::<StackModule<HttpLoad>>("client").context("the client's module")?;
    Ok(client.stack_mut().service_mut().take_counters())
}

fn worker(root: &Path, connection_count: usize, case: Case) -> anyhow::Result<(Worker, Library)> {
    let (site, library) = site(root, case.mode)?;
    let remote = SocketAddr::new(SERVER, 80);
    let load = HttpLoad::new(remote, &[format!("/{}.bin", case.size)], case.reuse, connection_count);
    let mut server = stack(SERVER_MAC, SERVER, site)?;
    server.listen(None, 80);
    let mut client = stack(CLIENT_MAC, CLIENT, load)?;
    client.set_neighbour(SERVER, SERVER_MAC);
    let graph = graph(server, client)?;
    Ok((in_memory::worker(graph, case.batch_len)?, library))
}

fn site(root: &Path, mode: Mode) -> anyhow::Result<(Site, Library)> {
    let mut config = Config { root: root.to_owned(), ..Config::default() };
    config.limits.connections_per_address = u32::MAX;
    config.limits.requests_per_connection = 0;
    let key = HashKey::new(tidegate_sys::random::bytes()?);
    let shared = Shared::new(&config, Default::default(), key, SystemTime::now);
    let library = Library::open(&library_config(&config), shared.present())?;
    let reader = library.reader(Arc::new(|| {}));
    Ok((Site::new(shared, reader, Packer::new(mode), None), library))
}

fn graph(server: Stack<Site>, client: Stack<HttpLoad>) -> anyhow::Result<Graph> {
    let mut graph = Graph::new();
    let row = [
        graph.add("client_in", Box::new(PortIn::new(PortIndex(0))))?,
        graph.add("client", Box::new(StackModule::new(client)))?,
        graph.add("client_out", Box::new(PortOut::new(PortIndex(0))))?,
    ];
    graph.chain(&row)?;
    let row = [
        graph.add("server_in", Box::new(PortIn::new(PortIndex(1))))?,
        graph.add("server", Box::new(StackModule::new(server)))?,
        graph.add("server_out", Box::new(PortOut::new(PortIndex(1))))?,
    ];
    graph.chain(&row)?;
    Ok(graph)
}

fn clock_pin(cpu: usize) -> anyhow::Result<()> {
    tidegate_sys::cpu::pin_current_thread(cpu).with_context(|| format!("run on processor {cpu}"))
}

/// The processor's nominal rate, by which cycles are told from time.
fn tsc_ghz() -> f64 {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mhz =
        info.lines().find_map(|line| line.strip_prefix("cpu MHz")?.split(':').nth(1)?.trim().parse().ok());
    mhz.unwrap_or(1000.0_f64) / 1000.0
}
