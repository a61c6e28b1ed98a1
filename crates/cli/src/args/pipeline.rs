//! What may be typed to check and run pipelines from files.

use super::DaemonArgs;
use clap::Args;
use std::path::PathBuf;

const RUN_EXAMPLES: &str = "\
Examples:
  tidegate run examples/hello.tg                    run a pipeline here, until Ctrl-C; no daemon is needed
  tidegate run router.tg --listen 127.0.0.1:0       the same, for controllers at any free port
  tidegate run router.tg --daemon                   put it in the place of what the running daemon runs
  tidegate run router.tg --address unix:/run/tidegate/control
                                                    the same, in the daemon behind that socket";

const CHECK_EXAMPLES: &str = "\
Examples:
  tidegate check tidegate.toml                      is this configuration right?
  tidegate check router.tg                          would this pipeline run?
  tidegate check router.tg --daemon                 and what would it change in the running daemon?";

/// Whether a daemon is asked, and where it is.
#[derive(Clone, Debug, Args)]
pub(crate) struct MaybeDaemonArgs {
    /// Ask the running daemon at 127.0.0.1:10514
    #[arg(long)]
    daemon: bool,
    /// Ask the running daemon at ADDRESS:PORT, or unix:PATH
    #[arg(long, value_name = "ADDR")]
    address: Option<String>,
}

impl MaybeDaemonArgs {
    /// The daemon to ask, if one is to be asked.
    pub(crate) fn address(&self) -> Option<String> {
        named(self.daemon, self.address.as_ref())
    }
}

/// Flags of `tidegate run`.
#[derive(Clone, Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// The pipeline, as docs/specs/tg.md describes it
    pub(crate) file: PathBuf,
    /// Put it in the place of what the daemon at 127.0.0.1:10514 runs
    #[arg(long, conflicts_with_all = ["listen", "socket", "allow_remote", "web", "mux"])]
    daemon: bool,
    /// Put it in the place of what the daemon at ADDRESS:PORT, or unix:PATH, runs
    #[arg(long, value_name = "ADDR", conflicts_with_all = ["listen", "socket", "allow_remote", "web", "mux"])]
    address: Option<String>,
    #[command(flatten)]
    pub(crate) here: DaemonArgs,
}

impl RunArgs {
    /// The daemon to put it into, if one is named.
    pub(crate) fn address(&self) -> Option<String> {
        named(self.daemon, self.address.as_ref())
    }
}

fn named(is_usual: bool, address: Option<&String>) -> Option<String> {
    address.cloned().or_else(|| is_usual.then(|| tidegate_control::LISTEN_DEFAULT.to_string()))
}

/// Flags of `tidegate check`.
#[derive(Clone, Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub(crate) struct CheckArgs {
    /// A configuration in TOML, or a pipeline in a file that ends in .tg
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) daemon: MaybeDaemonArgs,
}
