//! What the protocol has names for: module classes, port drivers and gate hooks, each with its argument,
//! its commands and a line of help. One table each, and nothing but data.
//!
//! A [`Controller`](crate::Controller) says which of them it has; the others are left out of lists and
//! refused by name.

mod modules;

use crate::Kind;

/// A class of modules.
#[derive(PartialEq, Eq, Debug)]
pub struct ModuleClass {
    /// Its name: `Queue`.
    pub name: &'static str,
    /// What generated names begin with: `queue`, so `queue0`.
    pub short_name: &'static str,
    /// The argument it is made with.
    pub arg: Kind,
    /// How many gates a module of it may have.
    pub gates: GateLimits,
    /// What it does, in one line.
    pub help: &'static str,
    /// Its commands.
    pub commands: &'static [ModuleCommand],
}

/// How many gates a module may have in each direction; they are numbered from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GateLimits {
    /// Input gates.
    pub inputs: u16,
    /// Output gates.
    pub outputs: u16,
}

/// A command of a module.
#[derive(PartialEq, Eq, Debug)]
pub struct ModuleCommand {
    /// Its name: `set_burst`.
    pub name: &'static str,
    /// The argument it takes.
    pub arg: Kind,
    /// Whether BESS runs it while packets flow.
    pub safety: Safety,
}

/// How BESS runs a command. Both kinds are run here without stopping traffic: it tells a module's author
/// which ones change what the data path reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Safety {
    /// While packets flow.
    Live,
    /// With all workers paused.
    Paused,
}

/// A driver of ports.
#[derive(PartialEq, Eq, Debug)]
pub struct Driver {
    /// Its name: `UnixSocketPort`.
    pub name: &'static str,
    /// What generated names begin with.
    pub short_name: &'static str,
    /// The argument it is made with.
    pub arg: Kind,
    /// What its ports lead to, in one line.
    pub help: &'static str,
}

/// A class of hooks that look at what passes a gate.
#[derive(PartialEq, Eq, Debug)]
pub struct HookClass {
    /// Its name: `Track`.
    pub name: &'static str,
    /// What generated names begin with.
    pub short_name: &'static str,
    /// The argument it is put on gates with.
    pub arg: Kind,
    /// What it does, in one line.
    pub help: &'static str,
    /// Its commands, with the argument of each.
    pub commands: &'static [(&'static str, Kind)],
}

/// Every module class that the protocol names.
pub const MODULES: &[ModuleClass] = modules::MODULES;

/// Every driver that the protocol names.
pub const DRIVERS: &[Driver] = &[
    driver("AFXDPPort", Kind::AfxdpPortArg, "a network device of the host, by AF_XDP sockets, one a queue"),
    driver("BulkTapPort", Kind::BulkTapPortArg, "a TAP device that sends and takes large TCP frames"),
    driver("MemifPort", Kind::MemifPortArg, "another process, over shared memory by memif"),
    driver("PCAPPort", Kind::PcapPortArg, "a network device of the host, by packet socket"),
    driver("PMDPort", Kind::PmdPortArg, "a NIC, or a virtual device string that one of our ports can serve"),
    driver("UnixSocketPort", Kind::UnixSocketPortArg, "a process that connects to a SEQPACKET socket"),
    driver("VPort", Kind::VPortArg, "a virtual interface in the host, a namespace or a container"),
    driver(
        "VhostUserPort",
        Kind::VhostUserPortArg,
        "a guest's or a process's virtio-net driver, over vhost-user",
    ),
];

/// Every gate hook that the protocol names.
pub const HOOKS: &[HookClass] = &[
    HookClass {
        name: "PcapNg",
        short_name: "pcapng",
        arg: Kind::PcapngArg,
        help: "writes packets with their metadata to a FIFO, in pcapng",
        commands: &[],
    },
    HookClass {
        name: "TcpDump",
        short_name: "tcpdump",
        arg: Kind::TcpdumpArg,
        help: "writes packets to a FIFO, in pcap",
        commands: &[],
    },
    HookClass {
        name: "Track",
        short_name: "track",
        arg: Kind::TrackArg,
        help: "counts batches and packets, and bytes if asked to",
        commands: &[("reset", Kind::EmptyArg)],
    },
];

/// The module class of that name.
pub fn module(name: &str) -> Option<&'static ModuleClass> {
    MODULES.iter().find(|class| class.name == name)
}

/// The driver of that name.
pub fn port(name: &str) -> Option<&'static Driver> {
    DRIVERS.iter().find(|driver| driver.name == name)
}

/// The gate hook of that name.
pub fn hook(name: &str) -> Option<&'static HookClass> {
    HOOKS.iter().find(|class| class.name == name)
}

impl ModuleClass {
    /// The command of that name.
    pub fn command(&self, name: &str) -> Option<&'static ModuleCommand> {
        self.commands.iter().find(|command| command.name == name)
    }
}

const fn driver(name: &'static str, arg: Kind, help: &'static str) -> Driver {
    Driver { name, short_name: "port", arg, help }
}

#[cfg(test)]
mod tests;
