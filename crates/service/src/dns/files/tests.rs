//! What is read again, and what of it replaces what was there.

use super::*;
use std::sync::atomic::{AtomicU32, Ordering};

const HEAD: &str = "$TTL 1h\n@ IN SOA ns hostmaster 1 4h 15m 4w 5m\n@ IN NS ns\nns IN A 192.0.2.1\n";

/// A directory with zone files, removed at the end.
struct Zones(PathBuf);

impl Zones {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tidegate-zones-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary directory");
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).expect("written");
        path
    }

    /// The zone with that serial.
    fn version(&self, name: &str, serial: u32) -> PathBuf {
        self.write(name, &HEAD.replace(" 1 4h", &format!(" {serial} 4h")))
    }
}

impl Drop for Zones {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn named(name: &str, file: PathBuf) -> ZoneConfig {
    ZoneConfig::of_file(Some(name.to_owned()), file)
}

fn of(zones: &[ZoneConfig]) -> (ZoneFiles, Harvest) {
    let mut files = ZoneFiles::default();
    assert!(files.reconfigure(zones).is_empty());
    let harvest = files.read(&Which::All);
    (files, harvest)
}

#[test]
fn a_broken_file_keeps_the_serial_that_is_served() {
    let zones = Zones::new();
    let (mut files, harvest) = of(&[named("example.org", zones.version("a", 7))]);
    assert_eq!((harvest.zones.len(), harvest.news[0].serial), (1, Some(7)));
    zones.write("a", &format!("{HEAD}oops IN A not-an-address\n"));
    let harvest = files.read(&Which::Changed);
    assert!(harvest.zones.is_empty());
    let news = &harvest.news[0];
    let fault = news.fault.as_deref().expect("a fault");
    assert!(news.serial == Some(7) && fault.contains("/a:5: "), "{news}");
    assert!(files.read(&Which::Changed).news.is_empty(), "what is known to be broken is not read again");
}

#[test]
fn what_has_not_changed_is_left_alone() {
    let zones = Zones::new();
    let (one, two) = (zones.version("one", 1), zones.version("two", 1));
    let (mut files, _) = of(&[named("one.example", one), named("two.example", two)]);
    assert!(files.read(&Which::Changed).news.is_empty());
    zones.version("two", 2222);
    let harvest = files.read(&Which::Changed);
    assert_eq!(harvest.news.len(), 1);
    assert_eq!(harvest.news[0].to_string(), "zone two.example.: serial 2222");
    let harvest = files.read(&Which::Named("ONE.example".parse().expect("a name")));
    assert_eq!(harvest.news[0].to_string(), "zone one.example.: serial 1");
}

#[test]
fn a_change_of_an_included_file_is_one_of_the_zone() {
    let zones = Zones::new();
    zones.write("hosts", "www IN A 192.0.2.80\n");
    let file = zones.write("zone", &format!("{HEAD}$INCLUDE hosts\n"));
    let (mut files, harvest) = of(&[named("example.org", file)]);
    assert_eq!(harvest.news[0].fault, None);
    assert!(files.read(&Which::Changed).news.is_empty());
    zones.write("hosts", "www IN A 192.0.2.81\nmail IN A 192.0.2.25\n");
    assert_eq!(files.read(&Which::Changed).zones.len(), 1);
}

#[test]
fn the_name_may_come_from_the_file_and_is_taken_once() {
    let zones = Zones::new();
    let text = format!("$ORIGIN example.org.\n{HEAD}");
    let unnamed = |name: &str| ZoneConfig::of_file(None, zones.write(name, &text));
    let (_, harvest) = of(&[unnamed("first"), unnamed("second")]);
    assert_eq!(harvest.news[0].to_string(), "zone example.org.: serial 1");
    let fault = harvest.news[1].fault.as_deref().expect("a fault");
    assert!(fault.contains("/second: example.org. is in ") && fault.contains("leave one out"), "{fault}");
}

#[test]
fn zones_come_and_go_with_the_configuration() {
    let zones = Zones::new();
    let (one, two) = (zones.version("one", 1), zones.version("two", 1));
    let (mut files, _) = of(&[named("one.example", one), named("two.example", two.clone())]);
    let gone = files.reconfigure(&[named("two.example", two), named("three.example", zones.version("x", 3))]);
    assert_eq!(gone.iter().map(ToString::to_string).collect::<Vec<_>>(), ["one.example."]);
    assert_eq!(files.read(&Which::Changed).news[0].to_string(), "zone three.example.: serial 3");
    let moved = named("two.example", zones.version("elsewhere", 4));
    assert!(files.reconfigure(&[moved]).iter().all(|gone| gone.to_string() != "two.example."));
}
