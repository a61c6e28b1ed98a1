//! What is wrong with settings as they stand together.

use super::{Config, KeyConfig, KeyName, Peer, Remote, ZoneConfig};
use crate::name::NameBuf;
use std::fs;
use tidegate_base::Duration;
use tidegate_config::{ConfigFault, directory_of, listen_faults};

/// The least that EDNS promises (RFC 6891 section 6.2.3), and the most that a datagram holds.
const UDP_SIZES: std::ops::RangeInclusive<u16> = 512..=4096;

/// Everything that is wrong with settings that were read, the file system included, but for what is in the
/// zone files.
pub fn check(config: &Config) -> Vec<ConfigFault> {
    let mut faults = value_faults(config);
    faults.extend(config.zones.iter().flat_map(zone_faults));
    faults.extend(repeated_names(&config.zones));
    faults.extend(config.tsig_keys.iter().filter_map(key_fault));
    faults.extend(unknown_keys(config));
    faults.extend(listen_faults("dns.listen", &config.listen));
    faults.extend(file_faults(config));
    faults
}

fn value_faults(config: &Config) -> Vec<ConfigFault> {
    let mut faults = Vec::new();
    let mut expect = |holds: bool, message: &str| {
        if !holds {
            faults.push(ConfigFault::new(message));
        }
    };
    let (limits, timeouts, rrl) = (&config.limits, &config.timeouts, &config.rrl);
    expect(
        !config.zones.is_empty(),
        "dns.zone: name a zone file ([[dns.zone]] with file = \"FILE\", or --zone FILE)",
    );
    expect(config.memory.0 >= 1 << 20, "dns.memory: choose 1MiB or more");
    let nsid_len = config.nsid.as_ref().map_or(1, String::len);
    expect((1..=128).contains(&nsid_len), "dns.nsid: choose 1 to 128 bytes, or leave it out");
    expect(config.version.len() <= 255, "dns.version: choose 255 bytes at most");
    expect(rrl.ipv4_prefix_len <= 32, "dns.rrl.ipv4_prefix_len: choose 0 to 32 bits");
    expect(rrl.ipv6_prefix_len <= 128, "dns.rrl.ipv6_prefix_len: choose 0 to 128 bits");
    expect(config.query_log.sample > 0, "dns.query_log.sample: choose 1 for every query, or more");
    expect(UDP_SIZES.contains(&limits.udp_size), "dns.limits.udp_size: choose 512 to 4096 bytes");
    expect(limits.connections > 0, "dns.limits.connections: choose 1 or more");
    expect(limits.pipelined > 0, "dns.limits.pipelined: choose 1 or more");
    let spans = [timeouts.idle, timeouts.query, timeouts.primary];
    expect(spans.iter().all(|span| span.0 > Duration::ZERO), "dns.timeouts: none of them can be zero");
    faults
}

fn zone_faults(zone: &ZoneConfig) -> Option<ConfigFault> {
    let file = zone.file.display();
    if let Some(name) = zone.name.as_ref().filter(|name| name.parse::<NameBuf>().is_err()) {
        return Some(ConfigFault::new(format!("dns.zone {name}: that is no domain name")));
    }
    if !zone.is_secondary() {
        let error = fs::File::open(&zone.file).and_then(|file| not_a_directory(&file)).err()?;
        return Some(ConfigFault::new(format!("dns.zone {file}: {error}")));
    }
    if zone.name.is_none() {
        return Some(ConfigFault::new(format!(
            "dns.zone {file}: it has primaries, so say which zone it is: name = \"example.org\""
        )));
    }
    let directory = directory_of(&zone.file);
    (!directory.is_dir()).then(|| {
        let directory = directory.display();
        ConfigFault::new(format!("dns.zone {file}: no directory {directory} to keep it in: make it"))
    })
}

fn not_a_directory(file: &fs::File) -> std::io::Result<()> {
    match file.metadata()?.is_dir() {
        true => Err(std::io::ErrorKind::IsADirectory.into()),
        false => Ok(()),
    }
}

fn repeated_names(zones: &[ZoneConfig]) -> impl Iterator<Item = ConfigFault> {
    let name = |zone: &ZoneConfig| zone.name.as_ref()?.parse::<NameBuf>().ok();
    zones.iter().enumerate().filter_map(move |(at, zone)| {
        let own = name(zone)?;
        let is_repeated = zones[..at].iter().any(|other| name(other).as_ref() == Some(&own));
        is_repeated.then(|| ConfigFault::new(format!("dns.zone {own}: named twice, leave one out")))
    })
}

fn key_fault(key: &KeyConfig) -> Option<ConfigFault> {
    let message = match (&key.secret, &key.secret_file) {
        (None, None) => "no secret: add secret = \"BASE64\" or secret_file = \"FILE\"".to_owned(),
        (Some(_), Some(_)) => "secret and secret_file: leave one out".to_owned(),
        _ => key.secret_bytes().err()?,
    };
    Some(ConfigFault::new(format!("dns.key {}: {message}", key.name)))
}

fn unknown_keys(config: &Config) -> impl Iterator<Item = ConfigFault> {
    let zones = &config.zones;
    let peers = config
        .allow_transfer
        .iter()
        .chain(zones.iter().flat_map(|zone| zone.allow_transfer.iter().flatten().chain(&zone.allow_notify)));
    let remotes = config
        .notify
        .iter()
        .chain(zones.iter().flat_map(|zone| zone.notify.iter().flatten().chain(&zone.primaries)));
    let of_peers = peers.filter_map(|Peer { key, .. }| key.as_ref());
    let mut named: Vec<&KeyName> = Vec::new();
    for name in of_peers.chain(remotes.filter_map(|Remote { key, .. }| key.as_ref())) {
        if !named.contains(&name) {
            named.push(name);
        }
    }
    named.into_iter().filter(|name| config.tsig_keys.iter().all(|key| key.name != **name)).map(|name| {
        ConfigFault::new(format!("key {name}: there is none of that name, add it below [[dns.key]]"))
    })
}

fn file_faults(config: &Config) -> Vec<ConfigFault> {
    let mut faults = Vec::new();
    if let Err(message) = config.cookies.secrets() {
        faults.push(ConfigFault::new(format!("dns.cookies.secrets: {message}")));
    }
    let log_dir = config.query_log.path.as_deref().map(directory_of);
    if let Some(dir) = log_dir.filter(|dir| !dir.is_dir()) {
        faults.push(ConfigFault::new(format!("dns.query_log.path: no directory {}: make it", dir.display())));
    }
    faults
}
