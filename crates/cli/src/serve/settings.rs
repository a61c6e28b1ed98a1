//! What a process is to be: the configuration file with the flags laid over it.
//!
//! Invariant: settings that exist are complete and make sense together; what only the network can tell (is
//! there such an interface, is the port free) shows when the services attach.

mod overlay;

use crate::args::{DnsArgs, PlaceArgs, ProcessArgs, ServeArgs, WebArgs};
use crate::exit::wrong_input;
use anyhow::Result;
use std::path::{Path, PathBuf};
use tidegate_config::ConfigFault;
use tidegate_modules::ImpairConfig;
use tidegate_service::{Config, settings, zone_faults};

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

/// The settings of one process.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    asked: Asked,
    /// The file that some of it came from.
    pub(crate) file: Option<PathBuf>,
    /// What is served, and where.
    pub(crate) service: tidegate_service::Settings,
}

impl Settings {
    /// Reads the configuration file, if one is named, and lays the flags over it.
    pub(crate) fn of(asked: Asked) -> Result<Self> {
        let config = read(&asked)?;
        let impair = asked.process().impair.as_deref().map(str::parse::<ImpairConfig>).transpose();
        let impair = impair.map_err(|error| wrong_input(format!("--impair: {error}")))?;
        let devices = asked.place().map(|place| place.dev.as_slice()).unwrap_or_default();
        let service = tidegate_service::Settings::new(config, devices, impair)?;
        Ok(Self { file: asked.file().map(Path::to_owned), asked, service })
    }

    /// Takes what a running process can take from its configuration file, read again. Returns whether the
    /// file asks for more than that.
    pub(crate) fn reread(&mut self) -> Result<bool> {
        let config = read(&self.asked)?;
        let running = &mut self.service.config;
        if let (Some(web), Some(new)) = (&mut running.web, &config.web) {
            web.take_over(new);
        }
        if let (Some(dns), Some(new)) = (&mut running.dns, &config.dns) {
            dns.take_over(new);
        }
        Ok(config != *running)
    }
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
    let faults = settings::faults(&config).into_iter();
    let mut said: Vec<String> = faults.map(|fault| fault.in_file(file).to_string()).collect();
    if said.is_empty() {
        said.extend(config.dns.iter().flat_map(zone_faults));
    }
    if said.is_empty() {
        return Ok(format!("{}: right", file.display()));
    }
    Err(wrong_input(said.join("\ntidegate: ")))
}
