//! What may be typed about web and name servers that a daemon runs beside pipelines.

use super::client::AddressArg;
use clap::{Args, Subcommand};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  tidegate service start tidegate.toml              what tidegate serve --config would run, beside what the daemon runs
  tidegate service start site.toml --name site --worker 0
                                                    on a worker that runs a pipeline already
  tidegate service list
  tidegate service reload site --zone example.org   read a zone's file again
  tidegate service stop site --drain 2000           two seconds for connections to finish";

/// Flags of `tidegate service`.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct HostedArgs {
    #[command(subcommand)]
    pub(crate) action: HostedAction,
    #[command(flatten)]
    pub(crate) address: AddressArg,
}

/// What to do about them.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum HostedAction {
    /// Start the servers of a configuration
    Start {
        /// The configuration, as tidegate serve takes it; relative paths in it are relative to its directory
        config: PathBuf,
        /// What to call it; without it service0, service1...
        #[arg(long)]
        name: Option<String>,
        /// A worker to run it on beside what that runs; once for each. Without it, workers of its own
        #[arg(long = "worker", value_name = "WID")]
        workers: Vec<u32>,
    },
    /// End one, and wait until it is gone
    Stop {
        /// Its name
        name: String,
        /// Milliseconds that connections may take to finish; without it what its configuration says
        #[arg(long, value_name = "MS")]
        drain: Option<u32>,
    },
    /// Show all
    List {
        /// Print JSON, as the protocol names it
        #[arg(long)]
        json: bool,
    },
    /// Read zone files again
    Reload {
        /// A service; without it all
        name: Option<String>,
        /// A zone; without it all
        #[arg(long)]
        zone: Option<String>,
    },
}
