//! What a process is to be: the configuration file with the flags laid over it.
//!
//! Invariant: settings that exist are complete and make sense together; what only the network can tell (is
//! there such an interface, is the port free) shows when the services attach.

mod overlay;

use super::dns::zone_faults;
use crate::args::{DnsArgs, PlaceArgs, ProcessArgs, ServeArgs, WebArgs};
use crate::config::{Config, ZeroCopy};
use crate::exit::wrong_input;
use crate::kind::{Endpoint, Kind};
use anyhow::Result;
use std::path::{Path, PathBuf};
use tidegate_config::{ConfigFault, Listen, PackMode};
use tidegate_dns::config::AnswerMode;
use tidegate_modules::ImpairConfig;
use tidegate_sys::xsk::{BindMode, BusyPoll, XskConfig};

/// What was typed.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    /// `tidegate web`
    Web(Box<WebArgs>),
    /// `tidegate dns`
    Dns(Box<DnsArgs>),
    /// `tidegate serve`
    Serve(Box<ServeArgs>),
}

impl Asked {
    fn file(&self) -> Option<&Path> {
        match self {
            Self::Serve(args) => Some(&args.config),
            Self::Web(_) | Self::Dns(_) => self.place().and_then(|place| place.config.as_deref()),
        }
    }

    fn process(&self) -> &ProcessArgs {
        match self {
            Self::Web(args) => &args.process,
            Self::Dns(args) => &args.process,
            Self::Serve(args) => &args.process,
        }
    }

    fn place(&self) -> Option<&PlaceArgs> {
        match self {
            Self::Web(args) => Some(&args.place),
            Self::Dns(args) => Some(&args.place),
            Self::Serve(_) => None,
        }
    }
}

/// Where one service is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) kind: Kind,
    /// NICs of the host; none is the virtual one.
    pub(crate) devices: Vec<String>,
    /// None: all addresses of the virtual NIC.
    pub(crate) listen: Vec<Endpoint>,
}

/// The settings of one process.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    asked: Asked,
    /// The file that some of it came from.
    pub(crate) file: Option<PathBuf>,
    pub(crate) config: Config,
    pub(crate) places: Vec<Place>,
    pub(crate) impair: Option<ImpairConfig>,
}

impl Settings {
    /// Reads the configuration file, if one is named, and lays the flags over it.
    pub(crate) fn of(asked: Asked) -> Result<Self> {
        let config = read(&asked)?;
        let impair = asked.process().impair.as_deref().map(str::parse::<ImpairConfig>).transpose();
        let impair = impair.map_err(|error| wrong_input(format!("--impair: {error}")))?;
        let places = places(&config, asked.place());
        refuse(clashes(&places))?;
        Ok(Self { file: asked.file().map(Path::to_owned), asked, config, places, impair })
    }

    /// Takes what a running process can take from its configuration file, read again. Returns whether the
    /// file asks for more than that.
    pub(crate) fn reread(&mut self) -> Result<bool> {
        let config = read(&self.asked)?;
        if let (Some(web), Some(new)) = (&mut self.config.web, &config.web) {
            web.take_over(new);
        }
        if let (Some(dns), Some(new)) = (&mut self.config.dns, &config.dns) {
            dns.take_over(new);
        }
        Ok(config != self.config)
    }

    /// How sockets are made.
    pub(crate) fn xsk(&self) -> XskConfig {
        let mode = match self.config.zero_copy {
            ZeroCopy::Auto => BindMode::Auto,
            ZeroCopy::Require => BindMode::ZeroCopy,
            ZeroCopy::Off => BindMode::Copy,
        };
        let busy_poll = self.config.busy_poll.map(|span| BusyPoll {
            poll_us: u32::try_from(span.0.as_micros()).unwrap_or(u32::MAX),
            budget: 64,
        });
        XskConfig { mode, busy_poll, ..XskConfig::default() }
    }

    /// Bytes of all workers' frames: a share of what each service may take.
    pub(crate) fn frame_memory(&self) -> u64 {
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

fn read(asked: &Asked) -> Result<Config> {
    let config = match asked.file() {
        Some(file) => Config::load(file).map_err(|fault| wrong_input(fault.to_string()))?,
        None => Config::default(),
    };
    let config = overlay::overlay(config, asked);
    refuse(config.faults())?;
    Ok(config)
}

fn places(config: &Config, typed: Option<&PlaceArgs>) -> Vec<Place> {
    let web = config.web.as_ref().map(|web| place(Kind::Web, &web.listen, typed));
    let dns = config.dns.as_ref().map(|dns| place(Kind::Dns, &dns.listen, typed));
    web.into_iter().chain(dns).collect()
}

/// Where a service is by its flags, or by the file: there the interfaces are named beside the addresses.
fn place(kind: Kind, listen: &[Listen], typed: Option<&PlaceArgs>) -> Place {
    let of_file = listen.iter().filter_map(|listen| listen.dev.clone());
    let mut devices: Vec<String> = match typed {
        Some(typed) if !typed.dev.is_empty() => typed.dev.clone(),
        _ => of_file.collect(),
    };
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

/// `tidegate check FILE`: what is wrong with it, or with the zones that it names, each on a line, or that nothing
/// is.
pub(crate) fn check(file: &Path) -> Result<String> {
    let config = Config::load(file).map_err(|fault| wrong_input(fault.to_string()))?;
    let faults = config.faults().into_iter().chain(clashes(&places(&config, None)));
    let mut said: Vec<String> = faults.map(|fault| fault.in_file(file).to_string()).collect();
    if said.is_empty() {
        said.extend(config.dns.iter().flat_map(zone_faults));
    }
    if said.is_empty() {
        return Ok(format!("{}: right", file.display()));
    }
    Err(wrong_input(said.join("\ntidegate: ")))
}
