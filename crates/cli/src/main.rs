//! The `tidegate` command: reads what is wanted, puts the crates together, and ends with a clear status.
//!
//! What is here is order: attach, then serve, then give rights up, then wait, then drain. What is not here:
//! packets, protocols, system calls.
#![forbid(unsafe_code)]

mod args;
mod client;
mod daemon;
mod detach;
mod exit;
mod logs;
mod pipeline;
mod privileges;
mod serve;
mod signals;
mod stats;
mod supervisor;
mod testbed;

use args::{Cli, Command, DnsAction};
use serve::Asked;
use std::io::Write;
use std::process::ExitCode;

/// Tables are long, and read at random.
#[global_allocator]
static HEAP: tidegate_sys::heap::Heap = tidegate_sys::heap::Heap;

fn main() -> ExitCode {
    let cli = match args::parse() {
        Ok(cli) => cli,
        Err(status) => return status,
    };
    run(cli).unwrap_or_else(|error| exit::report(&error))
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {
        Command::Web(args) => serve::serve(Asked::Web(args))?,
        Command::Dns(args) => match &args.action {
            None => serve::serve(Asked::Dns(args))?,
            Some(DnsAction::Reload { zone, pid }) => stats::command::reload(zone.as_deref(), *pid)?,
        },
        Command::Serve(args) => serve::serve(Asked::Serve(args))?,
        Command::Daemon(args) => daemon::daemon(&args)?,
        Command::Run(args) => pipeline::run(&args)?,
        Command::Check(args) => say(&pipeline::check(&args)?)?,
        Command::Show(args) => client::show(&args)?,
        Command::Add(args) => client::add(&args)?,
        Command::Delete(args) => client::delete(&args)?,
        Command::Connect(args) => client::connect(&args)?,
        Command::Disconnect(args) => client::disconnect(&args)?,
        Command::Tell(args) => client::command(&args)?,
        Command::Pause(args) => client::pause(&args)?,
        Command::Resume(args) => client::resume(&args)?,
        Command::Reset(args) => client::reset(&args)?,
        Command::Service(args) => client::service(&args)?,
        Command::Mux(args) => client::mux(&args)?,
        Command::Monitor(args) => client::monitor(&args)?,
        Command::Top(args) => client::top(&args)?,
        Command::Graph(args) => client::graph(&args)?,
        Command::Capture(args) => client::capture(&args)?,
        Command::Stats(args) => stats::command::stats(&args)?,
        Command::Detach { dev, pins } => say(&detach::detach(&dev, &pins)?)?,
        Command::Testbed(args) => return testbed::testbed(&args.action),
        Command::Version => say(concat!("tidegate ", env!("CARGO_PKG_VERSION")))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn say(text: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}
