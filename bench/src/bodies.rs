//! Ten thousand files and a huge one, fetched whole over the kernel's TCP, each compared by its SHA-256:
//! over a good wire, then over one that loses.

use crate::served;
use anyhow::{Context, ensure};
use sha2::{Digest, Sha256};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tidegate_base::Rng;
use tidegate_testbed::{Layout, ScratchDir, Testbed};

const PORT: u16 = 80;
const PATIENCE: Duration = Duration::from_secs(60);
/// The largest of the many files.
const SMALL_LEN_MAX: u64 = 128 << 10;
const HUGE: &str = "huge.bin";
/// Connections that fetch at a time.
const FETCHER_COUNT: usize = 4;

/// Every body, by its hash
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many files
    #[arg(long, default_value_t = 10_000)]
    files: u64,
    /// MiB of the huge one
    #[arg(long, default_value_t = 2048)]
    huge_mib: u64,
    /// What the second pass suffers, both ways
    #[arg(long, default_value = "loss=1%")]
    faults: String,
    /// Tidegate's binary (default: the one beside this program)
    #[arg(long, value_name = "FILE")]
    tidegate: Option<PathBuf>,
}

/// A file, and what it hashes to.
struct Known {
    path: String,
    len: u64,
    hash: [u8; 32],
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let root = ScratchDir::new()?;
    let files = write_tree(&root, args)?;
    for faults in ["", &args.faults] {
        pass(args, &root, &files, faults)?;
    }
    Ok(())
}

fn write_tree(root: &ScratchDir, args: &Args) -> anyhow::Result<Vec<Known>> {
    let mut rng = Rng::new(1);
    // As many small ones as large ones: the logarithm of the length is what is even.
    let len_of = |rng: &mut Rng| (SMALL_LEN_MAX as f64).powf(rng.unit()) as u64 - 1;
    let mut files = Vec::new();
    for number in 0..args.files {
        let len = len_of(&mut rng);
        files.push(write_file(root, format!("{number}.bin"), number, len)?);
    }
    files.push(write_file(root, HUGE.into(), u64::MAX, args.huge_mib << 20)?);
    Ok(files)
}

fn write_file(root: &ScratchDir, path: String, seed: u64, len: u64) -> anyhow::Result<Known> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(root.join(&path))?);
    let (mut rng, mut hash, mut left) = (Rng::new(seed), Sha256::new(), len);
    while left > 0 {
        let word = rng.next_u64().to_ne_bytes();
        let piece = &word[..left.min(8) as usize];
        hash.update(piece);
        file.write_all(piece)?;
        left -= piece.len() as u64;
    }
    file.flush()?;
    Ok(Known { path, len, hash: hash.finalize().into() })
}

#[allow(clippy::print_stdout)] // its figures are what a bench is for
fn pass(args: &Args, root: &ScratchDir, files: &[Known], faults: &str) -> anyhow::Result<()> {
    let bed = Testbed::new(&Layout::default()).context("make the testbed (CPU 0 and CPU 1 are needed)")?;
    let address = SocketAddr::new(bed.server().ipv4().into(), PORT);
    let more: Vec<&str> = if faults.is_empty() { Vec::new() } else { vec!["--impair", faults] };
    let server = served::start(args.tidegate.as_deref(), &bed, root, address, &more)?;
    let wire = if faults.is_empty() { "good wire" } else { faults };
    let (huge, small) = files.split_last().context("no files")?;
    for (name, files) in [("small files", small), ("the huge one", std::slice::from_ref(huge))] {
        let began = Instant::now();
        fetch_all(&bed, address, files)?;
        let took = began.elapsed().as_secs_f64();
        let byte_count: u64 = files.iter().map(|file| file.len).sum();
        let rate = byte_count as f64 / took / f64::from(1 << 20);
        println!(
            "{wire}: {name}: {} bodies right, {byte_count} bytes, {took:.1} s, {rate:.0} MiB/s",
            files.len()
        );
    }
    println!("{wire}: server's resident memory {} MiB", server.resident_bytes() >> 20);
    Ok(())
}

fn fetch_all(bed: &Testbed, server: SocketAddr, files: &[Known]) -> anyhow::Result<()> {
    let share = files.len().div_ceil(FETCHER_COUNT);
    let fetched: Vec<anyhow::Result<()>> = std::thread::scope(|scope| {
        let fetchers: Vec<_> = files
            .chunks(share)
            .map(|files| scope.spawn(move || bed.client().run(|| fetch(server, files))?))
            .collect();
        fetchers
            .into_iter()
            .map(|f| f.join().unwrap_or_else(|_| anyhow::bail!("a fetcher panicked")))
            .collect()
    });
    fetched.into_iter().collect()
}

/// All of `files` over one connection.
fn fetch(server: SocketAddr, files: &[Known]) -> anyhow::Result<()> {
    let stream = TcpStream::connect_timeout(&server, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut input = BufReader::with_capacity(1 << 18, &stream);
    for file in files {
        write!(&stream, "GET /{} HTTP/1.1\r\nHost: bodies\r\n\r\n", file.path)?;
        check(&mut input, file).with_context(|| file.path.clone())?;
    }
    Ok(())
}

fn check(input: &mut impl BufRead, file: &Known) -> anyhow::Result<()> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        ensure!(input.read_line(&mut head)? > 0, "the connection ended in the head: {head}");
    }
    ensure!(head.starts_with("HTTP/1.1 200 "), "{head}");
    ensure!(head.contains(&format!("\r\nContent-Length: {}\r\n", file.len)), "another length: {head}");
    let mut hash = Sha256::new();
    let copied = std::io::copy(&mut input.take(file.len), &mut hash)?;
    ensure!(copied == file.len, "{copied} of {} bytes", file.len);
    ensure!(<[u8; 32]>::from(hash.finalize()) == file.hash, "other bytes than the file's");
    Ok(())
}
