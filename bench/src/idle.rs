//! Very many connections that say nothing: they are opened, asked one thing each, and held; then the
//! server's memory is looked at, and whether it still answers.
//!
//! ```text
//!   tidegate-bench idle            this process: testbed, server, the figures
//!     +- tidegate web              at the server's end
//!     +- tidegate-bench idle --hold-at client0 ...   at the client's end, from many addresses
//! ```

use crate::device::{TakenDevice, service};
use crate::load::{HttpLoad, Reuse};
use crate::served;
use anyhow::{Context, ensure};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use tidegate_pipeline::Worker;
use tidegate_testbed::{Layout, Process, ScratchDir, Testbed};

/// Connections that one address of the client can have to one port of the server.
const CONNECTIONS_PER_ADDRESS: usize = 16_000;
const PATIENCE: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
const PORT: u16 = 80;

/// Very many silent connections
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many
    #[arg(long, default_value_t = 100_000)]
    connections: usize,
    /// Tidegate's binary (default: the one beside this program)
    #[arg(long, value_name = "FILE")]
    tidegate: Option<PathBuf>,
    /// Be the client, at this device
    #[arg(long, hide = true)]
    hold_at: Option<String>,
    /// The server that the client asks
    #[arg(long, hide = true, requires = "hold_at")]
    to: Option<SocketAddr>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    match (&args.hold_at, args.to) {
        (Some(dev), Some(to)) => hold(dev, to, args.connections),
        _ => measure(args),
    }
}

/// The client: opens, reports when all are open, and holds until it is killed.
fn hold(dev: &str, to: SocketAddr, connection_count: usize) -> anyhow::Result<()> {
    let address_count = connection_count.div_ceil(CONNECTIONS_PER_ADDRESS);
    // 10.78.1.x: beside the testbed's own addresses; the server answers to the link address anyway.
    let addresses: Vec<IpAddr> =
        (1..=address_count as u8).map(|n| Ipv4Addr::new(10, 78, 1, n).into()).collect();
    let load = HttpLoad::new(to, &["/64.bin".to_owned()], Reuse::Hold, connection_count);
    let device = TakenDevice::take(dev, &addresses, Some(0), load)?;
    let control = device.control.clone();
    std::thread::spawn(move || {
        let ask = |worker: &mut Worker| {
            let load = service::<HttpLoad>(worker)?;
            Some((load.open_count(), load.take_counters()))
        };
        let mut answer_count = 0;
        while let Some(Some((open_count, counters))) = control.ask(PATIENCE, ask) {
            answer_count += counters.answer_count;
            let failed_count = counters.failures.request_count();
            let line = format!("open {open_count} answered {answer_count} failed {failed_count}");
            if writeln!(std::io::stdout().lock(), "{line}").is_err() {
                break;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        control.send(Worker::stop);
    });
    device.run();
    Ok(())
}

#[allow(clippy::print_stdout)] // its figures are what a bench is for
fn measure(args: &Args) -> anyhow::Result<()> {
    let bed = Testbed::new(&Layout::default()).context("make the testbed (CPU 0 and CPU 1 are needed)")?;
    let scratch = ScratchDir::new()?;
    scratch.write("64.bin", vec![b'x'; 64])?;
    let address = SocketAddr::new(bed.server().ipv4().into(), PORT);
    let server = served::start(args.tidegate.as_deref(), &bed, &scratch, address, &[])?;
    let before = server.resident_bytes();
    let began = Instant::now();
    let mut client = start_client(args, &bed, address)?;
    client.await_text(&format!("answered {} failed 0", args.connections), PATIENCE)?;
    let opened_in = began.elapsed();
    let after = server.resident_bytes();
    std::thread::sleep(Duration::from_secs(5));
    let said = client.said();
    let last = said.lines().last().unwrap_or_default().to_owned();
    ensure!(last.starts_with(&format!("open {} ", args.connections)), "connections were lost: {last}");
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!(
        "{} connections opened, asked once and held: {:.1} s",
        args.connections,
        opened_in.as_secs_f64()
    );
    println!("server's resident memory: {:.1} MiB before, {:.1} MiB with them", mib(before), mib(after));
    println!("a connection: {:.0} bytes", (after - before) as f64 / args.connections as f64);
    println!("five seconds later: {last}");
    Ok(())
}

fn start_client(args: &Args, bed: &Testbed, address: SocketAddr) -> anyhow::Result<Process> {
    let mut command = Command::new(std::env::current_exe().context("find this program")?);
    command.args(["idle", "--connections", &args.connections.to_string()]);
    command.args(["--hold-at", bed.client().device(), "--to", &address.to_string()]);
    Ok(bed.client().spawn(command)?)
}
