//! `tidegate-bench`: Tidegate against its peers and against itself, everything in one run on one machine.
//!
//! It prints ratios and writes results with the facts of the machine; it never asserts a time. One module a
//! bench: [`web`] is the web server against nginx and h2o under kernel clients, [`dns`] the name server against NSD,
//! Knot and BIND; [`memory`] and [`dns_memory`] are the two under our own clients with no kernel between them.
#![forbid(unsafe_code)]

mod binary;
mod bodies;
mod churn;
mod client;
mod device;
mod dns;
mod dns_memory;
mod flood;
mod idle;
mod in_memory;
mod load;
mod machine;
mod memory;
mod mux;
mod pipeline;
mod plot;
mod rates;
mod results;
mod served;
mod statistics;
mod stream;
mod syscalls;
mod terms;
mod vxlan;
mod web;
mod wire;
mod yardstick;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Benches of Tidegate against its peers
#[derive(Debug, Parser)]
#[command(name = "tidegate-bench", version)]
struct Args {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// Tidegate, nginx and h2o serve the same files to the same client, in turns
    Web(web::Args),
    /// Tidegate, NSD, Knot (with and without its XDP mode) and BIND serve the same zones to the same clients, in turns
    Dns(dns::Args),
    /// Ten thousand files and a huge one, each checked by its SHA-256, over a good wire and a bad one
    Bodies(bodies::Args),
    /// Our client, on a device that it takes over, asks a server and says what it saw
    Client(client::Args),
    /// A graph that is changed all the time under full load: what is lost, overtaken or leaked, which must be nothing
    Churn(churn::Args),
    /// A SYN flood beside a normal client: what the client keeps of its rate, and the server of its memory
    Flood(flood::Args),
    /// Connections that are open and silent: what one costs the server in memory
    Idle(idle::Args),
    /// Our client and our server joined in memory, without a kernel: what the stack alone costs
    Memory(memory::Args),
    /// The same for the name server: what an answer costs
    DnsMemory(dns_memory::Args),
    /// Many stacks on one NIC: what finding the right one and checking what they send costs
    Mux(mux::Args),
    /// What the pipeline's modules cost, without a kernel
    Pipeline(pipeline::Args),
    /// How exactly the rate limiter keeps rates, and how evenly it spaces packets
    Rates(rates::Args),
    /// One bulk stream over a wire that loses: our TCP and the kernel's
    Stream(stream::Args),
    /// TCP through VXLAN: our segmentation and receive offload, and the kernel's
    Vxlan(vxlan::Args),
}

/// Tables are long, and read at random.
#[global_allocator]
static HEAP: tidegate_sys::heap::Heap = tidegate_sys::heap::Heap;

fn main() -> ExitCode {
    let Args { bench } = Args::parse();
    let outcome = match bench {
        Bench::Web(args) => web::run(&args),
        Bench::Dns(args) => dns::run(&args),
        Bench::Bodies(args) => bodies::run(&args),
        Bench::Client(args) => client::run(&args),
        Bench::Churn(args) => churn::run(&args),
        Bench::Flood(args) => flood::run(&args),
        Bench::Idle(args) => idle::run(&args),
        Bench::Memory(args) => memory::run(&args),
        Bench::Mux(args) => mux::run(&args),
        Bench::Pipeline(args) => pipeline::run(&args),
        Bench::Rates(args) => rates::run(&args),
        Bench::Stream(args) => stream::run(&args),
        Bench::Vxlan(args) => vxlan::run(&args),
        Bench::DnsMemory(args) => dns_memory::run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tidegate-bench: {error:#}");
            ExitCode::from(2)
        }
    }
}
