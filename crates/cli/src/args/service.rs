//! Flags of the commands that serve.
//!
//! What is absent is taken from the configuration file, then from the defaults.

use clap::{Args, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use tidegate_config::{ByteSize, Span};

const WEB_EXAMPLES: &str = "\
Examples:
  tidegate web --root site
  tidegate web --root site --dev eth0 --listen 192.0.2.7:80 --listen [2001:db8::7]:80
  tidegate web --config /etc/tidegate.toml --mode memcopy --memory 2G
  tidegate web --root site --idle poll --workers 4 --access-log /var/log/tidegate.log --metrics 127.0.0.1:9100";

const DNS_EXAMPLES: &str = "\
Examples:
  tidegate dns --zone example.org.zone              then: dig @10.77.0.2 example.org SOA
  tidegate dns --zone example.org=db.example --dev eth0 --listen 192.0.2.7:53 --listen [2001:db8::7]:53
  tidegate dns --config /etc/tidegate.toml --keys decompressed --memory 2G --query-log /var/log/queries
  tidegate dns reload                               read all zone files again, in every running server
  tidegate dns reload example.org";

const SERVE_EXAMPLES: &str = "\
Examples:
  tidegate serve --config /etc/tidegate.toml
  tidegate serve --config /etc/tidegate.toml --workers 4 --metrics 127.0.0.1:9100";

/// Flags of `tidegate web`.
#[derive(Clone, Debug, Args)]
#[command(after_help = WEB_EXAMPLES)]
pub(crate) struct WebArgs {
    /// The directory to serve
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// How ready packets are kept: posted as they are, or cloned into fresh frames
    #[arg(long, value_enum)]
    pub(crate) mode: Option<ModeArg>,
    /// How much memory ready packets may take, such as 512M or 4G
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<ByteSize>,
    /// The congestion control of its connections: cubic, newreno or bbr
    #[arg(long, value_name = "NAME")]
    pub(crate) congestion: Option<String>,
    /// Write an access log in the combined format; SIGHUP opens it anew
    #[arg(long, value_name = "FILE")]
    pub(crate) access_log: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) process: ProcessArgs,
}

/// Flags of `tidegate dns`.
#[derive(Clone, Debug, Args)]
#[command(after_help = DNS_EXAMPLES, args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(crate) struct DnsArgs {
    #[command(subcommand)]
    pub(crate) action: Option<DnsAction>,
    /// A zone file, alone where the owner of its SOA record is the zone's name
    #[arg(long, value_name = "[NAME=]FILE")]
    pub(crate) zone: Vec<ZoneArg>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// How ready answers get into frames
    #[arg(long, value_enum)]
    pub(crate) mode: Option<AnswerModeArg>,
    /// What ready answers are found by
    #[arg(long, value_enum, value_name = "FORM")]
    pub(crate) keys: Option<KeyFormArg>,
    /// How much memory ready answers and their index may take, such as 512M or 4G
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<ByteSize>,
    /// Who this server is, for those who ask (NSID, id.server)
    #[arg(long, value_name = "TEXT")]
    pub(crate) nsid: Option<String>,
    /// The most like answers a second to one network (0: no limit)
    #[arg(long, value_name = "RATE")]
    pub(crate) rrl: Option<u32>,
    /// Log queries; SIGHUP opens the file anew
    #[arg(long, value_name = "FILE")]
    pub(crate) query_log: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) process: ProcessArgs,
}

/// What running name servers can be told.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum DnsAction {
    /// Have running name servers read their zone files again
    Reload {
        /// This zone only
        zone: Option<String>,
        /// The process to tell, where several run
        #[arg(long, value_name = "PID")]
        pid: Option<u32>,
    },
}

/// Flags of `tidegate serve`.
#[derive(Clone, Debug, Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct ServeArgs {
    /// The configuration file, in TOML; flags win over it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    #[command(flatten)]
    pub(crate) process: ProcessArgs,
}

/// Where one service is, and where its settings come from.
#[derive(Clone, Debug, Args)]
pub(crate) struct PlaceArgs {
    /// Serve on this interface, whose addresses the host keeps (default: a virtual NIC of its own)
    #[arg(long, value_name = "IF")]
    pub(crate) dev: Vec<String>,
    /// An address of one of the interfaces, and a port
    #[arg(long, value_name = "IP:PORT")]
    pub(crate) listen: Vec<SocketAddr>,
    /// A configuration file, in TOML; flags win over it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// How the process runs, whatever it serves.
#[derive(Clone, Debug, Args)]
pub(crate) struct ProcessArgs {
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
    /// Who cuts large responses into segments, where the kernel copies frames anyway
    #[arg(long, value_enum)]
    pub(crate) gso: Option<GsoArg>,
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
    /// How long to go on with what is under way after SIGTERM, such as 10s (the default) or 500ms
    #[arg(long, value_name = "SPAN")]
    pub(crate) drain: Option<Span>,
    /// Keep all rights after set-up: for debugging
    #[arg(long)]
    pub(crate) no_sandbox: bool,
    /// Damage traffic on purpose, such as loss=1%: for tests
    #[arg(long, value_name = "FAULTS", hide = true)]
    pub(crate) impair: Option<String>,
}

/// `FILE` or `NAME=FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ZoneArg {
    /// The zone's name. None: the owner of its SOA record.
    pub(crate) name: Option<String>,
    pub(crate) file: PathBuf,
}

impl FromStr for ZoneArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, file) = match text.split_once('=') {
            Some((name, file)) => (Some(name), file),
            None => (None, text),
        };
        if file.is_empty() || name.is_some_and(str::is_empty) {
            return Err("write FILE or NAME=FILE, such as example.org=example.org.zone".into());
        }
        Ok(Self { name: name.map(str::to_owned), file: file.into() })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnswerModeArg {
    /// Written behind the question, in the frame that it came in
    InPlace,
    /// Copied into a fresh frame
    Memcopy,
    /// Kept in frames that are sent as they are
    PreCopy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyFormArg {
    /// The name as it lies in the query
    Wire,
    /// The name copied out label by label
    Decompressed,
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
pub(crate) enum GsoArg {
    /// The kernel or the NIC (generic segmentation offload)
    Auto,
    /// Tidegate, frame by frame
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormatArg {
    /// A line of words
    Text,
    /// A JSON object a line
    Json,
}
