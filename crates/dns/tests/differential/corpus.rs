//! The corpus: sets of zone files, and the names that occur in them.
//!
//! A set is what one server serves at a time. Owners are read from the text by the few rules that the corpus keeps
//! (one record a line, `$ORIGIN` first), so that a fault of our zone parser cannot hide the names that it loses.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tidegate_testbed::ZoneFile;

/// A name in wire format, letters as they are written in the file.
pub(crate) type Wire = Vec<u8>;

/// Zones that are served together.
pub(crate) struct Set {
    pub(crate) zones: Vec<ZoneFile>,
    pub(crate) owners: BTreeSet<Wire>,
}

impl Set {
    /// Every zone file in these directories of the corpus.
    pub(crate) fn of(dirs: &[&str]) -> Set {
        let mut paths: Vec<PathBuf> = dirs.iter().flat_map(|dir| zone_files(&corpus().join(dir))).collect();
        paths.sort();
        Set::from(paths.into_iter().map(|path| ZoneFile { apex: apex_of(&path), path }).collect())
    }

    /// These zones.
    pub(crate) fn from(zones: Vec<ZoneFile>) -> Set {
        let owners =
            zones.iter().flat_map(|zone| owners_in(&fs::read_to_string(&zone.path).unwrap())).collect();
        Set { zones, owners }
    }
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../dns/tests/differential/zones")
}

fn zone_files(dir: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "zone")).collect()
}

/// `NAME.zone` holds the zone NAME, and `root.zone` the root.
fn apex_of(path: &Path) -> String {
    match path.file_stem().unwrap().to_str().unwrap() {
        "root" => ".".into(),
        apex => format!("{apex}."),
    }
}

/// The owner of each line that has one.
fn owners_in(text: &str) -> BTreeSet<Wire> {
    let mut origin = vec![0];
    let mut owners = BTreeSet::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("$ORIGIN ") {
            origin = name_from_text(name.trim(), &[0]);
        } else if !line.starts_with([' ', '\t', ';', '$']) && !line.is_empty() {
            owners.insert(name_from_text(line.split_whitespace().next().unwrap_or("@"), &origin));
        }
    }
    owners
}

/// A name from presentation format: RFC 1035 5.1.
pub(crate) fn name_from_text(text: &str, origin: &[u8]) -> Wire {
    if text == "@" {
        return origin.to_vec();
    }
    let mut wire = Wire::new();
    let mut label = Vec::new();
    let mut octets = text.bytes();
    while let Some(octet) = octets.next() {
        match octet {
            b'.' => close_label(&mut wire, &mut label),
            b'\\' => label.push(escaped(&mut octets)),
            plain => label.push(plain),
        }
    }
    let absolute = label.is_empty();
    close_label(&mut wire, &mut label);
    wire.extend_from_slice(if absolute { &[0] } else { origin });
    wire
}

fn close_label(wire: &mut Wire, label: &mut Vec<u8>) {
    if !label.is_empty() {
        wire.push(label.len() as u8);
        wire.append(label);
    }
}

/// `\DDD` is an octet by its number, `\X` is X itself.
fn escaped(octets: &mut std::str::Bytes<'_>) -> u8 {
    let first = octets.next().unwrap();
    if !first.is_ascii_digit() {
        return first;
    }
    let digits = [first, octets.next().unwrap(), octets.next().unwrap()];
    digits.iter().fold(0, |number, digit| number * 10 + (digit - b'0'))
}

/// The name without its first label; the root has no parent.
pub(crate) fn parent(name: &[u8]) -> Option<&[u8]> {
    match name.first() {
        None | Some(0) => None,
        Some(len) => name.get(1 + usize::from(*len)..),
    }
}

/// `label` put in front, if the result is a name at all.
pub(crate) fn child(label: &[u8], name: &[u8]) -> Option<Wire> {
    let wire: Wire = [&[label.len() as u8], label, name].concat();
    (wire.len() <= 255).then_some(wire)
}
