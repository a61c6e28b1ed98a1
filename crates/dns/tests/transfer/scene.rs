//! What the tests have in common: zones in versions, who may do what, and kdig.

use crate::ours::Ours;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_dns::name::{Folded, NameBuf};
use tidegate_dns::transfer::{Acl, Copied, Relation, Relations, Remote, Rule};
use tidegate_dns::tsig::{Key, Keyring};
use tidegate_dns::zone::{Zone, file};
use tidegate_testbed::{Layout, ScratchDir, Testbed};

pub(crate) const APEX: &str = "example.test.";
pub(crate) const SECRET: &str = "dGlkZWdhdGUgdHJhbnNmZXIgc2VjcmV0";
pub(crate) const KEY: &str = "transfer.key.";
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

pub(crate) fn apex() -> NameBuf {
    APEX.parse().unwrap()
}

pub(crate) fn key() -> Key {
    Key::parse(KEY, "hmac-sha256", SECRET).unwrap()
}

pub(crate) fn keyring() -> Keyring {
    [key()].into_iter().collect()
}

pub(crate) fn testbed() -> Arc<Testbed> {
    Arc::new(Testbed::new(&Layout::unpinned()).expect("a testbed (as root)"))
}

/// The text of a zone with `host_count` hosts, of which each third changes with the version.
pub(crate) fn zone_text(serial: u32, host_count: u32, timers: &str) -> String {
    let mut text = format!(
        "$ORIGIN {APEX}\n$TTL 300\n@ SOA ns host {serial} {timers} 60\n@ NS ns\n@ NS ns.elsewhere.test.\n\
         ns A 192.0.2.1\n@ MX 10 mail\nmail A 192.0.2.2\n@ TXT \"a text\" \"of two\"\n*.wild CNAME ns\n\
         _sip._udp SRV 1 2 5060 ns\nsub NS ns.sub\nns.sub A 192.0.2.3\n@ CAA 0 issue \"ca.test\"\n\
         odd TYPE65280 \\# 3 010203\nd DNAME elsewhere.test.\n"
    );
    for host in 0..host_count {
        let version = if host % 3 == 0 { serial } else { 0 };
        text += &format!("host{host} A 10.{}.{}.{}\n", version % 256, host / 256 % 256, host % 256);
    }
    text
}

pub(crate) const TIMERS: &str = "3600 600 86400";

pub(crate) fn zone(serial: u32, host_count: u32) -> Arc<Zone> {
    let text = zone_text(serial, host_count, TIMERS);
    Arc::new(file::read_text("test", text.as_bytes(), &apex()).expect("a good zone").zone)
}

/// Who may have the zone from us.
pub(crate) fn allow(network: Option<&str>, key: Option<&str>) -> Acl {
    let network = network.map(|address| (address.parse::<IpAddr>().unwrap(), 24));
    [Rule { network, key: key.map(|key| key.parse().unwrap()) }].into_iter().collect()
}

/// Our relations as a primary.
pub(crate) fn as_primary(allow_transfer: Acl, notify: &[SocketAddr], key: Option<&Key>) -> Relations {
    let remote = |address: &SocketAddr| Remote { address: *address, key: key.cloned().map(Arc::new) };
    let relation =
        Relation { allow_transfer, notify: notify.iter().map(remote).collect(), ..Relation::default() };
    Relations::new(keyring(), [(apex(), relation)])
}

/// Our relations as a secondary.
pub(crate) fn as_secondary(primary: SocketAddr, key: Option<Key>, file: PathBuf) -> Relations {
    let primaries = vec![Remote { address: primary, key: key.map(Arc::new) }];
    let copied = Copied { primaries, allow_notify: Acl::default(), file };
    let allow_transfer = allow(Some("10.78.0.0"), None);
    let relation = Relation { copied: Some(copied), allow_transfer, ..Relation::default() };
    Relations::new(keyring(), [(apex(), relation)])
}

impl Ours {
    /// The version that we serve.
    pub(crate) fn zone(&self) -> Option<Arc<Zone>> {
        let catalog = self.exchange.served().catalog().load_full();
        catalog.hosting(&Folded::of(&apex()))?.zone().cloned()
    }
}

/// All records as text, in order.
pub(crate) fn listing(zone: &Zone) -> Vec<String> {
    let line =
        |r: tidegate_dns::zone::Record<'_>| format!("{} {} {} {:02x?}", r.owner, r.ttl, r.rtype, r.rdata);
    zone.records().map(line).collect()
}

/// What kdig prints, run beside the peers.
pub(crate) fn kdig(bed: &Testbed, arguments: &str) -> String {
    let mut command = Command::new("kdig");
    command.args(arguments.split_whitespace());
    let output = bed.client().output(command).expect("kdig");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The zone as kdig gets it by AXFR, its lines sorted and the second SOA left out.
pub(crate) fn axfr(bed: &Testbed, server: &str, more: &str) -> Vec<String> {
    let said = kdig(bed, &format!("{server} {APEX} AXFR +noall +answer +nocrypto {more}"));
    let mut lines: Vec<String> =
        said.lines().filter(|line| !line.starts_with(';') && !line.is_empty()).map(str::to_owned).collect();
    lines.sort();
    lines.dedup();
    lines
}

pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub(crate) fn scratch() -> ScratchDir {
    ScratchDir::new().expect("a scratch directory")
}

/// Where a copy of ours is kept.
pub(crate) fn kept(dir: &ScratchDir) -> PathBuf {
    dir.join("kept")
}
