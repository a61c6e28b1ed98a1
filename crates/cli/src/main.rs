//! The `tidegate` command: reads what is wanted, puts the crates together, and ends with a clear status.
//!
//! What is here is order: attach, then serve, then give rights up, then wait, then drain. What is not here:
//! packets, protocols, system calls.
#![forbid(unsafe_code)]

mod args;
mod daemon;
mod detach;
mod exit;
mod logs;
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
        Command::Check { file } => say(&serve::check(&file)?)?,
        Command::Stats(args) => stats::command::stats(&args)?,
        Command::Detach { dev } => say(&detach::detach(&dev)?)?,
        Command::Testbed(args) => return testbed::testbed(&args.action),
        Command::Version => say(concat!("tidegate ", env!("CARGO_PKG_VERSION")))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn say(text: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}
