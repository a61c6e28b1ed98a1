//! `make bench-vxlan`: TCP through VXLAN between two hosts, by Tidegate's modules and by the kernel's own vxlan device, with
//! and without segmentation and receive offload: Gbit/s per processor, in the shape of the table of S. Han's *System Design for
//! Software Packet Processing* (2019), 6.1.
//!
//! ```text
//!    client, CPU 0                                                     server, CPU 1
//!    iperf3 - kernel TCP - inner0 - [tunnel] - client0 = veth = server0 - [tunnel] - inner0 - kernel TCP - iperf3
//!
//!    [tunnel]   kernel:    inner0 is a vxlan device on client0 or server0
//!               tidegate:  inner0 is a TAP device; tap -> tso -> vxlan, ip, ether encap -> AF_XDP on client0 or server0
//!                                                  tap <- lro <- vxlan_decap <----------------
//! ```
//! The cable is a veth pair that takes frames of at most its MTU, with a checksum: a NIC that knows nothing of tunnels. Over
//! it every frame costs whoever sends and receives what a socket buffer costs; `memif` takes the cable's place for a row in
//! which frames cross as they do to a NIC that user space drives.

mod kernel;
mod report;
mod tunnel;
mod turn;

use std::path::PathBuf;

use anyhow::Context;
use tidegate_testbed::{Layout, Testbed};

use self::report::{Report, Row};
use self::tunnel::{Cable, Tunnel};
use self::turn::{Turn, measure};
use crate::machine::Machine;
use crate::results;

/// Options of the bench.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// Only rows whose name has this in it
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Turns of which the median is quoted
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99))]
    runs: u32,
    /// Seconds a row and turn
    #[arg(long, value_name = "S", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// TCP connections at once
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=128))]
    streams: u32,
    /// Microseconds that a segment waits for more of its flow at most
    #[arg(long, value_name = "US", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=1000))]
    hold_us: u64,
    /// Where vxlan.json and vxlan.md go (default: nowhere)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Who makes the tunnel.
#[derive(Clone, Copy, Debug)]
enum System {
    Kernel,
    Tidegate(Cable),
}

/// The rows: a name, who, and whether with offloads.
const ROWS: [(&str, System, bool); 5] = [
    ("Linux, without TSO and LRO", System::Kernel, false),
    ("Linux, with (GSO, GRO)", System::Kernel, true),
    ("Tidegate, without TSO and LRO", System::Tidegate(Cable::Veth), false),
    ("Tidegate, with", System::Tidegate(Cable::Veth), true),
    ("Tidegate over memif, with", System::Tidegate(Cable::Memif), true),
];

/// Runs the bench, and prints its tables.
#[allow(clippy::print_stdout)] // its figures are what a bench is for
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let wanted: Vec<_> = ROWS.iter().filter(|(name, ..)| name.contains(&args.only)).collect();
    let mut turns: Vec<Vec<Turn>> = vec![Vec::new(); wanted.len()];
    for _ in 0..args.runs {
        for ((name, system, has_offloads), turns) in wanted.iter().zip(&mut turns) {
            turns.push(turn(*system, *has_offloads, args).with_context(|| name.to_string())?);
        }
    }
    let rows = wanted.iter().zip(&turns).map(|((name, ..), turns)| Row::of(name, turns)).collect();
    let machine = Machine::describe(&[("iperf3", "iperf3".as_ref(), "--version")]);
    let report = Report { machine, runs: args.runs, seconds: args.seconds, streams: args.streams, rows };
    let table = report.table();
    print!("{table}");
    match &args.out {
        Some(out) => results::write_table(out, "vxlan", &report, &table),
        None => Ok(()),
    }
}

fn turn(system: System, has_offloads: bool, args: &Args) -> anyhow::Result<Turn> {
    let bed = Testbed::new(&Layout::default())?;
    match system {
        System::Kernel => {
            kernel::set_up(&bed, has_offloads)?;
            measure(&bed, [None, None], args)
        }
        System::Tidegate(cable) => {
            let tunnel = Tunnel::dig(&bed, cable, has_offloads, args.hold_us)?;
            let turn = measure(&bed, tunnel.threads().map(Some), args);
            tunnel.fill_in();
            turn
        }
    }
}
