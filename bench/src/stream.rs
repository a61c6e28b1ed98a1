//! One bulk stream over a wire that loses: our TCP and the kernel's, as a server, to the same kernel client
//! through the same wire, in turns.

use crate::served;
use crate::web::{COPYING, nginx};
use crate::wire::Wire;
use anyhow::{Context, anyhow, ensure};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tidegate_modules::ImpairConfig;
use tidegate_testbed::{Process, ScratchDir};

const PORT: u16 = 80;
const PATIENCE: Duration = Duration::from_secs(60);
/// Rest between two requests that tell the round trip beside the stream.
const REST: Duration = Duration::from_millis(2);
/// Of TCP with timestamps on a path with an MTU of 1,500.
const SEGMENT_LEN: f64 = 1448.0;
const MIB: f64 = 1048576.0;

/// One bulk stream over a wire that loses
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// MiB of the stream
    #[arg(long, default_value_t = 64)]
    mib: u64,
    /// What the wire does, both ways
    #[arg(long, default_value = "loss=1%")]
    faults: String,
    /// Turns of which the median is quoted
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Tidegate's congestion controls
    #[arg(long, value_delimiter = ',', default_value = "cubic,bbr")]
    ours: Vec<String>,
    /// Kernel congestion controls to compare with
    #[arg(long, value_delimiter = ',', default_value = "reno,bbr")]
    kernel: Vec<String>,
    /// Tidegate's binary (default: the one beside this program)
    #[arg(long, value_name = "FILE")]
    tidegate: Option<PathBuf>,
}

/// Who sends.
enum Sender<'a> {
    Tidegate { congestion: &'a str },
    Nginx { congestion: &'a str },
}

impl Sender<'_> {
    fn name(&self) -> String {
        match self {
            Self::Tidegate { congestion } => format!("tidegate ({congestion})"),
            Self::Nginx { congestion } => format!("nginx (kernel, {congestion})"),
        }
    }

    fn start(
        &self,
        args: &Args,
        wire: &Wire,
        root: &ScratchDir,
        own: &ScratchDir,
    ) -> anyhow::Result<Process> {
        let address = address(wire);
        match self {
            Self::Tidegate { congestion } => {
                let more = ["--congestion", *congestion];
                served::start_at(args.tidegate.as_deref(), wire.server(), wire.near(), root, address, &more)
            }
            Self::Nginx { congestion } => {
                wire.server().set_parameter("ipv4/tcp_congestion_control", congestion)?;
                let command = nginx(root.path(), address, own, COPYING)?;
                let mut server = wire.server().spawn(command)?;
                wire.near().await_service(&mut server, address, PATIENCE).context("wait for nginx")?;
                Ok(server)
            }
        }
    }
}

fn address(wire: &Wire) -> SocketAddr {
    SocketAddr::new(wire.server().ipv4().into(), PORT)
}

#[allow(clippy::print_stdout)] // its figures are what a bench is for
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let faults: ImpairConfig = args.faults.parse().context("--faults")?;
    let root = ScratchDir::new()?;
    root.write("stream.bin", vec![b'x'; (args.mib << 20) as usize])?;
    root.write("ping.bin", b"x")?;
    let kernel = args.kernel.iter().map(|congestion| Sender::Nginx { congestion });
    let ours = args.ours.iter().map(|congestion| Sender::Tidegate { congestion });
    let senders: Vec<Sender<'_>> = ours.chain(kernel).collect();
    let mut seen: Vec<Vec<Seen>> = senders.iter().map(|_| Vec::new()).collect();
    for run in 0..args.runs {
        let wire = Wire::new(ImpairConfig { seed: faults.seed + run as u64, ..faults })?;
        for (sender, seen) in senders.iter().zip(&mut seen) {
            let own = ScratchDir::new()?;
            let _server = sender.start(args, &wire, &root, &own)?;
            seen.push(measure(&wire, args.mib << 20)?);
        }
    }
    let window = (1.5 / faults.loss).sqrt();
    println!("the standard law's mean window at this loss: {window:.1} segments a round trip");
    for (sender, seen) in senders.iter().zip(&mut seen) {
        seen.sort_by(|a, b| f64::total_cmp(&a.rate, &b.rate));
        let Seen { rate, round_trip } = seen[seen.len() / 2];
        let law = window * SEGMENT_LEN / round_trip.as_secs_f64() / MIB;
        println!(
            "{}: {rate:.1} MiB/s ({:.1} to {:.1}); beside it a round trip of {round_trip:.0?}, at which the law allows {law:.0} MiB/s",
            sender.name(),
            seen[0].rate,
            seen[seen.len() - 1].rate
        );
    }
    Ok(())
}

/// What a stream came to.
struct Seen {
    /// MiB a second.
    rate: f64,
    /// Of requests beside it, the median.
    round_trip: Duration,
}

fn measure(wire: &Wire, len: u64) -> anyhow::Result<Seen> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let pings = scope.spawn(|| ping(wire, &is_over));
        let rate = fetch(wire, len);
        is_over.store(true, Ordering::Relaxed);
        let mut round_trips = pings.join().map_err(|_| anyhow!("the pings panicked"))??;
        round_trips.sort();
        let round_trip = *round_trips.get(round_trips.len() / 2).context("too short a stream to time")?;
        Ok(Seen { rate: rate?, round_trip })
    })
}

/// The round trips of requests for one byte, until told to stop.
fn ping(wire: &Wire, is_over: &AtomicBool) -> anyhow::Result<Vec<Duration>> {
    let to = address(wire);
    wire.near().client().run(|| {
        let mut stream = connect(to)?;
        let mut round_trips = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            let began = Instant::now();
            stream.write_all(b"GET /ping.bin HTTP/1.1\r\nHost: stream\r\n\r\n")?;
            let mut answer = [0; 1024];
            ensure!(stream.read(&mut answer)? > 0, "the connection ended");
            round_trips.push(began.elapsed());
            std::thread::sleep(REST);
        }
        Ok(round_trips)
    })?
}

/// MiB a second of one stream.
fn fetch(wire: &Wire, len: u64) -> anyhow::Result<f64> {
    let to = address(wire);
    wire.near().client().run(|| {
        let mut stream = connect(to)?;
        let began = Instant::now();
        stream.write_all(b"GET /stream.bin HTTP/1.1\r\nHost: stream\r\nConnection: close\r\n\r\n")?;
        let mut block = vec![0; 1 << 18];
        let mut received = 0;
        loop {
            match stream.read(&mut block)? {
                0 => break,
                count => received += count as u64,
            }
        }
        ensure!(received > len, "{received} of {len} bytes");
        Ok(received as f64 / began.elapsed().as_secs_f64() / MIB)
    })?
}

fn connect(to: SocketAddr) -> anyhow::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
