//! What may be typed, and what it means; not what is done about it.
//!
//! Invariant: whatever is wrong becomes one line on the error output that says what to type instead, and
//! exit status 2.

mod client;
mod hosted;
mod mistake;
mod mux;
mod pipeline;
mod service;
mod watch;

pub(crate) use client::{
    AddArgs, AddThing, CommandArgs, ConnectArgs, ConnectGates, DeleteArgs, DeleteThing, DisconnectArgs,
    PauseArgs, ResetArgs, Resettable, ShowArgs, Shown,
};
pub(crate) use hosted::{HostedAction, HostedArgs};
pub(crate) use mux::{GradeArg, MuxAction, MuxArgs, ProtocolArg, TupleArgs};
pub(crate) use pipeline::{CheckArgs, RunArgs};
pub(crate) use service::{
    AnswerModeArg, DnsAction, DnsArgs, GsoArg, IdleArg, KeyFormArg, LogFormatArg, ModeArg, PlaceArgs,
    ProcessArgs, ServeArgs, WebArgs, XdpModeArg, ZeroCopyArg, ZoneArg,
};
pub(crate) use watch::{CaptureArgs, Counted, GraphArgs, MonitorArgs, TopArgs};

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;
use tidegate_config::BitRate;

const EXAMPLES: &str = "\
Examples:
  tidegate web --root site                          serve ./site on a virtual NIC: curl http://10.77.0.2/
  tidegate web --root site --dev eth0 --listen 192.0.2.7:80
                                                    serve on eth0, whose address the host keeps
  tidegate dns --zone example.org.zone              answer for a zone there: dig @10.77.0.2 example.org
  tidegate serve --config tidegate.toml             all services of a configuration, in one process
  tidegate daemon                                   run pipelines that controllers build
  tidegate run examples/hello.tg                    run a pipeline that a text describes
  tidegate check router.tg                          is this pipeline, or a configuration, right?
  tidegate show modules; tidegate top               what a daemon runs, and how fast
  tidegate stats                                    what the running ones do
  tidegate detach eth0                              give eth0 back to the host alone";

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
    /// Answer DNS queries for zones
    Dns(Box<DnsArgs>),
    /// Run all services of a configuration file, in one process
    Serve(Box<ServeArgs>),
    /// Run pipelines that controllers build, BESS's among them
    #[command(after_help = DAEMON_EXAMPLES)]
    Daemon(DaemonArgs),
    /// Run a pipeline from a .tg file, here or in the running daemon
    Run(RunArgs),
    /// Say whether a configuration file or a pipeline is right
    Check(CheckArgs),
    /// Show what a daemon runs
    Show(ShowArgs),
    /// Add a module, port, traffic class, worker or connection
    Add(AddArgs),
    /// Delete one
    Delete(DeleteArgs),
    /// Connect an output gate to an input gate
    Connect(ConnectArgs),
    /// Take a connection away
    Disconnect(DisconnectArgs),
    /// Tell a module something, or ask it
    #[command(name = "command")]
    Tell(CommandArgs),
    /// Note that workers are to pause, as controllers of BESS do around changes
    Pause(PauseArgs),
    /// Take a pause back
    Resume(PauseArgs),
    /// Take away what controllers made
    Reset(ResetArgs),
    /// Start, stop, list or reload web and name servers in a daemon
    Service(HostedArgs),
    /// Keep addresses and ports for stacks of other processes, and see what these do
    Mux(MuxArgs),
    /// Print rates again and again
    Monitor(MonitorArgs),
    /// Watch rates on a screen
    Top(TopArgs),
    /// Draw the pipeline
    Graph(GraphArgs),
    /// Write what passes a gate to the standard output, as pcap
    Capture(CaptureArgs),
    /// Show what running services count
    Stats(StatsArgs),
    /// Take Tidegate's program off a network interface
    Detach {
        /// The interface
        dev: String,
        /// Where the daemon pinned it
        #[arg(long, value_name = "DIR", default_value = tidegate_bpf::PIN_ROOT)]
        pins: PathBuf,
    },
    /// Make, remove or enter the network namespaces that tests and benches use
    Testbed(TestbedArgs),
    /// Print the version
    Version,
}

const DAEMON_EXAMPLES: &str = "\
Examples:
  tidegate daemon                                   controllers find it at 127.0.0.1:10514, as they do BESS
  tidegate daemon --socket /run/tidegate/control    and on a Unix socket, for its owner alone
  tidegate daemon --mux                             give addresses and ports to stacks of other processes: tidegate mux
  tidegate daemon --web 127.0.0.1:8080              and a page with the live graph: http://127.0.0.1:8080/
  bessctl daemon connect; bessctl run my_pipeline   what a controller of BESS then does";

/// Flags of `tidegate daemon`.
#[derive(Clone, Debug, Args)]
pub(crate) struct DaemonArgs {
    /// The address to listen on; port 0 for any that is free
    #[arg(long, value_name = "ADDR", default_value_t = tidegate_control::LISTEN_DEFAULT)]
    pub(crate) listen: std::net::SocketAddr,
    /// A Unix socket to listen on too
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Let the address be one that others reach: whoever does commands the daemon
    #[arg(long)]
    pub(crate) allow_remote: bool,
    /// Show the graph and its rates on a web page there, on the loopback only
    #[arg(long, value_name = "ADDR")]
    pub(crate) web: Option<std::net::SocketAddr>,
    /// Serve counters to Prometheus at this address of the host
    #[arg(long, value_name = "ADDR")]
    pub(crate) metrics: Option<std::net::SocketAddr>,
    /// Give NICs' addresses and ports to stacks of other processes, which ask at this Unix socket
    #[arg(long, value_name = "PATH", num_args = 0..=1, default_missing_value = tidegate_mux::server::SOCKET_PATH)]
    pub(crate) mux: Option<PathBuf>,
    /// Pin what stacks need while no daemon runs there, in a bpf file system; each daemon needs a directory of its own
    #[arg(long, value_name = "DIR", requires = "mux", default_value = tidegate_bpf::PIN_ROOT)]
    pub(crate) pins: PathBuf,
    /// How much each of these stacks may send a second, such as 100Mbit or 12MB; what is more is dropped. Those that have a
    /// queue of a NIC to themselves are not held back
    #[arg(long, value_name = "RATE", requires = "mux")]
    pub(crate) rate: Option<BitRate>,
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

/// Reads the command line; what is to be printed instead of going on (help, a mistake) is printed here.
pub(crate) fn parse() -> Result<Cli, ExitCode> {
    Cli::try_parse().map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A reader that went away has seen enough.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("tidegate: {}", mistake::one_line(&error));
            ExitCode::from(crate::exit::WRONG_INPUT)
        }
    })
}
