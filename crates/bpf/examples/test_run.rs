//! Prints what the XDP program costs a frame: `cargo run --release -p tidegate-bpf --example test_run`.
//!
//! The kernel runs it over golden packets (BPF_PROG_TEST_RUN) and states the mean, here the least of several
//! rounds. The cost of the receive path around it, and of a redirect's other half, is not in the figure. The
//! queue has no socket, so a steered frame's row shows the whole decision and ends in a pass.

use std::fs;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use tidegate_bpf::{LoadOptions, Tuple, Verdict, XdpProgram};

const REPEAT_COUNT: u32 = 1_000_000;
const ROUND_COUNT: usize = 5;

const PACKETS: [&str; 11] = [
    "arp",
    "ipv4-tcp-registered",
    "ipv4-tcp-wildcard",
    "ipv4-tcp-other-port",
    "ipv4-udp-registered",
    "ipv4-icmp-frag-needed",
    "ipv4-other-protocol",
    "qinq-tcp-registered",
    "ipv6-tcp-registered",
    "ipv6-tcp-other-port",
    "ipv6-packet-too-big",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = XdpProgram::load(&LoadOptions::default())?;
    for (address, port) in [("192.0.2.1", 80), ("2001:db8::1", 80), ("0.0.0.0", 8080)] {
        program.register(Tuple::tcp(address.parse::<IpAddr>()?, port), Verdict::Socket)?;
    }
    program.register(Tuple::udp("192.0.2.1".parse()?, 53), Verdict::Socket)?;
    let mut out = io::stdout().lock();
    for name in PACKETS {
        let frame = read_packet(name)?;
        writeln!(out, "{name:24} {:>4} ns", least(&program, &frame)?.as_nanos())?;
    }
    program.own_device(true)?;
    writeln!(out, "{:24} {:>4} ns", "own device", least(&program, &[0; 60])?.as_nanos())?;
    Ok(())
}

fn least(program: &XdpProgram, frame: &[u8]) -> io::Result<Duration> {
    let mut least = Duration::MAX;
    for _ in 0..ROUND_COUNT {
        least = least.min(program.test_run(frame, REPEAT_COUNT)?.duration);
    }
    Ok(least)
}

fn read_packet(name: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name).with_extension("hex");
    let text = fs::read_to_string(path)?;
    let lines = text.lines().filter(|line| !line.contains(['#', ':']));
    let bytes = lines.flat_map(str::split_whitespace).map(|byte| u8::from_str_radix(byte, 16));
    Ok(bytes.collect::<Result<_, _>>()?)
}
