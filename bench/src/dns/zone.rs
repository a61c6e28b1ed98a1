//! A zone to serve and the questions for it, as files in memory that every server and every client reads.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use tidegate_testbed::ScratchDir;

use super::generate::{self, NameCount};
use super::verify::Check;

const ZONE_FILE: &str = "zone";
const DNSPERF_FILE: &str = "dnsperf";
const KXDPGUN_FILE: &str = "kxdpgun";

/// A zone, its questions, and what must be true of answers; its files go when it is dropped.
#[derive(Debug)]
pub(crate) struct Zone {
    label: String,
    apex: String,
    name_count: u32,
    is_signed: bool,
    checks: Vec<Check>,
    directory: ScratchDir,
}

impl Zone {
    /// A zone of so many names.
    pub(crate) fn generate(count: NameCount) -> anyhow::Result<Zone> {
        let directory = ScratchDir::in_memory()?;
        let mut file = create(&directory, ZONE_FILE)?;
        generate::write_zone(count, &mut file).and_then(|()| file.flush()).context("write a zone")?;
        // Of clients on the Internet most send EDNS.
        let flags = ["E", "E", "E", ""];
        write_questions(&directory, generate::questions(count), flags)?;
        Ok(Zone {
            label: count.to_string(),
            apex: generate::APEX.into(),
            name_count: count.0,
            is_signed: false,
            checks: generate::checks(count),
            directory,
        })
    }

    /// A zone from a file, with questions from another.
    pub(crate) fn given(zone: &Path, apex: &str, questions: &Path) -> anyhow::Result<Zone> {
        let directory = ScratchDir::in_memory()?;
        let text = fs::read_to_string(zone).with_context(|| format!("read {}", zone.display()))?;
        let asked = fs::read_to_string(questions).with_context(|| format!("read {}", questions.display()))?;
        directory.write(ZONE_FILE, &text)?;
        let asked: Vec<_> = asked.lines().filter_map(question).collect();
        ensure!(!asked.is_empty(), "{}: no line is NAME TYPE", questions.display());
        write_questions(&directory, asked.iter().copied(), ["D", "D", "E"])?;
        let name = zone.file_name().unwrap_or(zone.as_os_str());
        Ok(Zone {
            label: name.to_string_lossy().into_owned(),
            apex: apex.into(),
            name_count: owner_count(&text),
            is_signed: text.contains("RRSIG"),
            checks: Vec::new(),
            directory,
        })
    }

    /// What people call it.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Its name.
    pub(crate) fn apex(&self) -> &str {
        &self.apex
    }

    /// How many names it has.
    pub(crate) fn name_count(&self) -> u32 {
        self.name_count
    }

    /// Whether clients ask for DNSSEC.
    pub(crate) fn is_signed(&self) -> bool {
        self.is_signed
    }

    /// What must be true of answers.
    pub(crate) fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// The zone file.
    pub(crate) fn file(&self) -> PathBuf {
        self.directory.join(ZONE_FILE)
    }

    /// How long the zone file is.
    pub(crate) fn file_len(&self) -> u64 {
        fs::metadata(self.file()).map_or(0, |metadata| metadata.len())
    }

    /// Questions as dnsperf reads them.
    pub(crate) fn dnsperf_questions(&self) -> PathBuf {
        self.directory.join(DNSPERF_FILE)
    }

    /// Questions as kxdpgun reads them.
    pub(crate) fn kxdpgun_questions(&self) -> PathBuf {
        self.directory.join(KXDPGUN_FILE)
    }
}

fn create(directory: &ScratchDir, name: &str) -> anyhow::Result<BufWriter<File>> {
    let path = directory.join(name);
    let file = File::create(&path).with_context(|| format!("create {}", path.display()))?;
    Ok(BufWriter::new(file))
}

/// `NAME TYPE`; what a line says more is left out.
fn question(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace();
    Some((words.next()?, words.next()?))
}

/// The same questions for both clients; `flags` in turn for kxdpgun, which can ask each in its own way (kxdpgun(8)).
fn write_questions<const N: usize>(
    directory: &ScratchDir,
    questions: impl Iterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
    flags: [&str; N],
) -> anyhow::Result<()> {
    let mut dnsperf = create(directory, DNSPERF_FILE)?;
    let mut kxdpgun = create(directory, KXDPGUN_FILE)?;
    for ((name, kind), flag) in questions.zip(flags.iter().cycle()) {
        let (name, kind) = (name.as_ref(), kind.as_ref());
        writeln!(dnsperf, "{name} {kind}")?;
        writeln!(kxdpgun, "{name} {} {flag}", known_to_kxdpgun(kind))?;
    }
    dnsperf.flush().and_then(|()| kxdpgun.flush()).context("write questions")
}

/// The type as kxdpgun reads it, which has no words for those that are obsolete (RFC 1035 section 3.3, RFC 3597 section 5).
fn known_to_kxdpgun(kind: &str) -> &str {
    match kind {
        "MD" => "TYPE3",
        "MF" => "TYPE4",
        "MAILB" => "TYPE253",
        "MAILA" => "TYPE254",
        known => known,
    }
}

/// How many different names own records, if every line begins with its owner.
fn owner_count(zone: &str) -> u32 {
    let owners = zone.lines().filter_map(|line| line.split_whitespace().next());
    let owners: std::collections::HashSet<&str> = owners.collect();
    owners.len() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clients_get_the_same_questions() {
        let zone = Zone::generate(NameCount(100)).unwrap();
        let lines = |path: PathBuf| fs::read_to_string(path).unwrap().lines().count();
        assert_eq!(lines(zone.dnsperf_questions()), lines(zone.kxdpgun_questions()));
        assert_eq!(zone.apex(), generate::APEX);
    }

    #[test]
    fn obsolete_types_go_to_kxdpgun_by_number() {
        let directory = ScratchDir::in_memory().unwrap();
        write_questions(&directory, [("a.", "MD"), ("b.", "MX")].into_iter(), ["E"]).unwrap();
        let lines = |file| fs::read_to_string(directory.join(file)).unwrap();
        assert_eq!(lines(KXDPGUN_FILE), "a. TYPE3 E\nb. MX E\n");
        assert_eq!(lines(DNSPERF_FILE), "a. MD\nb. MX\n");
    }

    #[test]
    fn a_line_of_somebody_elses_questions() {
        assert_eq!(question("UMR.COM. A"), Some(("UMR.COM.", "A")));
        assert_eq!(question("lonely"), None);
    }
}
