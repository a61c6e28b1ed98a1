//! Prints what the XDP program costs a frame: `cargo run --release -p tidegate-bpf --example test_run`.
//!
//! The kernel runs it over golden packets (BPF_PROG_TEST_RUN) and states the mean, here the least of several
//! rounds. The cost of the receive path around it, and of a redirect's other half, is not in the figure. The
//! queue has no socket, so a steered frame's row shows the whole decision and ends in a pass. The last rows are frames for
//! and from stacks that have a veth, by the number of stacks that are registered; their device is the loopback's.

use std::fs;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use tidegate_bpf::{LoadOptions, Nic, Steering, TestRun, Tuple, WayOut, XdpProgram};
use tidegate_wire::MacAddr;

const REPEAT_COUNT: u32 = 1_000_000;
const ROUND_COUNT: usize = 5;

const STACK_COUNTS: [u32; 5] = [1, 8, 64, 254, 1024];
const FIRST_PORT: u16 = 10_000;
const LOOPBACK: u32 = 1;
const NIC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
/// Where the TCP header of an IPv4 frame begins.
const TCP_AT: usize = 34;

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
        program.register(Tuple::tcp(address.parse::<IpAddr>()?, port), Steering::Socket)?;
    }
    program.register(Tuple::udp("192.0.2.1".parse()?, 53), Steering::Socket)?;
    let mut out = io::stdout().lock();
    for name in PACKETS {
        let frame = read_packet(name)?;
        writeln!(out, "{name:24} {:>4} ns", least(|| program.test_run(&frame, REPEAT_COUNT))?)?;
    }
    program.own_device(true)?;
    writeln!(out, "{:24} {:>4} ns", "own device", least(|| program.test_run(&[0; 60], REPEAT_COUNT))?)?;
    stacks(&mut out)
}

/// Frames for and from the last of many stacks; what it sends is redirected by XDP, as the mark of the other way is made for one
/// run only.
fn stacks(out: &mut impl Write) -> Result<(), Box<dyn std::error::Error>> {
    writeln!(out, "{:24} {:>7} {:>7}", "stacks", "to", "from")?;
    for count in STACK_COUNTS {
        let program = XdpProgram::load(&LoadOptions::default())?;
        program.set_nic(&Nic { ifindex: LOOPBACK, mac: NIC, mtu: 1500, way_out: WayOut::Xdp })?;
        let address: IpAddr = "192.0.2.1".parse()?;
        for slot in 0..count {
            program.register(Tuple::tcp(address, FIRST_PORT + slot as u16), Steering::Device { slot })?;
            program.set_device(slot, LOOPBACK)?;
        }
        let last = count - 1;
        program.give_device(last, LOOPBACK)?;
        let frame = read_packet("ipv4-tcp-registered")?;
        let port = (FIRST_PORT + last as u16).to_be_bytes();
        let (mut to, mut from) = (frame.clone(), frame);
        to[TCP_AT + 2..TCP_AT + 4].copy_from_slice(&port);
        from[6..12].copy_from_slice(&NIC.0);
        from[..6].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
        from[26..30].copy_from_slice(&[192, 0, 2, 1]);
        from[TCP_AT..TCP_AT + 2].copy_from_slice(&port);
        let to = least(|| program.test_run(&to, REPEAT_COUNT))?;
        let from = least(|| program.test_run_egress(&from, REPEAT_COUNT))?;
        writeln!(out, "{count:24} {to:>4} ns {from:>4} ns")?;
    }
    Ok(())
}

/// The least of several means, in nanoseconds.
fn least(mut run: impl FnMut() -> io::Result<TestRun>) -> io::Result<u128> {
    let mut least = Duration::MAX;
    for _ in 0..ROUND_COUNT {
        least = least.min(run()?.duration);
    }
    Ok(least.as_nanos())
}

fn read_packet(name: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name).with_extension("hex");
    let text = fs::read_to_string(path)?;
    let lines = text.lines().filter(|line| !line.contains(['#', ':']));
    let bytes = lines.flat_map(str::split_whitespace).map(|byte| u8::from_str_radix(byte, 16));
    Ok(bytes.collect::<Result<_, _>>()?)
}
