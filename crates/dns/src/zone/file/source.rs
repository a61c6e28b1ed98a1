//! Where a zone comes from, so that it can be read again.
//!
//! Reading happens on whatever thread asks, never on the data path. A reload gives a new zone or a reason; it
//! touches nothing that is served, so on a reason the old zone stays.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::{Catalog, Zone};
use super::error::FileError;
use crate::name::{Name, NameBuf};

/// A zone's name and its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneSource {
    apex: NameBuf,
    path: PathBuf,
}

impl ZoneSource {
    /// The zone `apex`, kept in the file at `path`.
    pub fn new(apex: &Name, path: impl Into<PathBuf>) -> Self {
        ZoneSource { apex: apex.to_owned(), path: path.into() }
    }

    /// The zone's name.
    pub fn apex(&self) -> &Name {
        &self.apex
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file.
    pub fn load(&self) -> Result<super::Loaded, FileError> {
        super::read(&self.path, &self.apex)
    }

    /// The catalog with this zone read anew, and the zone; `catalog` itself is as it was, whatever comes of it.
    pub fn reload(&self, catalog: &Catalog) -> Result<(Catalog, Arc<Zone>, Vec<FileError>), FileError> {
        let loaded = self.load()?;
        let zone = Arc::new(loaded.zone);
        Ok((catalog.with(Arc::clone(&zone)), zone, loaded.warnings))
    }
}
