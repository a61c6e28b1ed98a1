//! Zone files: read at the start, and again when they have changed or somebody asks.
//!
//! Invariant: a file that cannot be read as a zone changes nothing but the list of faults: what was served of it
//! goes on being served.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_dns::Config;
use tidegate_dns::config::ZoneConfig;
use tidegate_dns::name::NameBuf;
use tidegate_dns::transfer::Relations;
use tidegate_dns::zone::{Zone, file};

/// What came of reading a zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneNews {
    /// Its name, or its file's where that is not known.
    pub zone: String,
    /// The version that is served now, if any is.
    pub serial: Option<u32>,
    /// Why what is in the file is not served: file, line, what is wrong.
    pub fault: Option<String>,
}

impl fmt::Display for ZoneNews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { zone, serial, fault } = self;
        match (fault, serial) {
            (None, Some(serial)) => write!(f, "zone {zone}: serial {serial}"),
            (None, None) => write!(f, "zone {zone}: not read"),
            (Some(fault), Some(serial)) => write!(f, "zone {zone}: serial {serial} stays, for {fault}"),
            (Some(fault), None) => write!(f, "zone {zone} is not served: {fault}"),
        }
    }
}

/// Whose zone files to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// All.
    All,
    /// Those whose files are not as they were.
    Changed,
    /// That zone's.
    Named(NameBuf),
}

impl Which {
    /// That zone's, by its name as text.
    pub fn named(zone: &str) -> crate::error::Result<Self> {
        let wrong = |_| crate::error::wrong_input(format!("`{}` is no name of a zone", zone.escape_debug()));
        zone.parse().map(Self::Named).map_err(wrong)
    }
}

/// All zone files of a server.
#[derive(Default)]
pub(crate) struct ZoneFiles {
    files: Vec<ZoneFile>,
}

/// One zone, and the files that it was read from.
struct ZoneFile {
    config: ZoneConfig,
    /// None: it was never read, and the configuration does not say.
    apex: Option<NameBuf>,
    stamps: Vec<(PathBuf, Option<Stamp>)>,
    serial: Option<u32>,
}

/// What tells one version of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let entry = fs::metadata(path).ok()?;
        let modified = (entry.mtime(), entry.mtime_nsec());
        Some(Self { device: entry.dev(), inode: entry.ino(), size: entry.size(), modified })
    }
}

/// Zones to publish, zones that are no longer ours, and what to say.
#[derive(Default)]
pub(crate) struct Harvest {
    pub(crate) zones: Vec<Arc<Zone>>,
    pub(crate) news: Vec<ZoneNews>,
}

impl ZoneFiles {
    /// How the zones relate to other servers, those included that are copies.
    pub(crate) fn relations(&self, config: &Config) -> Result<Relations, String> {
        let own = self.files.iter().filter_map(|file| Some((file.apex?, file)));
        let own = own.filter_map(|(apex, file)| Some((apex, config.zones.iter().find(|z| file.is_of(z))?)));
        let copied = config.zones.iter().filter(|zone| zone.is_secondary());
        config.relations(own.chain(copied.filter_map(|zone| Some((name_of(zone)?, zone)))))
    }

    /// The names of the zones, as far as they are known.
    pub(crate) fn names(&self) -> Vec<Option<NameBuf>> {
        self.files.iter().map(|file| file.apex).collect()
    }

    /// Zones that are ours by their name and were never read.
    pub(crate) fn unread(&self) -> Vec<NameBuf> {
        self.files.iter().filter(|file| file.serial.is_none()).filter_map(|file| file.apex).collect()
    }

    /// Goes on with these zones: new ones are to be read, those of another name or file too. Returns the names
    /// of those that are gone.
    pub(crate) fn reconfigure(&mut self, zones: &[ZoneConfig]) -> Vec<NameBuf> {
        let own: Vec<&ZoneConfig> = zones.iter().filter(|zone| !zone.is_secondary()).collect();
        let is_kept = |file: &ZoneFile| own.iter().any(|zone| file.is_of(zone));
        let (kept, gone): (Vec<_>, Vec<_>) = std::mem::take(&mut self.files).into_iter().partition(is_kept);
        self.files = kept;
        for zone in own {
            if !self.files.iter().any(|file| file.is_of(zone)) {
                self.files.push(ZoneFile::new(zone));
            }
        }
        let is_still_there = |apex: &NameBuf| zones.iter().any(|zone| name_of(zone).as_ref() == Some(apex));
        gone.into_iter().filter_map(|file| file.apex).filter(|apex| !is_still_there(apex)).collect()
    }

    /// Reads those files.
    pub(crate) fn read(&mut self, which: &Which) -> Harvest {
        let mut harvest = Harvest::default();
        for at in 0..self.files.len() {
            if self.files[at].is_meant(which) {
                let outcome = self.files[at].read().and_then(|zone| self.refuse_second(at, zone));
                harvest.add(&mut self.files[at], outcome);
            }
        }
        harvest
    }

    /// Two files of one zone would replace each other at every turn.
    fn refuse_second(&self, at: usize, zone: Zone) -> Result<Zone, String> {
        let is_same = |file: &&ZoneFile| file.apex.as_deref() == Some(zone.apex());
        match self.files[..at].iter().find(is_same) {
            Some(first) => {
                let (second, first) = (self.files[at].config.file.display(), first.config.file.display());
                Err(format!("{second}: {} is in {first} already: leave one out", zone.apex()))
            }
            None => Ok(zone),
        }
    }

    /// The directories that the files are in, each once: where changes are to be looked for, and what must stay
    /// readable.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        let files = self.files.iter().flat_map(|file| file.stamps.iter().map(|(path, _)| path));
        let configured = self.files.iter().map(|file| &file.config.file);
        let mut directories: Vec<PathBuf> =
            files.chain(configured).map(|path| tidegate_config::directory_of(path)).collect();
        directories.sort_unstable();
        directories.dedup();
        directories
    }
}

impl ZoneFile {
    fn new(config: &ZoneConfig) -> Self {
        Self { apex: name_of(config), config: config.clone(), stamps: Vec::new(), serial: None }
    }

    fn is_of(&self, config: &ZoneConfig) -> bool {
        self.config.file == config.file && self.config.name == config.name
    }

    fn is_meant(&self, which: &Which) -> bool {
        match which {
            Which::All => true,
            Which::Changed => {
                let has_changed = |(path, stamp): &(PathBuf, Option<Stamp>)| Stamp::of(path) != *stamp;
                self.stamps.is_empty() || self.stamps.iter().any(has_changed)
            }
            Which::Named(name) => self.apex.as_ref() == Some(name),
        }
    }

    /// Reads the file and those that it includes. Their stamps are taken before, so that what is changed
    /// meanwhile is seen to be.
    fn read(&mut self) -> Result<Zone, String> {
        let path = self.config.file.clone();
        for (path, stamp) in &mut self.stamps {
            *stamp = Stamp::of(path);
        }
        let own = (path.clone(), Stamp::of(&path));
        if !self.stamps.iter().any(|(known, _)| *known == path) {
            self.stamps.push(own);
        }
        let apex = match name_of(&self.config) {
            Some(apex) => apex,
            None => file::apex(&path).map_err(|error| error.to_string())?,
        };
        let loaded = file::read(&path, &apex).map_err(|error| error.to_string())?;
        for warning in &loaded.warnings {
            tracing::warn!("{warning}");
        }
        self.note_files(&loaded.files);
        self.apex = Some(apex);
        Ok(loaded.zone)
    }

    /// What was included this time is looked at from now on, as it was when it was read.
    fn note_files(&mut self, files: &[PathBuf]) {
        self.stamps.retain(|(path, _)| files.contains(path));
        for path in files {
            if !self.stamps.iter().any(|(known, _)| known == path) {
                self.stamps.push((path.clone(), Stamp::of(path)));
            }
        }
    }

    fn label(&self) -> String {
        let name = self.apex.as_ref().map(ToString::to_string);
        name.unwrap_or_else(|| self.config.file.display().to_string())
    }
}

impl Harvest {
    fn add(&mut self, file: &mut ZoneFile, outcome: Result<Zone, String>) {
        let fault = match outcome {
            Ok(zone) => {
                file.serial = Some(zone.serial());
                self.zones.push(Arc::new(zone));
                None
            }
            Err(fault) => Some(fault),
        };
        self.news.push(ZoneNews { zone: file.label(), serial: file.serial, fault });
    }
}

/// The name that the configuration gives a zone; it was checked to be one.
pub(crate) fn name_of(config: &ZoneConfig) -> Option<NameBuf> {
    config.name.as_deref().and_then(|name| name.parse().ok())
}

#[cfg(test)]
mod tests;
