//! The settings of a web service, from a TOML file, from flags, or both.
//!
//! Each struct's default is the service's default; a file names what differs, and flags overwrite the
//! fields of the value that came out of the file. Values that make no sense are refused while they are
//! read, with their line and column; what only a look at the file system can tell is in [`check`].

mod fault;
mod unit;

#[cfg(test)]
mod tests;

pub use fault::ConfigFault;
pub use unit::{ByteSize, Span};

use crate::glob::Glob;
use crate::request::line::is_tchar;
use crate::request::scan::{FIELD_COUNT_MAX, HeadLimits};
use crate::status::Status;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tidegate_base::Duration;

/// All settings.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The directory whose files are served. Required.
    pub root: PathBuf,
    /// Where requests come in. None: the embedded default, a virtual NIC of its own.
    pub listen: Vec<Listen>,
    /// How frames are made.
    pub mode: PackMode,
    /// Bytes of memory for prepared responses.
    pub memory: ByteSize,
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
    /// Let the kernel poll the NIC for so long in our system call.
    pub busy_poll: Option<Span>,
    /// What is served, and how.
    pub content: Content,
    /// What a peer may use up.
    pub limits: Limits,
    /// How long a peer may take.
    pub timeouts: Timeouts,
    /// Own pages for error statuses: files, relative to the root.
    pub error_pages: BTreeMap<StatusKey, PathBuf>,
    /// Fields to add to the responses of some files; all rules that match apply, in order.
    pub headers: Vec<HeaderRule>,
    /// Where requests are logged.
    pub access_log: AccessLog,
    /// Where counters can be read.
    pub metrics: Metrics,
    /// The embedded NIC: `tidegateN` has the subnets 10.77.N.0/24 and fd77:0:0:N::/64.
    pub name: String,
    /// As whom the process runs, and what it says.
    pub process: Process,
}

/// One place where requests come in.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listen {
    /// The network interface. None: the embedded one.
    #[serde(default)]
    pub dev: Option<String>,
    /// Address and port.
    pub address: SocketAddr,
}

/// How frames are made (Sandstorm paper, section 2.2).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PackMode {
    /// Keep packets ready to be sent again.
    #[default]
    PreCopy,
    /// Copy each packet from the one copy in memory.
    Memcopy,
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

/// What is served, and how.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Content {
    /// The file that stands for its directory.
    pub index: String,
    /// Whether names that start with a dot are served.
    pub dotfiles: bool,
    /// Whether `NAME.br`, `NAME.zst` and `NAME.gz` are sent in place of NAME to who takes them.
    pub precompressed: bool,
    /// Files from this size on are read while they are sent.
    pub stream_from: ByteSize,
}

/// What a peer may use up.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Longest request line.
    pub request_line: ByteSize,
    /// Longest request head, with its request line.
    pub request_head: ByteSize,
    /// Most field lines.
    pub fields: u16,
    /// Longest request body that is thrown away rather than refused.
    pub request_body: ByteSize,
    /// Most responses under way on one connection.
    pub pipelined: u16,
    /// Most requests on one connection; 0 is no limit.
    pub requests_per_connection: u32,
    /// Most connections in all, over all workers.
    pub connections: u32,
    /// Most connections from one address (IPv6: from one /64), in each worker; 0 is no limit.
    pub connections_per_address: u32,
}

/// How long a peer may take.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timeouts {
    /// From a request's first byte to the end of its head and body.
    pub header: Span,
    /// From one response to the next request.
    pub idle: Span,
    /// How long what the peer still sends is read and thrown away after the last response.
    pub linger: Span,
    /// How long a file may take to be loaded.
    pub load: Span,
    /// How long responses under way may take after the service was told to end.
    pub drain: Span,
}

/// Fields for the files that match.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderRule {
    /// Which files: `*.css`, `assets/**`.
    pub files: Glob,
    /// Field names and values.
    pub set: BTreeMap<FieldName, FieldValue>,
}

/// Where requests are logged.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccessLog {
    /// The file, in the combined format. None: no log.
    pub path: Option<PathBuf>,
}

/// Where counters can be read.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Metrics {
    /// A Prometheus endpoint on the host's stack. None: no endpoint.
    pub address: Option<SocketAddr>,
}

/// As whom the process runs, and what it says.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Process {
    /// The user to become once everything is set up. None: the one that started it, without rights.
    pub user: Option<String>,
    /// Whether rights that serving does not need are given up.
    pub sandbox: bool,
    /// How its own messages are written.
    pub log_format: LogFormat,
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

/// An error status, as the key of a table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct StatusKey(pub Status);

/// A field's name, checked to be a token and not one that the server writes itself.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct FieldName(String);

/// A field's value, checked to hold no control character.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct FieldValue(String);

impl Default for Config {
    fn default() -> Self {
        Self {
            root: PathBuf::new(),
            listen: Vec::new(),
            mode: PackMode::default(),
            memory: ByteSize(512 << 20),
            workers: None,
            idle: Idle::default(),
            batch: 32,
            xdp_mode: XdpMode::default(),
            zero_copy: ZeroCopy::default(),
            busy_poll: None,
            content: Content::default(),
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            error_pages: BTreeMap::new(),
            headers: Vec::new(),
            access_log: AccessLog::default(),
            metrics: Metrics::default(),
            name: "tidegate0".to_owned(),
            process: Process::default(),
        }
    }
}

impl Default for Content {
    fn default() -> Self {
        Self {
            index: "index.html".to_owned(),
            dotfiles: false,
            precompressed: true,
            stream_from: ByteSize(64 << 20),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        let head = HeadLimits::default();
        Self {
            request_line: ByteSize(head.line_len_max as u64),
            request_head: ByteSize(head.head_len_max as u64),
            fields: head.field_count_max as u16,
            request_body: ByteSize(16 << 10),
            pipelined: 32,
            requests_per_connection: 0,
            connections: 1 << 20,
            connections_per_address: 0,
        }
    }
}

impl Default for Process {
    fn default() -> Self {
        Self { user: None, sandbox: true, log_format: LogFormat::default() }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            header: Span(Duration::from_secs(15)),
            idle: Span(Duration::from_secs(60)),
            linger: Span(Duration::from_secs(2)),
            load: Span(Duration::from_secs(30)),
            drain: Span(Duration::from_secs(10)),
        }
    }
}

impl Limits {
    /// The limits on a head, in the parser's terms.
    pub fn head(&self) -> HeadLimits {
        let len = |size: ByteSize| usize::try_from(size.0).unwrap_or(usize::MAX);
        HeadLimits {
            line_len_max: len(self.request_line),
            head_len_max: len(self.request_head),
            field_count_max: usize::from(self.fields),
        }
    }
}

impl FieldName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FieldValue {
    /// The value.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Fields whose values follow from the file or the connection, and that a rule must not contradict.
const OWN_FIELDS: [&str; 13] = [
    "accept-ranges",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "date",
    "etag",
    "keep-alive",
    "last-modified",
    "location",
    "server",
    "transfer-encoding",
    "upgrade",
];

impl TryFrom<String> for FieldName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        if name.is_empty() || !name.bytes().all(is_tchar) {
            return Err(format!("\"{name}\" is no field name: letters, digits and hyphens only"));
        }
        match OWN_FIELDS.iter().find(|own| own.eq_ignore_ascii_case(&name)) {
            Some(own) => Err(format!("{own} is written by the server itself: leave it out")),
            None => Ok(Self(name)),
        }
    }
}

impl TryFrom<String> for FieldValue {
    type Error = String;

    fn try_from(value: String) -> Result<Self, String> {
        match value.chars().find(|c| c.is_control() && *c != '\t') {
            Some(c) => Err(format!("a field value cannot hold the control character {c:?}: leave it out")),
            None => Ok(Self(value.trim().to_owned())),
        }
    }
}

impl TryFrom<String> for StatusKey {
    type Error = String;

    fn try_from(code: String) -> Result<Self, String> {
        let status = code.parse().ok().and_then(Status::from_code).filter(|status| status.is_error());
        status.map(Self).ok_or_else(|| {
            let known = Status::ALL.iter().filter(|s| s.is_error()).map(|s| s.code().to_string());
            let known = known.collect::<Vec<_>>().join(", ");
            format!("{code} is no status that this server sends an error page with: use one of {known}")
        })
    }
}

impl Config {
    /// Reads a configuration from its text.
    pub fn parse(text: &str) -> Result<Self, ConfigFault> {
        toml::from_str(text).map_err(|error| ConfigFault::of_toml(&error, text))
    }

    /// Reads a configuration file. A relative root or log is relative to the file's directory.
    pub fn load(file: &Path) -> Result<Self, ConfigFault> {
        let text = fs::read_to_string(file).map_err(|e| {
            ConfigFault::new(format!("cannot read the configuration {}: {e}", file.display()))
        })?;
        let mut config = Self::parse(&text).map_err(|fault| fault.in_file(file))?;
        let base = file.parent().unwrap_or(Path::new(""));
        if !config.root.as_os_str().is_empty() {
            config.root = base.join(&config.root);
        }
        config.access_log.path = config.access_log.path.map(|path| base.join(path));
        Ok(config)
    }

    /// Everything that is wrong with the values as they stand together, without a look at the file
    /// system.
    pub fn faults(&self) -> Vec<ConfigFault> {
        let mut faults = Vec::new();
        let mut expect = |holds: bool, message: &str| {
            if !holds {
                faults.push(ConfigFault::new(message));
            }
        };
        let limits = &self.limits;
        expect(!self.root.as_os_str().is_empty(), "no root: name the directory to serve (root = \"DIR\")");
        expect((1..=512).contains(&self.batch), "batch: choose 1 to 512 frames");
        expect(self.workers != Some(0), "workers: choose 1 or more");
        expect(self.memory.0 >= 1 << 20, "memory: choose 1MiB or more");
        expect(
            !self.content.index.is_empty() && !self.content.index.contains('/'),
            "content.index: name a file, not a path",
        );
        expect(limits.request_line.0 >= 64, "limits.request_line: choose 64 bytes or more");
        expect(
            limits.request_head.0 >= limits.request_line.0,
            "limits.request_head: choose no less than limits.request_line",
        );
        expect(limits.request_head.0 <= 1 << 20, "limits.request_head: choose 1MiB at most");
        expect(
            (1..=FIELD_COUNT_MAX).contains(&usize::from(limits.fields)),
            "limits.fields: choose 1 to 128 field lines",
        );
        expect(limits.pipelined > 0, "limits.pipelined: choose 1 or more");
        expect(
            limits.requests_per_connection <= u32::from(u16::MAX),
            "limits.requests_per_connection: choose 65535 at most, or 0 for no limit",
        );
        expect(limits.connections > 0, "limits.connections: choose 1 or more");
        let timeouts = &self.timeouts;
        let spans = [timeouts.header, timeouts.idle, timeouts.load];
        expect(spans.iter().all(|span| span.0 > Duration::ZERO), "timeouts: none of them can be zero");
        faults.extend(self.listen_faults());
        faults
    }

    fn listen_faults(&self) -> impl Iterator<Item = ConfigFault> {
        self.listen.iter().enumerate().filter_map(|(at, listen)| {
            if listen.address.port() == 0 {
                return Some(ConfigFault::new(format!("listen {}: choose a port", listen.address)));
            }
            self.listen[..at]
                .contains(listen)
                .then(|| ConfigFault::new(format!("listen {}: named twice, leave one out", listen.address)))
        })
    }
}

/// Everything that is wrong with a configuration that was read, the file system included; `origin` is
/// the file it came from, for the messages.
pub fn check(config: &Config, origin: Option<&Path>) -> Vec<ConfigFault> {
    let mut faults = config.faults();
    if !config.root.as_os_str().is_empty() {
        faults.extend(file_faults(config));
    }
    match origin {
        Some(file) => faults.into_iter().map(|fault| fault.in_file(file)).collect(),
        None => faults,
    }
}

fn file_faults(config: &Config) -> Vec<ConfigFault> {
    let root = &config.root;
    match fs::metadata(root) {
        Err(e) => return vec![ConfigFault::new(format!("root {}: {e}", root.display()))],
        Ok(meta) if !meta.is_dir() => {
            return vec![ConfigFault::new(format!("root {}: not a directory", root.display()))];
        }
        Ok(_) => {}
    }
    let mut faults = Vec::new();
    for (key, page) in &config.error_pages {
        if let Err(e) = fs::metadata(root.join(page)) {
            let code = key.0.code();
            faults.push(ConfigFault::new(format!("error_pages.{code} {}: {e}", page.display())));
        }
    }
    let log_dir = config.access_log.path.as_deref().and_then(Path::parent);
    if let Some(dir) = log_dir.filter(|dir| !dir.as_os_str().is_empty() && !dir.is_dir()) {
        faults.push(ConfigFault::new(format!("access_log.path: no directory {}: make it", dir.display())));
    }
    faults
}
