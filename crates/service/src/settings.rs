//! What services of one process, or of one part of the daemon, are to be: complete, and making sense together.
//!
//! What only the network can tell (is there such an interface, is the port free) shows when they attach.

use crate::config::{Config, Idle, ZeroCopy};
use crate::error::{Result, wrong_input};
use crate::kind::{Endpoint, Kind};
use std::path::Path;
use tidegate_config::{ConfigFault, Listen, PackMode};
use tidegate_dns::config::AnswerMode;
use tidegate_modules::ImpairConfig;
use tidegate_pipeline::WorkerConfig;
use tidegate_stack::congestion;
use tidegate_sys::xsk::{BindMode, BusyPoll, XskConfig};

/// Frames that may come before a worker has its turn, and datagrams beyond them are lost. A receive thread of the kernel
/// on the same processor may run for a tick first: 4 ms (`CONFIG_HZ=250`) of a million frames a second.
const BURST_LEN_MAX: u32 = 4096;

/// Where one service is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which service.
    pub kind: Kind,
    /// NICs of the host; none is the virtual one.
    pub devices: Vec<String>,
    /// None: all addresses of the virtual NIC.
    pub listen: Vec<Endpoint>,
}

/// Services and where they are wanted.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What the file and the flags say.
    pub config: Config,
    /// Where each service is wanted.
    pub places: Vec<Place>,
    /// Faults of the network that are made on purpose.
    pub impair: Option<ImpairConfig>,
}

impl Settings {
    /// Settings of `config`. `devices` are typed, and stand in for those that the file names.
    pub fn new(config: Config, devices: &[String], impair: Option<ImpairConfig>) -> Result<Self> {
        let places = places(&config, devices);
        refuse(faults_among(&config, &places))?;
        Ok(Self { config, places, impair })
    }

    /// Settings of a configuration's text, in TOML. Relative paths are relative to `base`.
    pub fn parse(text: &str, base: &Path) -> Result<Self> {
        let config = Config::parse(text, base).map_err(|fault| wrong_input(fault.to_string()))?;
        Self::new(config, &[], None)
    }

    /// Whether a service takes text that comes with a SYN.
    pub(crate) fn has_fast_open(&self, kind: Kind) -> bool {
        match kind {
            Kind::Web => self.config.web.as_ref().is_some_and(|web| web.fast_open),
            Kind::Dns => self.config.dns.as_ref().is_some_and(|dns| dns.fast_open),
        }
    }

    /// The congestion control of a service's connections.
    pub(crate) fn congestion(&self, kind: Kind) -> Result<congestion::Algorithm> {
        algorithm(kind, congestion_name(&self.config, kind)).map_err(|fault| wrong_input(fault.to_string()))
    }

    /// How sockets are made.
    pub fn xsk(&self) -> XskConfig {
        let mode = match self.config.zero_copy {
            ZeroCopy::Auto => BindMode::Auto,
            ZeroCopy::Require => BindMode::ZeroCopy,
            ZeroCopy::Off => BindMode::Copy,
        };
        let busy_poll = self.config.busy_poll.map(|span| BusyPoll {
            poll_us: u32::try_from(span.0.as_micros()).unwrap_or(u32::MAX),
            budget: 64,
        });
        XskConfig {
            mode,
            busy_poll,
            rx_size: BURST_LEN_MAX,
            fill_size: BURST_LEN_MAX,
            ..XskConfig::default()
        }
    }

    /// How workers run.
    pub fn worker_config(&self) -> WorkerConfig {
        let idle = match self.config.idle {
            Idle::Poll => tidegate_pipeline::Idle::Poll,
            Idle::Adaptive => tidegate_pipeline::Idle::ADAPTIVE,
        };
        WorkerConfig { batch_len: self.config.batch as usize, idle, ..WorkerConfig::default() }
    }

    /// Bytes of all workers' frames: a share of what each service may take.
    pub fn frame_memory(&self) -> u64 {
        let web =
            self.config.web.as_ref().map(|web| frame_share(web.mode == PackMode::PreCopy, web.memory.0));
        let dns =
            self.config.dns.as_ref().map(|dns| frame_share(dns.mode == AnswerMode::PreCopy, dns.memory.0));
        web.unwrap_or(0) + dns.unwrap_or(0)
    }
}

/// How much of a service's memory is frames: ready packets live there and get a quarter; without them frames
/// only pass.
pub(crate) const fn frame_share(holds_packets: bool, memory: u64) -> u64 {
    if holds_packets { memory / 4 } else { memory / 16 }
}

/// Everything that is wrong with a configuration, the file system included, but for what is in zone files.
pub fn faults(config: &Config) -> Vec<ConfigFault> {
    faults_among(config, &places(config, &[]))
}

fn faults_among(config: &Config, places: &[Place]) -> Vec<ConfigFault> {
    let unknown = places.iter().filter_map(|place| {
        let name = congestion_name(config, place.kind);
        algorithm(place.kind, name).err()
    });
    config.faults().into_iter().chain(clashes(places)).chain(unknown).collect()
}

fn congestion_name(config: &Config, kind: Kind) -> &str {
    let name = match kind {
        Kind::Web => config.web.as_ref().map(|web| &web.congestion),
        Kind::Dns => config.dns.as_ref().map(|dns| &dns.congestion),
    };
    name.map_or(congestion::CUBIC.name, String::as_str)
}

/// A congestion control by its name: one of those of the `tcp` crate, or of those that stand beside it.
fn algorithm(kind: Kind, name: &str) -> std::result::Result<congestion::Algorithm, ConfigFault> {
    // Refused only if another program part took the name, and then that one is meant.
    let _ = tidegate_bbr::register();
    congestion::by_name(name).ok_or_else(|| {
        let names = congestion::names().join(", ");
        ConfigFault::new(format!(
            "{kind}.congestion `{name}`: there is no such congestion control, choose one of {names}"
        ))
    })
}

fn places(config: &Config, devices: &[String]) -> Vec<Place> {
    let web = config.web.as_ref().map(|web| place(Kind::Web, &web.listen, devices));
    let dns = config.dns.as_ref().map(|dns| place(Kind::Dns, &dns.listen, devices));
    web.into_iter().chain(dns).collect()
}

/// Where a service is by its flags, or by the file: there the interfaces are named beside the addresses.
fn place(kind: Kind, listen: &[Listen], typed: &[String]) -> Place {
    let of_file = listen.iter().filter_map(|listen| listen.dev.clone());
    let mut devices: Vec<String> = if typed.is_empty() { of_file.collect() } else { typed.to_vec() };
    devices.sort_unstable();
    devices.dedup();
    let listen = listen.iter().map(|listen| Endpoint { address: listen.address, kind }).collect();
    Place { kind, devices, listen }
}

/// Services that want the same port of the same address over the same transport.
fn clashes(places: &[Place]) -> Vec<ConfigFault> {
    let all: Vec<&Endpoint> = places.iter().flat_map(|place| &place.listen).collect();
    let clash = |(at, one): (usize, &&Endpoint)| {
        let other = all[..at].iter().find(|other| other.address == one.address && other.kind != one.kind)?;
        let (kind, other, address) = (one.kind, other.kind, one.address);
        Some(ConfigFault::new(format!("{kind}.listen {address}: {other} has it too, choose another port")))
    };
    all.iter().enumerate().filter_map(clash).collect()
}

fn refuse(faults: Vec<ConfigFault>) -> Result<()> {
    if faults.is_empty() {
        return Ok(());
    }
    let said: Vec<String> = faults.iter().map(ToString::to_string).collect();
    Err(wrong_input(said.join("; ")))
}
