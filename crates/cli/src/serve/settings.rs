//! What a service is to be: the configuration file with the flags laid over it.
//!
//! Invariant: settings that exist are complete and make sense together; what only the network can tell (is
//! there such an interface, is the port free) shows when the service attaches.

use crate::args::{IdleArg, LogFormatArg, ModeArg, WebArgs, XdpModeArg, ZeroCopyArg};
use crate::exit::wrong_input;
use anyhow::Result;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tidegate_base::Duration;
use tidegate_modules::ImpairConfig;
use tidegate_sys::xsk::{BindMode, BusyPoll, XskConfig};
use tidegate_web::Config;
use tidegate_web::config::{
    self, ConfigFault, Content, Idle, Listen, LogFormat, PackMode, Span, XdpMode, ZeroCopy,
};

/// The settings of one service.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// What was typed.
    flags: WebArgs,
    /// The file that some of it came from.
    pub(crate) file: Option<PathBuf>,
    pub(crate) config: Config,
    pub(crate) devices: Vec<String>,
    pub(crate) impair: Option<ImpairConfig>,
}

impl Settings {
    /// Reads the configuration file, if one is named, and lays the flags over it.
    pub(crate) fn of(args: &WebArgs) -> Result<Self> {
        let mut config = match &args.config {
            Some(file) => Config::load(file).map_err(|fault| wrong_input(fault.to_string()))?,
            None => Config::default(),
        };
        overlay(&mut config, args);
        refuse(config::check(&config, None))?;
        let impair = args.impair.as_deref().map(str::parse::<ImpairConfig>).transpose();
        Ok(Self {
            flags: args.clone(),
            file: args.config.clone(),
            devices: devices(&config, args),
            config,
            impair: impair.map_err(|error| wrong_input(format!("--impair: {error}")))?,
        })
    }

    /// Takes what a running service can take from its configuration file, read again. Returns whether the
    /// file asks for more than that.
    pub(crate) fn reread(&mut self) -> Result<bool> {
        let Some(file) = &self.file else { return Ok(false) };
        let mut config = Config::load(file).map_err(|fault| wrong_input(fault.to_string()))?;
        overlay(&mut config, &self.flags);
        refuse(config::check(&config, None))?;
        let Content { index, dotfiles, precompressed, .. } = config.content.clone();
        self.config.limits = config.limits.clone();
        self.config.timeouts = config.timeouts.clone();
        self.config.error_pages = config.error_pages.clone();
        self.config.content = Content { index, dotfiles, precompressed, ..self.config.content };
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

    /// Bytes of all workers' frames. Ready packets live there and get a quarter of the memory; without them
    /// frames only pass.
    pub(crate) fn frame_memory(&self) -> u64 {
        let share = match self.config.mode {
            PackMode::PreCopy => 4,
            PackMode::Memcopy => 16,
        };
        self.config.memory.0 / share
    }

    /// Bytes of prepared responses.
    pub(crate) fn content_memory(&self) -> u64 {
        self.config.memory.0 - self.frame_memory()
    }

    /// Addresses and ports to listen on.
    pub(crate) fn listen(&self) -> Vec<SocketAddr> {
        self.config.listen.iter().map(|listen| listen.address).collect()
    }
}

fn overlay(config: &mut Config, args: &WebArgs) {
    fn put<T>(field: &mut T, flag: Option<T>) {
        if let Some(value) = flag {
            *field = value;
        }
    }
    put(&mut config.root, args.root.clone());
    put(&mut config.mode, args.mode.map(pack_mode));
    put(&mut config.memory, args.memory);
    put(&mut config.idle, args.idle.map(idle));
    put(&mut config.batch, args.batch.map(u32::from));
    put(&mut config.xdp_mode, args.xdp_mode.map(xdp_mode));
    put(&mut config.zero_copy, args.zero_copy.map(zero_copy));
    put(&mut config.workers, args.workers.map(|count| Some(u32::from(count))));
    put(&mut config.busy_poll, args.busy_poll.map(|us| Some(Span(Duration::from_micros(us.into())))));
    put(&mut config.access_log.path, args.access_log.clone().map(Some));
    put(&mut config.metrics.address, args.metrics.map(Some));
    put(&mut config.name, args.name.clone());
    put(&mut config.timeouts.drain, args.drain);
    put(&mut config.process.user, args.user.clone().map(Some));
    put(&mut config.process.sandbox, args.no_sandbox.then_some(false));
    put(&mut config.process.log_format, args.log_format.map(log_format));
    if !args.listen.is_empty() {
        config.listen = args.listen.iter().map(|address| Listen { dev: None, address: *address }).collect();
    }
}

/// The interfaces, each once: those of the flags, or those of the file.
fn devices(config: &Config, args: &WebArgs) -> Vec<String> {
    let of_file = config.listen.iter().filter_map(|listen| listen.dev.clone());
    let mut devices: Vec<String> = if args.dev.is_empty() { of_file.collect() } else { args.dev.clone() };
    devices.sort_unstable();
    devices.dedup();
    devices
}

const fn pack_mode(arg: ModeArg) -> PackMode {
    match arg {
        ModeArg::PreCopy => PackMode::PreCopy,
        ModeArg::Memcopy => PackMode::Memcopy,
    }
}

const fn idle(arg: IdleArg) -> Idle {
    match arg {
        IdleArg::Poll => Idle::Poll,
        IdleArg::Adaptive => Idle::Adaptive,
    }
}

const fn log_format(arg: LogFormatArg) -> LogFormat {
    match arg {
        LogFormatArg::Text => LogFormat::Text,
        LogFormatArg::Json => LogFormat::Json,
    }
}

const fn xdp_mode(arg: XdpModeArg) -> XdpMode {
    match arg {
        XdpModeArg::Auto => XdpMode::Auto,
        XdpModeArg::Native => XdpMode::Native,
        XdpModeArg::Generic => XdpMode::Generic,
    }
}

const fn zero_copy(arg: ZeroCopyArg) -> ZeroCopy {
    match arg {
        ZeroCopyArg::Auto => ZeroCopy::Auto,
        ZeroCopyArg::On => ZeroCopy::Require,
        ZeroCopyArg::Off => ZeroCopy::Off,
    }
}

fn refuse(faults: Vec<ConfigFault>) -> Result<()> {
    if faults.is_empty() {
        return Ok(());
    }
    let said: Vec<String> = faults.iter().map(ToString::to_string).collect();
    Err(wrong_input(said.join("; ")))
}

/// `tidegate check FILE`: what is wrong, each on a line, or that nothing is.
pub(crate) fn check(file: &Path) -> Result<String> {
    let config = Config::load(file).map_err(|fault| wrong_input(fault.to_string()))?;
    let faults = config::check(&config, Some(file));
    if faults.is_empty() {
        return Ok(format!("{}: right", file.display()));
    }
    let said: Vec<String> = faults.iter().map(ToString::to_string).collect();
    Err(wrong_input(said.join("\ntidegate: ")))
}
