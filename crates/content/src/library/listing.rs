//! What lies in one directory: the files and directories a peer may reach.
//!
//! Links are followed as long as they stay below the root and lead into no circle. What is listed is checked
//! again when it is opened (see `tidegate_sys::file`), so a tree that changes meanwhile gives nothing away.
//!
//! Invariant: only regular files and directories are listed, sorted by name.

use super::document::FileMeta;
use std::ffi::OsStr;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Directories below each other that are entered; deeper ones are not served.
const DEPTH_MAX: usize = 64;

/// A file and its name in the directory.
pub(crate) struct FoundFile {
    pub(crate) name: Box<[u8]>,
    pub(crate) meta: FileMeta,
}

/// One directory's content.
#[derive(Default)]
pub(crate) struct Listing {
    pub(crate) files: Vec<FoundFile>,
    pub(crate) directories: Vec<Box<[u8]>>,
    /// Whether something in it was reached through a link, so that a change elsewhere may be one here.
    pub(crate) has_links: bool,
}

impl Listing {
    /// Lists the directory at `path` below `root`, which has no links in it.
    pub(crate) fn read(root: &Path, path: &[u8]) -> io::Result<Self> {
        let mut listing = Self::default();
        for entry in fs::read_dir(root.join(OsStr::from_bytes(path)))? {
            let entry = entry?;
            // What vanished since it was read, or cannot be looked at, is not there.
            if let Ok(metadata) = listing.resolve(root, path, &entry) {
                listing.add(entry.file_name().into_vec().into_boxed_slice(), &metadata, path);
            }
        }
        listing.files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        listing.directories.sort_unstable();
        Ok(listing)
    }

    /// The file called `name`.
    pub(crate) fn file(&self, name: &[u8]) -> Option<&FoundFile> {
        let index = self.files.binary_search_by(|file| (*file.name).cmp(name)).ok()?;
        self.files.get(index)
    }

    fn add(&mut self, name: Box<[u8]>, metadata: &Metadata, path: &[u8]) {
        if metadata.is_file() {
            self.files.push(FoundFile { name, meta: FileMeta::of(metadata) });
        } else if metadata.is_dir() && depth(path) < DEPTH_MAX {
            self.directories.push(name);
        }
    }

    /// What the entry is, or the link leads to.
    fn resolve(&mut self, root: &Path, path: &[u8], entry: &DirEntry) -> io::Result<Metadata> {
        if !entry.file_type()?.is_symlink() {
            return entry.metadata();
        }
        self.has_links = true;
        let target = entry.path().canonicalize()?;
        let metadata = target.metadata()?;
        let is_circle = || metadata.is_dir() && leads_back(root, path, &target);
        if !target.starts_with(root) || is_circle() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(metadata)
    }
}

fn depth(path: &[u8]) -> usize {
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).count()
}

/// Whether `target` is the directory at `path` or one on the way there.
fn leads_back(root: &Path, path: &[u8], target: &Path) -> bool {
    let full: PathBuf = root.join(OsStr::from_bytes(path));
    let on_the_way = full.ancestors().take_while(|above| above.starts_with(root));
    on_the_way.filter_map(|above| above.canonicalize().ok()).any(|real| real == target)
}
