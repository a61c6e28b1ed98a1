//! What may be typed, and what it means; not what is done about it.
//!
//! Invariant: whatever is wrong becomes one line on the error output that says what to type instead, and
//! exit status 2.

use clap::error::{ContextKind, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use tidegate_web::config::{ByteSize, Span};

const EXAMPLES: &str = "\
Examples:
  tidegate web --root site                          serve ./site on a virtual NIC: curl http://10.77.0.2/
  tidegate web --root site --dev eth0 --listen 192.0.2.7:80
                                                    serve on eth0, whose address the host keeps
  tidegate check tidegate.toml                      is this configuration right?
  tidegate stats                                    what the running ones do
  tidegate detach eth0                              give eth0 back to the host alone";

const WEB_EXAMPLES: &str = "\
Examples:
  tidegate web --root site
  tidegate web --root site --dev eth0 --listen 192.0.2.7:80 --listen [2001:db8::7]:80
  tidegate web --config /etc/tidegate.toml --mode memcopy --memory 2G
  tidegate web --root site --idle poll --workers 4 --access-log /var/log/tidegate.log --metrics 127.0.0.1:9100";

/// Serves requests past the host's network stack, beside it, on a stock Linux kernel.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve a directory of files over HTTP
    Web(Box<WebArgs>),
    /// Say whether a configuration file is right
    Check {
        /// The configuration file, in TOML
        file: PathBuf,
    },
    /// Show what running services count
    Stats(StatsArgs),
    /// Take Tidegate's program off a network interface
    Detach {
        /// The interface
        dev: String,
    },
    /// Make, remove or enter the network namespaces that tests and benches use
    Testbed(TestbedArgs),
    /// Print the version
    Version,
}

/// Flags of `tidegate web`. What is absent is taken from the configuration file, then from the defaults.
#[derive(Clone, Debug, Args)]
#[command(after_help = WEB_EXAMPLES)]
pub(crate) struct WebArgs {
    /// The directory to serve
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Serve on this interface, whose addresses the host keeps (default: a virtual NIC of its own)
    #[arg(long, value_name = "IF")]
    pub(crate) dev: Vec<String>,
    /// An address of one of the interfaces, and a port
    #[arg(long, value_name = "IP:PORT")]
    pub(crate) listen: Vec<SocketAddr>,
    /// A configuration file, in TOML; flags win over it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How ready packets are kept: posted as they are, or cloned into fresh frames
    #[arg(long, value_enum)]
    pub(crate) mode: Option<ModeArg>,
    /// How much memory ready packets may take, such as 512M or 4G
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<ByteSize>,
    /// Threads that serve, each pinned to a processor (default: one a receive queue, at most one a processor)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) workers: Option<u16>,
    /// What a worker does when there is nothing to do
    #[arg(long, value_enum)]
    pub(crate) idle: Option<IdleArg>,
    /// The most frames taken from a queue at a time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    pub(crate) batch: Option<u16>,
    /// Have the workers poll the driver for so many microseconds, its interrupts being off
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) busy_poll: Option<u32>,
    /// Where the XDP program runs
    #[arg(long, value_enum)]
    pub(crate) xdp_mode: Option<XdpModeArg>,
    /// Whether the NIC reads and writes Tidegate's memory itself
    #[arg(long, value_enum)]
    pub(crate) zero_copy: Option<ZeroCopyArg>,
    /// Write an access log in the combined format; SIGHUP opens it anew
    #[arg(long, value_name = "FILE")]
    pub(crate) access_log: Option<PathBuf>,
    /// Answer Prometheus there, on the host's stack
    #[arg(long, value_name = "IP:PORT")]
    pub(crate) metrics: Option<SocketAddr>,
    /// How Tidegate's own messages are written
    #[arg(long, value_enum)]
    pub(crate) log_format: Option<LogFormatArg>,
    /// Run as this user once everything is set up
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,
    /// The virtual NIC without --dev: tidegateN has the addresses 10.77.N.1 and fd77:0:0:N::1
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// How long to go on with responses under way after SIGTERM, such as 10s (the default) or 500ms
    #[arg(long, value_name = "SPAN")]
    pub(crate) drain: Option<Span>,
    /// Keep all rights after set-up: for debugging
    #[arg(long)]
    pub(crate) no_sandbox: bool,
    /// Damage traffic on purpose, such as loss=1%: for tests
    #[arg(long, value_name = "FAULTS", hide = true)]
    pub(crate) impair: Option<String>,
}

/// Flags of `tidegate stats`.
#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Print the counters as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The process to ask, where several run
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
}

/// Flags of `tidegate testbed`.
#[derive(Debug, Args)]
pub(crate) struct TestbedArgs {
    #[command(subcommand)]
    pub(crate) action: TestbedAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TestbedAction {
    /// Make the namespaces and the veth pair between them
    Up {
        /// The name of the testbed
        #[arg(long, default_value = "bed")]
        name: String,
    },
    /// Remove them
    Down {
        /// The name of the testbed
        #[arg(long, default_value = "bed")]
        name: String,
    },
    /// Run a command in one of the namespaces
    Exec {
        /// The name of the testbed
        #[arg(long, default_value = "bed")]
        name: String,
        /// Which end
        #[arg(value_enum)]
        end: TestbedEnd,
        /// The command and its arguments
        #[arg(trailing_var_arg = true, required = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TestbedEnd {
    /// The end that serves
    Server,
    /// The end that asks
    Client,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// Ready packets are sent as they are; copies are made on demand
    PreCopy,
    /// One copy is kept and cloned for each sending
    Memcopy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IdleArg {
    /// Look again at once: lowest latency, one processor burnt
    Poll,
    /// Look again for a moment, then sleep
    Adaptive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum XdpModeArg {
    /// In the driver, or where it refuses, generic
    Auto,
    /// In the driver or not at all
    Native,
    /// In the network core, on any driver
    Generic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ZeroCopyArg {
    /// Where the driver can
    Auto,
    /// Or do not start
    #[value(alias = "require")]
    On,
    /// The kernel copies
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormatArg {
    /// A line of words
    Text,
    /// A JSON object a line
    Json,
}

/// Reads the command line; what is to be printed instead of going on (help, a mistake) is printed here.
pub(crate) fn parse() -> Result<Cli, ExitCode> {
    Cli::try_parse().map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A reader that went away has seen enough.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("tidegate: {}", one_line(&error));
            ExitCode::from(crate::exit::WRONG_INPUT)
        }
    })
}

/// clap's message without its layout: what is wrong, what it suggests, and where to read on.
fn one_line(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return format!("no command given: type one of {}, or see tidegate --help", commands().join(", "));
    }
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n");
    let wrong = paragraphs.next().unwrap_or_default().trim_start_matches("error: ");
    let wrong = wrong.split_whitespace().collect::<Vec<_>>().join(" ");
    let tip = paragraphs.find_map(|p| p.trim().strip_prefix("tip: ").map(str::to_owned));
    let tip = tip.map(|tip| format!(" ({})", tip.trim())).unwrap_or_default();
    format!("{wrong}{tip}; see {} --help", asked_of(error))
}

fn commands() -> Vec<String> {
    Cli::command().get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

/// `tidegate web` where that was typed, `tidegate` otherwise.
fn asked_of(error: &clap::Error) -> String {
    let typed = std::env::args().nth(1).filter(|word| commands().contains(word));
    let known = error.get(ContextKind::InvalidSubcommand).is_none();
    typed.filter(|_| known).map_or("tidegate".into(), |command| format!("tidegate {command}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    fn complaint(words: &[&str]) -> String {
        one_line(&Cli::try_parse_from(words).expect_err("wrong on purpose"))
    }

    #[test]
    fn mistakes_are_one_line_that_names_them() {
        for (words, named) in [
            (&["tidegate"][..], "type one of web, check"),
            (&["tidegate", "wbe"], "'wbe'"),
            (&["tidegate", "web", "--rot", "x"], "'--root'"),
            (&["tidegate", "web", "--listen", "here"], "'here'"),
            (&["tidegate", "web", "--memory", "lots"], "512MiB"),
            (&["tidegate", "web", "--batch", "999"], "1..=512"),
        ] {
            let complaint = complaint(words);
            assert!(complaint.contains(named) && complaint.contains("--help"), "{complaint}");
            assert!(!complaint.contains('\n'), "{complaint}");
        }
    }
}
