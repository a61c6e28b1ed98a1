//! What may be typed about stacks of other processes.

use super::client::AddressArg;
use clap::{Args, Subcommand, ValueEnum};
use std::net::IpAddr;

const EXAMPLES: &str = "\
Examples:
  tidegate daemon --mux                             serve stacks of other processes, which ask at /run/tidegate/mux.sock
  tidegate daemon --mux --rate 100Mbit              no more than that from each of them
  tidegate mux bind --proto tcp --addr 10.0.0.5 --port 443 --uid 1000
                                                    let a stack of user 1000 have the port, and nobody else
  tidegate mux list                                 which tuples are whose
  tidegate mux stats                                what stacks sent and received, and what was dropped
  tidegate mux release --proto tcp --addr 10.0.0.5 --port 443";

/// Flags of `tidegate mux`.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct MuxArgs {
    #[command(subcommand)]
    pub(crate) action: MuxAction,
    #[command(flatten)]
    pub(crate) address: AddressArg,
}

/// What to do about them.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum MuxAction {
    /// Keep an address and port for the stacks of a user
    Bind {
        #[command(flatten)]
        tuple: TupleArgs,
        /// The interface; without it the one that has the address
        #[arg(long, value_name = "IFACE")]
        dev: Option<String>,
        /// How a stack must be attached to have it; without it in any way
        #[arg(long)]
        grade: Option<GradeArg>,
        /// The user
        #[arg(long, default_value_t = 0)]
        uid: u32,
    },
    /// Show which addresses and ports are whose
    List {
        /// Print JSON, as the protocol names it
        #[arg(long)]
        json: bool,
    },
    /// Take an address and port away from whoever has it, services aside
    Release {
        #[command(flatten)]
        tuple: TupleArgs,
    },
    /// Show what stacks sent and received
    Stats {
        /// Print JSON, as the protocol names it
        #[arg(long)]
        json: bool,
    },
}

/// One end of flows.
#[derive(Clone, Debug, Args)]
pub(crate) struct TupleArgs {
    /// The protocol
    #[arg(long)]
    pub(crate) proto: ProtocolArg,
    /// The address; 0.0.0.0 or :: for all
    #[arg(long, value_name = "IP")]
    pub(crate) addr: IpAddr,
    /// The port
    #[arg(long)]
    pub(crate) port: u16,
}

/// A transport.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ProtocolArg {
    /// TCP
    Tcp,
    /// UDP
    Udp,
}

/// A way to be attached.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum GradeArg {
    /// On a queue of the NIC
    Queue,
    /// Behind a veth
    Veth,
    /// Over memory that it shares with the daemon
    Memif,
}
