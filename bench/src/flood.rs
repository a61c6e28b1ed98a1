//! A SYN flood from forged addresses beside a normal client: what the client keeps of its rate, and
//! whether the server's memory stays flat.
//!
//! Two tables grow while strangers and clients come, and both are bounded: connections that are half-open (the
//! backlog; beyond it SYNs are answered by cookies) and those in TIME-WAIT (a minute's worth, 65,536 at most).
//!
//! ```text
//!   tidegate-bench flood           this process: testbed, server, the normal client, the figures
//!     +- tidegate web              at the server's end
//!     +- tidegate-bench flood --send-at client0 ...   the generator, at the client's end
//! ```

use crate::binary::tidegate_binary;
use crate::served;
use anyhow::Context;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use tidegate_base::{Rng, SeqNumber};
use tidegate_packet::{Batch, Frame, Pool};
use tidegate_port::{AfXdpPort, Port};
use tidegate_sys::mem::Mapping;
use tidegate_sys::netlink::Netlink;
use tidegate_sys::xsk::{Umem, XskConfig};
use tidegate_testbed::{End, Layout, Process, ScratchDir, Side, Testbed};
use tidegate_wire::{EtherType, EthernetHeader, IpRepr, MacAddr, Protocol, TcpFlags, TcpOptions, TcpRepr};
use zerocopy::IntoBytes;

const PORT: u16 = 80;
const PATIENCE: Duration = Duration::from_secs(20);
/// The generator sends so often; finer pacing would only cost the client's processor.
const TICK: Duration = Duration::from_millis(1);
/// The normal client rests between two requests: it has a rate of its own to keep.
const REST: Duration = Duration::from_micros(500);
/// How often the server's memory is looked at.
const WATCH_INTERVAL: Duration = Duration::from_secs(10);
const CHUNK_LEN: usize = 2048;
const CHUNK_COUNT: usize = 4096;

/// A SYN flood beside a normal client
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// SYNs a second
    #[arg(long, default_value_t = 100_000)]
    rate: u64,
    /// Seconds of flood
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Tidegate's binary (default: the one beside this program)
    #[arg(long, value_name = "FILE")]
    tidegate: Option<PathBuf>,
    /// Be the generator, at this device
    #[arg(long, hide = true)]
    send_at: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    match &args.send_at {
        Some(dev) => generate(dev, args),
        None => measure(args),
    }
}

/// Sends SYNs from random addresses at the rate asked for.
fn generate(dev: &str, args: &Args) -> anyhow::Result<()> {
    let link = Netlink::open()?.link(dev)?;
    let mut pool = Pool::new(Box::new(Mapping::anonymous(CHUNK_COUNT * CHUNK_LEN)?), CHUNK_LEN)?;
    let umem = Umem::of_pool(&pool);
    let mut port = AfXdpPort::open(link.ifindex, 0, &umem, &XskConfig::default(), &mut pool)?;
    let mut rng = Rng::new(tidegate_sys::random::u64()?);
    let (began, mut sent) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_secs(args.seconds) {
        let due = (began.elapsed().as_secs_f64() * args.rate as f64) as u64;
        while sent < due && port.tx_room(&mut pool) > 0 {
            sent += send_batch(&mut port, &mut pool, &mut rng, due - sent);
        }
        port.flush(&mut pool);
        std::thread::sleep(TICK);
    }
    writeln!(std::io::stdout().lock(), "sent {sent}").context("say what was sent")
}

fn send_batch(port: &mut AfXdpPort, pool: &mut Pool, rng: &mut Rng, wanted: u64) -> u64 {
    let mut batch = Batch::with_len_max(wanted.min(32) as usize);
    while batch.room() > 0 {
        let Some(frame) = syn(pool, rng) else { break };
        if let Err(frame) = batch.push(frame) {
            pool.free(frame);
        }
    }
    let count = batch.len();
    port.tx(pool, &mut batch);
    let left = batch.len();
    batch.drain().for_each(|frame| pool.free(frame));
    (count - left) as u64
}

/// A SYN as a client's kernel would send it, from anywhere.
fn syn(pool: &mut Pool, rng: &mut Rng) -> Option<Frame> {
    let source = Ipv4Addr::from(0x0b00_0000 | rng.next_u32() & 0x00ff_ffff);
    let (src, dst) = (IpAddr::V4(source).into(), IpAddr::V4(Side::Server.ipv4()).into());
    let repr = TcpRepr {
        src_port: 1024 + rng.below(60_000) as u16,
        dst_port: PORT,
        seq: SeqNumber(rng.next_u32()),
        ack: SeqNumber(0),
        flags: TcpFlags::SYN,
        window: 64_240,
        options: TcpOptions {
            mss: Some(1460),
            sack_permitted: true,
            window_scale: Some(7),
            ..TcpOptions::NONE
        },
    };
    let ip = IpRepr { src, dst, protocol: Protocol::Tcp, hop_limit: 64, ecn: 0 };
    let ethernet =
        EthernetHeader::new(MacAddr(Side::Server.mac()), MacAddr(Side::Client.mac()), EtherType::Ipv4);
    let mut frame = pool.alloc()?;
    let len = repr.header_len();
    repr.emit(ip.pseudo_header_sum(len), frame.push_back(len)?);
    ip.emit(len, frame.push_front(ip.header_len())?);
    frame.push_front(ethernet.as_bytes().len())?.copy_from_slice(ethernet.as_bytes());
    Some(frame)
}

#[allow(clippy::print_stdout)] // its figures are what a bench is for
fn measure(args: &Args) -> anyhow::Result<()> {
    let bed = Testbed::new(&Layout::default()).context("make the testbed (CPU 0 and CPU 1 are needed)")?;
    let scratch = ScratchDir::new()?;
    scratch.write("1k.bin", vec![b'x'; 1024])?;
    let address = SocketAddr::new(bed.server().ipv4().into(), PORT);
    let server = served::start(args.tidegate.as_deref(), &bed, &scratch, address, &[])?;
    let span = Duration::from_secs(args.seconds);
    let watch =
        Watch { server: &server, end: bed.server(), tidegate: tidegate_binary(args.tidegate.as_deref())? };
    println!("before: {}", watch.look());
    // As long as the flood: by its end as many connections are in TIME-WAIT as there ever will be.
    let alone = watch.during("alone", || ask_for(bed.client(), address, span))?;
    let mut generator = start_generator(args, &bed)?;
    let beside = watch.during("beside the flood", || ask_for(bed.client(), address, span))?;
    generator.await_text("sent ", PATIENCE)?;
    println!("{} ({} a second asked for)", generator.said().trim(), args.rate);
    println!(
        "normal client: {:.0} requests/s alone, {:.0} beside the flood: {:.1} %",
        alone.rate,
        beside.rate,
        100.0 * beside.rate / alone.rate
    );
    println!("its failures: {} alone, {} beside", alone.failure_count, beside.failure_count);
    Ok(())
}

/// A server whose memory is looked at.
struct Watch<'a> {
    server: &'a Process,
    end: &'a End,
    tidegate: PathBuf,
}

impl Watch<'_> {
    /// What it holds resident, and of what it holds much.
    fn look(&self) -> String {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.server.pid())).unwrap_or_default();
        let kib = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
        };
        let files = kib("RssFile:") + kib("RssShmem:");
        let counts = self.stats().unwrap_or_default();
        format!("{} KiB of its own and {files} KiB of files resident{counts}", kib("RssAnon:"))
    }

    /// What its stacks say of the two tables that strangers can fill.
    fn stats(&self) -> Option<String> {
        let mut command = Command::new(&self.tidegate);
        command.args(["stats", "--json", "--pid", &self.server.pid().to_string()]);
        let said = self.end.output(command).ok()?;
        let stats: Value = serde_json::from_slice(&said.stdout).ok()?;
        let modules =
            stats[0]["workers"].as_array()?.iter().filter_map(|worker| worker["modules"].as_array());
        let modules: Vec<&Value> = modules.flatten().collect();
        let sum = |name: &str| modules.iter().filter_map(|module| module["own"][name].as_u64()).sum::<u64>();
        Some(format!("; {} half-open, {} in TIME-WAIT", sum("half_open"), sum("time_wait")))
    }

    /// Does something, and says meanwhile what the server's memory is.
    #[allow(clippy::print_stdout)] // its figures are what a bench is for
    fn during<T: Send>(
        &self,
        what: &str,
        work: impl FnOnce() -> anyhow::Result<T> + Send,
    ) -> anyhow::Result<T> {
        std::thread::scope(|scope| {
            let work = scope.spawn(work);
            let began = Instant::now();
            let mut due = WATCH_INTERVAL;
            while !work.is_finished() {
                if began.elapsed() >= due {
                    println!("{what}, {:>3} s: {}", due.as_secs(), self.look());
                    due += WATCH_INTERVAL;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            work.join().map_err(|_| anyhow::anyhow!("the client panicked"))?
        })
    }
}

fn start_generator(args: &Args, bed: &Testbed) -> anyhow::Result<Process> {
    let mut command = Command::new(std::env::current_exe().context("find this program")?);
    command.args(["flood", "--send-at", bed.client().device()]);
    command.args(["--rate", &args.rate.to_string(), "--seconds", &args.seconds.to_string()]);
    Ok(bed.client().spawn(command)?)
}

/// What the normal client saw.
struct Asked {
    rate: f64,
    failure_count: u64,
}

/// A client of the kernel's stack: a new connection for each request, a short rest between them.
fn ask_for(from: &End, server: SocketAddr, span: Duration) -> anyhow::Result<Asked> {
    Ok(from.run(|| {
        let began = Instant::now();
        let (mut count, mut failure_count) = (0_u64, 0);
        while began.elapsed() < span {
            match ask(server) {
                Ok(()) => count += 1,
                Err(_) => failure_count += 1,
            }
            std::thread::sleep(REST);
        }
        Asked { rate: count as f64 / began.elapsed().as_secs_f64(), failure_count }
    })?)
}

fn ask(server: SocketAddr) -> anyhow::Result<()> {
    let mut stream = TcpStream::connect_timeout(&server, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /1k.bin HTTP/1.1\r\nHost: flood\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    anyhow::ensure!(answer.ends_with(&[b'x'; 1024]), "a short answer");
    Ok(())
}
