//! What may be typed to a daemon that runs: look and change.

use clap::{Args, Subcommand, ValueEnum};

const SHOW_EXAMPLES: &str = "\
Examples:
  tidegate show                                     what the daemon is and how much it runs
  tidegate show modules                             every module, with what passed it
  tidegate show modules q                           one module: gates, hooks, attributes
  tidegate show pipeline > now.tg                   what runs, as text that tidegate run takes back
  tidegate show mclasses Queue                      a module class: its arguments and commands
  tidegate show ports --json | jq '.[].name'";

const ADD_EXAMPLES: &str = "\
Examples:
  tidegate add port PMDPort p0 vdev=net_null0
  tidegate add module PortInc in port=p0
  tidegate add module Queue q size=64 prefetch=true
  tidegate add module Sink                          a name is made up and printed
  tidegate add connection in:0 q
  tidegate add worker 1 core=1
  tidegate add class rate_limit slow resource=bit limit=10M
  tidegate delete module q";

const CONNECT_EXAMPLES: &str = "\
Examples:
  tidegate connect src q                            output gate 0 of src to input gate 0 of q
  tidegate connect split:3 1:merge                  output gate 3 to input gate 1
  tidegate connect split:4 slow_way --class slow    what comes after is done when class slow is scheduled
  tidegate connect acl out --class vm1=bulk         the same, for packets of class vm1 only
  tidegate disconnect split:3";

const COMMAND_EXAMPLES: &str = "\
Examples:
  tidegate command q get_status
  tidegate command q set_size size=256
  tidegate command routes add prefix=10.0.0.0 prefix_len=8 gate=1
  tidegate command em add 'fields=[0x0800]' gate=2
  tidegate show mclasses IPLookup                   which commands there are";

/// Where the daemon is.
#[derive(Clone, Debug, Args)]
pub(crate) struct AddressArg {
    /// Where the daemon is: ADDRESS:PORT, or unix:PATH
    #[arg(long, global = true, value_name = "ADDR", default_value_t = tidegate_control::LISTEN_DEFAULT.to_string())]
    pub(crate) address: String,
}

/// What can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shown {
    /// The daemon and how much it runs
    Version,
    /// Modules, or one with its gates
    #[value(alias = "module")]
    Modules,
    /// Ports
    #[value(alias = "port")]
    Ports,
    /// Traffic classes
    #[value(aliases = ["class", "tc", "tcs"])]
    Classes,
    /// Workers
    #[value(alias = "worker")]
    Workers,
    /// What runs, as text
    Pipeline,
    /// Where metadata attributes lie
    Metadata,
    /// Web and name servers
    #[value(alias = "service")]
    Services,
    /// Classes of modules, or one with its arguments and commands
    #[value(alias = "mclass")]
    Mclasses,
    /// Drivers of ports, or one with its arguments
    #[value(alias = "driver")]
    Drivers,
    /// Hooks on gates
    #[value(alias = "hook")]
    Hooks,
    /// How full the pools of packet buffers are
    #[value(alias = "mempool")]
    Pools,
}

/// Flags of `tidegate show`.
#[derive(Clone, Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub(crate) struct ShowArgs {
    /// What to show
    #[arg(value_enum, default_value = "version")]
    pub(crate) what: Shown,
    /// Only this one
    pub(crate) name: Option<String>,
    /// Print JSON, as the protocol names it
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) address: AddressArg,
}

/// Flags of `tidegate add`.
#[derive(Clone, Debug, Args)]
#[command(after_help = ADD_EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct AddArgs {
    #[command(subcommand)]
    pub(crate) thing: AddThing,
    #[command(flatten)]
    pub(crate) address: AddressArg,
}

/// Something to add.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum AddThing {
    /// A module of a class
    Module {
        /// Its class: see tidegate show mclasses
        class: String,
        /// Its name, then its arguments
        #[arg(value_name = "[NAME] FIELD=VALUE")]
        words: Vec<String>,
    },
    /// A port of a driver
    Port {
        /// Its driver: see tidegate show drivers
        driver: String,
        /// Its name, then its arguments
        #[arg(value_name = "[NAME] FIELD=VALUE")]
        words: Vec<String>,
    },
    /// A traffic class
    Class {
        /// priority, weighted_fair, round_robin or rate_limit
        policy: String,
        /// Its name
        name: String,
        /// Its arguments: parent, priority, share, wid, resource, limit, max_burst
        #[arg(value_name = "FIELD=VALUE")]
        words: Vec<String>,
    },
    /// A worker
    Worker {
        /// Its number
        wid: u64,
        /// The core to pin it to
        #[arg(value_name = "core=N")]
        words: Vec<String>,
    },
    /// A connection: the same as tidegate connect
    Connection(ConnectGates),
}

/// Flags of `tidegate delete`.
#[derive(Clone, Debug, Args)]
#[command(after_help = ADD_EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct DeleteArgs {
    #[command(subcommand)]
    pub(crate) thing: DeleteThing,
    #[command(flatten)]
    pub(crate) address: AddressArg,
}

/// Something to delete.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum DeleteThing {
    /// A module and its connections
    Module {
        /// Its name
        name: String,
    },
    /// A port
    Port {
        /// Its name
        name: String,
    },
    /// A traffic class
    Class {
        /// Its name
        name: String,
    },
    /// A worker
    Worker {
        /// Its number
        wid: u64,
    },
    /// A connection: the same as tidegate disconnect
    Connection {
        /// The output gate it begins at, such as q:0
        from: String,
    },
}

/// The two ends of a connection.
#[derive(Clone, Debug, Args)]
pub(crate) struct ConnectGates {
    /// An output gate: MODULE or MODULE:GATE
    pub(crate) from: String,
    /// An input gate: MODULE or GATE:MODULE
    pub(crate) to: String,
    /// The traffic class of packets from there on, of all or of those of another class: they wait in a queue of the
    /// connection's own until it is scheduled. May be repeated
    #[arg(long = "class", value_name = "[OLD=]NEW")]
    pub(crate) classes: Vec<String>,
}

/// Flags of `tidegate connect`.
#[derive(Clone, Debug, Args)]
#[command(after_help = CONNECT_EXAMPLES)]
pub(crate) struct ConnectArgs {
    #[command(flatten)]
    pub(crate) gates: ConnectGates,
    #[command(flatten)]
    pub(crate) address: AddressArg,
}

/// Flags of `tidegate disconnect`.
#[derive(Clone, Debug, Args)]
#[command(after_help = CONNECT_EXAMPLES)]
pub(crate) struct DisconnectArgs {
    /// An output gate: MODULE or MODULE:GATE
    pub(crate) from: String,
    #[command(flatten)]
    pub(crate) address: AddressArg,
}

/// Flags of `tidegate command`.
#[derive(Clone, Debug, Args)]
#[command(after_help = COMMAND_EXAMPLES)]
pub(crate) struct CommandArgs {
    /// The module
    pub(crate) module: String,
    /// The command
    pub(crate) command: String,
    /// Its arguments
    #[arg(value_name = "FIELD=VALUE")]
    pub(crate) words: Vec<String>,
    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) address: AddressArg,
}

/// Flags of `tidegate pause` and `tidegate resume`.
#[derive(Clone, Debug, Args)]
pub(crate) struct PauseArgs {
    /// A worker's number; without it all workers
    pub(crate) worker: Option<u64>,
    #[command(flatten)]
    pub(crate) address: AddressArg,
}

/// What can be taken away at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Resettable {
    /// Everything that controllers made
    All,
    /// All modules
    Modules,
    /// All ports
    Ports,
    /// All traffic classes
    Classes,
    /// All workers
    Workers,
}

/// Flags of `tidegate reset`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ResetArgs {
    /// What to take away
    #[arg(value_enum)]
    pub(crate) what: Resettable,
    #[command(flatten)]
    pub(crate) address: AddressArg,
}
