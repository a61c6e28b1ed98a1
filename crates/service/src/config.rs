//! The configuration file: how the process runs, and a table for each service that it is to have.
//!
//! ```text
//!   workers, idle, batch, ... [process] [metrics]     the process: here
//!   [web] ...                                         tidegate_web::Config
//!   [dns] ...                                         tidegate_dns::Config
//! ```
//! Each struct's default is the default in force; a file names what differs.

#[cfg(test)]
mod tests;

use serde::Deserialize;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tidegate_base::Duration;
use tidegate_bpf::ModeChoice;
use tidegate_config::{ConfigFault, Span};
pub use tidegate_mux::Gso;

/// All settings.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Threads, each with a queue of each NIC. None: as many as the NICs have queues, at most one a
    /// processor.
    pub workers: Option<u32>,
    /// What a worker does when nothing arrives.
    pub idle: Idle,
    /// The most frames taken from a queue at once.
    pub batch: u32,
    /// Where the XDP program runs.
    pub xdp_mode: XdpMode,
    /// Whether the driver reads and writes our memory itself.
    pub zero_copy: ZeroCopy,
    /// How bulk leaves where the kernel copies frames.
    pub gso: Gso,
    /// Let the kernel poll the NIC for so long in our system call.
    pub busy_poll: Option<Span>,
    /// The embedded NIC: `tidegateN` has the subnets 10.77.N.0/24 and fd77:0:0:N::/64.
    pub name: String,
    /// As whom the process runs, what it says, and how it ends.
    pub process: Process,
    /// Where counters can be read.
    pub metrics: Metrics,
    /// A web server, if there is to be one.
    pub web: Option<tidegate_web::Config>,
    /// A name server, if there is to be one.
    pub dns: Option<tidegate_dns::Config>,
}

/// What a worker does when nothing arrives.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Idle {
    /// Poll while busy, then sleep until a frame comes.
    #[default]
    Adaptive,
    /// Poll for ever: the lowest latency, and a processor that is never idle.
    Poll,
}

/// Where the XDP program runs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum XdpMode {
    /// In the driver, or where that refuses, in the network core.
    #[default]
    Auto,
    /// In the driver, or do not start.
    Native,
    /// In the network core: any driver, slower.
    Generic,
}

impl From<XdpMode> for ModeChoice {
    fn from(mode: XdpMode) -> Self {
        match mode {
            XdpMode::Auto => Self::DriverThenGeneric,
            XdpMode::Native => Self::DriverOnly,
            XdpMode::Generic => Self::GenericOnly,
        }
    }
}

/// Whether the driver reads and writes our memory itself.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ZeroCopy {
    /// Where it can.
    #[default]
    Auto,
    /// Yes, or do not start.
    Require,
    /// No.
    Off,
}

/// As whom the process runs, what it says, and how it ends.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Process {
    /// The user to become once everything is set up. None: the one that started it, without rights.
    pub user: Option<String>,
    /// Whether rights that serving does not need are given up.
    pub sandbox: bool,
    /// How its own messages are written.
    pub log_format: LogFormat,
    /// How long what is under way may take after the process was told to end.
    pub drain: Span,
}

/// How messages are written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// A line of words.
    #[default]
    Text,
    /// A JSON object a line.
    Json,
}

/// Where counters can be read.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Metrics {
    /// A Prometheus endpoint on the host's stack. None: no endpoint.
    pub address: Option<SocketAddr>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            workers: None,
            idle: Idle::default(),
            batch: 32,
            xdp_mode: XdpMode::default(),
            zero_copy: ZeroCopy::default(),
            gso: Gso::default(),
            busy_poll: None,
            name: "tidegate0".to_owned(),
            process: Process::default(),
            metrics: Metrics::default(),
            web: None,
            dns: None,
        }
    }
}

impl Default for Process {
    fn default() -> Self {
        let drain = Span(Duration::from_secs(10));
        Self { user: None, sandbox: true, log_format: LogFormat::default(), drain }
    }
}

impl Config {
    /// Reads a configuration file. Relative paths are relative to the file's directory.
    pub fn load(file: &Path) -> Result<Self, ConfigFault> {
        let config: Self = tidegate_config::read(file)?;
        Ok(config.resolved(file.parent().unwrap_or(Path::new(""))))
    }

    /// The same from a text. Relative paths are relative to `base`.
    pub fn parse(text: &str, base: &Path) -> Result<Self, ConfigFault> {
        Ok(tidegate_config::parse::<Self>(text)?.resolved(base))
    }

    fn resolved(self, base: &Path) -> Self {
        let mut config = self;
        if let Some(web) = &mut config.web {
            web.resolve(base);
        }
        if let Some(dns) = &mut config.dns {
            dns.resolve(base);
        }
        config
    }

    /// Everything that is wrong with it, the file system included.
    pub fn faults(&self) -> Vec<ConfigFault> {
        let mut faults = Vec::new();
        let mut expect = |holds: bool, message: &str| {
            if !holds {
                faults.push(ConfigFault::new(message));
            }
        };
        expect((1..=512).contains(&self.batch), "batch: choose 1 to 512 frames");
        expect(self.workers != Some(0), "workers: choose 1 or more");
        expect(self.web.is_some() || self.dns.is_some(), "no service: add [web] or [dns]");
        faults.extend(self.web.iter().flat_map(tidegate_web::config::check));
        faults.extend(self.dns.iter().flat_map(tidegate_dns::config::check));
        faults
    }

    /// Most connections to all services together.
    pub fn connection_count_max(&self) -> u32 {
        let web = self.web.as_ref().map_or(0, |web| web.limits.connections);
        web.saturating_add(self.dns.as_ref().map_or(0, |dns| dns.limits.connections))
    }

    /// Files that are written and, when they are rotated, opened anew.
    pub fn log_files(&self) -> impl Iterator<Item = &PathBuf> {
        let access_log = self.web.iter().filter_map(|web| web.access_log.path.as_ref());
        access_log.chain(self.dns.iter().filter_map(|dns| dns.query_log.path.as_ref()))
    }
}
