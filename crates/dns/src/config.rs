//! The settings of a name server: `[dns]` of a TOML file, flags, or both.
//!
//! ```text
//!   [dns]  listen, mode, keys, congestion, fast_open, memory, nsid, version, allow_transfer, notify
//!   [[dns.zone]]  file, name, allow_transfer, notify, primaries, allow_notify
//!   [[dns.key]]   name, algorithm, secret            TSIG (RFC 8945)
//!   [dns.rrl] [dns.cookies] [dns.query_log] [dns.limits] [dns.timeouts]
//! ```
//! Each struct's default is the server's default; a file names what differs. Values that make no sense alone
//! are refused while they are read, with their line and column; what shows only when they are seen together,
//! or from the file system, is in [`check`].

mod check;
mod peer;
mod secret;
mod terms;

#[cfg(test)]
mod tests;

pub use check::check;
pub use peer::{KeyName, Network, Peer, Remote};
pub use secret::CookieSecret;

use serde::Deserialize;
use std::path::{Path, PathBuf};
use tidegate_base::Duration;
use tidegate_config::{ByteSize, Listen, Span};

/// All settings.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where queries come in. None: the embedded default, a virtual NIC of its own.
    pub listen: Vec<Listen>,
    /// The zones.
    #[serde(rename = "zone")]
    pub zones: Vec<ZoneConfig>,
    /// How ready answers get into frames.
    pub mode: AnswerMode,
    /// What ready answers are found by.
    pub keys: KeyForm,
    /// The congestion control of its connections, by name.
    pub congestion: String,
    /// Queries over TCP may come with the SYN (TCP Fast Open, RFC 7413).
    pub fast_open: bool,
    /// Bytes of memory for ready answers and their index.
    pub memory: ByteSize,
    /// Who this server is, for those who ask: the NSID option (RFC 5001) and `id.server.` (RFC 4892).
    pub nsid: Option<String>,
    /// What is said of its version, to `version.bind.`; empty: nothing.
    pub version: String,
    /// Whether changed zone files are followed without being told.
    pub watch: bool,
    /// Who may have whole zones, unless a zone says otherwise.
    pub allow_transfer: Vec<Peer>,
    /// Whom to tell that a zone has changed (RFC 1996), unless a zone says otherwise.
    pub notify: Vec<Remote>,
    /// Keys of transactions (RFC 8945).
    #[serde(rename = "key")]
    pub tsig_keys: Vec<KeyConfig>,
    /// How many like answers one network gets.
    pub rrl: RrlConfig,
    /// DNS cookies (RFC 7873).
    pub cookies: CookieConfig,
    /// Where queries are logged.
    pub query_log: QueryLogConfig,
    /// What a peer may use up.
    pub limits: Limits,
    /// How long a peer may take.
    pub timeouts: Timeouts,
}

/// One zone: a file of ours, or the copy of another server's.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZoneConfig {
    /// The zone's name. None: the owner of its SOA record; a copy must have one.
    #[serde(default)]
    pub name: Option<String>,
    /// The zone file; of a copy, where it is kept.
    pub file: PathBuf,
    /// Where it is copied from (RFC 5936, 1995). Some make it a secondary.
    #[serde(default)]
    pub primaries: Vec<Remote>,
    /// Who, besides the primaries, may say that it has changed.
    #[serde(default)]
    pub allow_notify: Vec<Peer>,
    /// Who may have all of it. None: as the server says.
    #[serde(default)]
    pub allow_transfer: Option<Vec<Peer>>,
    /// Whom to tell that it has changed. None: as the server says.
    #[serde(default)]
    pub notify: Option<Vec<Remote>>,
}

impl ZoneConfig {
    /// A zone of ours.
    pub fn of_file(name: Option<String>, file: PathBuf) -> Self {
        Self { name, file, primaries: vec![], allow_notify: vec![], allow_transfer: None, notify: None }
    }

    /// Whether it is copied from another server.
    pub const fn is_secondary(&self) -> bool {
        !self.primaries.is_empty()
    }
}

/// How ready answers get into frames (Sandstorm paper, section 2.2).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerMode {
    /// Behind the question, in the frame that it came in.
    #[default]
    InPlace,
    /// Copied into a fresh frame.
    Memcopy,
    /// In a frame that holds the answer already.
    PreCopy,
}

/// What ready answers are found by (Sandstorm paper, section 3.4: both forms).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyForm {
    /// The bytes of the question, as they lie in the query.
    #[default]
    Wire,
    /// The name decompressed and folded.
    Decompressed,
}

/// One key of transactions. The secret is here or, better, in a file of its own.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyConfig {
    /// Its name, the same at both ends.
    pub name: KeyName,
    /// Its algorithm.
    #[serde(default)]
    pub algorithm: KeyAlgorithm,
    /// The secret in base64.
    #[serde(default)]
    pub secret: Option<String>,
    /// A file with the secret in base64.
    #[serde(default)]
    pub secret_file: Option<PathBuf>,
}

/// How messages are signed (RFC 8945 section 6).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyAlgorithm {
    /// HMAC-SHA-1, which is still required of servers.
    HmacSha1,
    /// HMAC-SHA-224.
    HmacSha224,
    /// HMAC-SHA-256.
    #[default]
    HmacSha256,
    /// HMAC-SHA-384.
    HmacSha384,
    /// HMAC-SHA-512.
    HmacSha512,
}

/// How many like answers one network gets.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RrlConfig {
    /// The most a second; 0: no limit.
    pub responses_per_second: u32,
    /// The most errors a second; 0: as `responses_per_second`.
    pub errors_per_second: u32,
    /// The most a second of all kinds together; 0: no limit.
    pub all_per_second: u32,
    /// Of the answers over the limit, each so-many-th is sent short, with TC; 0: none, 1: all.
    pub slip: u32,
    /// Leading bits of an IPv4 address that make a network.
    pub ipv4_prefix_len: u8,
    /// Leading bits of an IPv6 address that make a network.
    pub ipv6_prefix_len: u8,
    /// Networks without a limit.
    pub exempt: Vec<Network>,
}

/// DNS cookies (RFC 7873).
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CookieConfig {
    /// Whether they are answered at all.
    pub enabled: bool,
    /// A file with secrets, shared by the servers of one address: a line of 32 hexadecimal digits each, the
    /// first being the one that signs. None: a random one of this process.
    pub secrets: Option<PathBuf>,
}

/// Where queries are logged.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QueryLogConfig {
    /// The file. None: no log.
    pub path: Option<PathBuf>,
    /// Each so-many-th query is logged.
    pub sample: u32,
}

/// What a peer may use up.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// The longest datagram sent, whatever the peer would take (RFC 9715).
    pub udp_size: u16,
    /// Most connections in all, over all workers.
    pub connections: u32,
    /// Most connections from one address (IPv6: from one /64), over all workers; 0 is no limit.
    pub connections_per_address: u32,
    /// Most queries under way on one connection (RFC 7766 section 6.2.1.1).
    pub pipelined: u16,
    /// Most queries on one connection; 0 is no limit.
    pub queries_per_connection: u32,
    /// Most whole zones under way at once, in each worker.
    pub transfers: u16,
    /// Most bytes of a zone's last steps kept, from which incremental transfers are made; 0: all transfers are
    /// whole ones.
    pub journal: ByteSize,
}

/// How long a peer may take.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timeouts {
    /// From one query to the next on a connection (RFC 7766 section 6.2.3).
    pub idle: Span,
    /// From a query's first byte to its last.
    pub query: Span,
    /// How long a primary may take for an answer.
    pub primary: Span,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            zones: Vec::new(),
            mode: AnswerMode::default(),
            keys: KeyForm::default(),
            congestion: "cubic".to_owned(),
            fast_open: false,
            memory: ByteSize(256 << 20),
            nsid: None,
            version: "Tidegate".to_owned(),
            watch: true,
            allow_transfer: Vec::new(),
            notify: Vec::new(),
            tsig_keys: Vec::new(),
            rrl: RrlConfig::default(),
            cookies: CookieConfig::default(),
            query_log: QueryLogConfig::default(),
            limits: Limits::default(),
            timeouts: Timeouts::default(),
        }
    }
}

impl Default for RrlConfig {
    fn default() -> Self {
        Self {
            responses_per_second: 0,
            errors_per_second: 0,
            all_per_second: 0,
            slip: 2,
            ipv4_prefix_len: 24,
            ipv6_prefix_len: 56,
            exempt: Vec::new(),
        }
    }
}

impl Default for CookieConfig {
    fn default() -> Self {
        Self { enabled: true, secrets: None }
    }
}

impl Default for QueryLogConfig {
    fn default() -> Self {
        Self { path: None, sample: 1 }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            udp_size: 1232,
            connections: 1 << 16,
            connections_per_address: 0,
            pipelined: 128,
            queries_per_connection: 0,
            transfers: 16,
            journal: ByteSize(16 << 20),
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            idle: Span(Duration::from_secs(10)),
            query: Span(Duration::from_secs(5)),
            primary: Span(Duration::from_secs(10)),
        }
    }
}

impl Config {
    /// Makes relative paths relative to `base`: the directory of the file that they stand in.
    pub fn resolve(&mut self, base: &Path) {
        let secrets = self.tsig_keys.iter_mut().filter_map(|key| key.secret_file.as_mut());
        let zones = self.zones.iter_mut().map(|zone| &mut zone.file);
        let own = self.cookies.secrets.iter_mut().chain(&mut self.query_log.path);
        for path in zones.chain(secrets).chain(own) {
            *path = base.join(&*path);
        }
    }

    /// Takes what a running server can take from settings that were read again: zones and who has to do with
    /// them, keys, rates, limits, timeouts.
    pub fn take_over(&mut self, new: &Self) {
        let Self { listen, mode, keys, memory, watch, query_log, .. } = self.clone();
        *self = Self { listen, mode, keys, memory, watch, query_log, ..new.clone() };
    }

    /// Files that are read, again at each reload, but for those that zone files include.
    pub fn read_files(&self) -> impl Iterator<Item = &Path> {
        let secrets = self.tsig_keys.iter().filter_map(|key| key.secret_file.as_deref());
        let zones = self.zones.iter().map(|zone| zone.file.as_path());
        zones.chain(secrets).chain(self.cookies.secrets.as_deref())
    }

    /// Files that are written: the copies of other servers' zones.
    pub fn written_files(&self) -> impl Iterator<Item = &Path> {
        self.zones.iter().filter(|zone| zone.is_secondary()).map(|zone| zone.file.as_path())
    }

    /// Who may have all of `zone`.
    pub fn transfer_peers<'a>(&'a self, zone: &'a ZoneConfig) -> &'a [Peer] {
        zone.allow_transfer.as_deref().unwrap_or(&self.allow_transfer)
    }

    /// Whom to tell that `zone` has changed.
    pub fn notified<'a>(&'a self, zone: &'a ZoneConfig) -> &'a [Remote] {
        zone.notify.as_deref().unwrap_or(&self.notify)
    }
}
