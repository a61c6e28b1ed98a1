//! The settings of a web service: `[web]` of a TOML file, flags, or both.
//!
//! Each struct's default is the service's default; a file names what differs, and flags overwrite the
//! fields of the value that came out of the file. Values that make no sense are refused while they are
//! read, with their line and column; what only a look at the file system can tell is in [`check`].

#[cfg(test)]
mod tests;

use crate::glob::Glob;
use crate::request::line::is_tchar;
use crate::request::scan::{FIELD_COUNT_MAX, HeadLimits};
use crate::status::Status;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tidegate_base::Duration;
use tidegate_config::{ByteSize, ConfigFault, Listen, PackMode, Span, listen_faults};

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
    /// The congestion control of its connections, by name.
    pub congestion: String,
    /// Requests may come with the SYN (TCP Fast Open, RFC 7413): for sites on which a request may come twice.
    pub fast_open: bool,
    /// Bytes of memory for prepared responses.
    pub memory: ByteSize,
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
    /// Most connections from one address (IPv6: from one /64), over all workers; 0 is no limit.
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
            congestion: "cubic".to_owned(),
            fast_open: false,
            memory: ByteSize(512 << 20),
            content: Content::default(),
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            error_pages: BTreeMap::new(),
            headers: Vec::new(),
            access_log: AccessLog::default(),
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

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            header: Span(Duration::from_secs(15)),
            idle: Span(Duration::from_secs(60)),
            linger: Span(Duration::from_secs(2)),
            load: Span(Duration::from_secs(30)),
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
    /// Makes relative paths relative to `base`: the directory of the file that they stand in.
    pub fn resolve(&mut self, base: &Path) {
        if !self.root.as_os_str().is_empty() {
            self.root = base.join(&self.root);
        }
        self.access_log.path = self.access_log.path.take().map(|path| base.join(path));
    }

    /// Takes what a running server can take from settings that were read again: limits, timeouts, which
    /// names are served, error pages, header rules.
    pub fn take_over(&mut self, new: &Self) {
        let Content { index, dotfiles, precompressed, .. } = new.content.clone();
        self.content = Content { index, dotfiles, precompressed, ..self.content };
        self.limits = new.limits.clone();
        self.timeouts = new.timeouts.clone();
        self.error_pages = new.error_pages.clone();
        self.headers = new.headers.clone();
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
        expect(
            !self.root.as_os_str().is_empty(),
            "web.root: name the directory to serve (root = \"DIR\" below [web], or --root DIR)",
        );
        expect(self.memory.0 >= 1 << 20, "web.memory: choose 1MiB or more");
        expect(
            !self.content.index.is_empty() && !self.content.index.contains('/'),
            "web.content.index: name a file, not a path",
        );
        expect(limits.request_line.0 >= 64, "web.limits.request_line: choose 64 bytes or more");
        expect(
            limits.request_head.0 >= limits.request_line.0,
            "web.limits.request_head: choose no less than web.limits.request_line",
        );
        expect(limits.request_head.0 <= 1 << 20, "web.limits.request_head: choose 1MiB at most");
        expect(
            (1..=FIELD_COUNT_MAX).contains(&usize::from(limits.fields)),
            "web.limits.fields: choose 1 to 128 field lines",
        );
        expect(limits.pipelined > 0, "web.limits.pipelined: choose 1 or more");
        expect(
            limits.requests_per_connection <= u32::from(u16::MAX),
            "web.limits.requests_per_connection: choose 65535 at most, or 0 for no limit",
        );
        expect(limits.connections > 0, "web.limits.connections: choose 1 or more");
        let timeouts = &self.timeouts;
        let spans = [timeouts.header, timeouts.idle, timeouts.load];
        expect(spans.iter().all(|span| span.0 > Duration::ZERO), "web.timeouts: none of them can be zero");
        faults.extend(listen_faults("web.listen", &self.listen));
        faults
    }
}

/// Everything that is wrong with settings that were read, the file system included.
pub fn check(config: &Config) -> Vec<ConfigFault> {
    let mut faults = config.faults();
    if !config.root.as_os_str().is_empty() {
        faults.extend(file_faults(config));
    }
    faults
}

fn file_faults(config: &Config) -> Vec<ConfigFault> {
    let root = &config.root;
    match fs::metadata(root) {
        Err(e) => return vec![ConfigFault::new(format!("web.root {}: {e}", root.display()))],
        Ok(meta) if !meta.is_dir() => {
            return vec![ConfigFault::new(format!("web.root {}: not a directory", root.display()))];
        }
        Ok(_) => {}
    }
    let mut faults = Vec::new();
    for (key, page) in &config.error_pages {
        if let Err(e) = fs::metadata(root.join(page)) {
            let code = key.0.code();
            faults.push(ConfigFault::new(format!("web.error_pages.{code} {}: {e}", page.display())));
        }
    }
    let log_dir = config.access_log.path.as_deref().and_then(Path::parent);
    if let Some(dir) = log_dir.filter(|dir| !dir.as_os_str().is_empty() && !dir.is_dir()) {
        faults
            .push(ConfigFault::new(format!("web.access_log.path: no directory {}: make it", dir.display())));
    }
    faults
}
