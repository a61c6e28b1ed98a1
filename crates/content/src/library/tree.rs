//! The loader's view of the tree, from which catalogues are made.
//!
//! A change is applied one directory at a time: that directory is listed again, what vanished is taken out,
//! what is new is put in, and documents whose files are the same stay. The first scan is the same step, taken
//! at the root with nothing known.
//!
//! Invariant: the catalogue has an entry for exactly the files and directories of all listings.

use super::catalogue::{Catalogue, Entry};
use super::document::{Document, Variant};
use super::encoding::Encoding;
use super::listing::{FoundFile, Listing};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is known to have changed since the tree was looked at.
#[derive(Default)]
pub(crate) struct Changes {
    /// Directories to list again.
    pub(crate) directories: BTreeSet<Box<[u8]>>,
    /// Files that are new even if they look the same: written twice within the clock's tick.
    pub(crate) files: HashSet<Box<[u8]>>,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.directories.is_empty()
    }
}

/// The directories as they were listed last.
pub(crate) struct Tree {
    root: PathBuf,
    listings: HashMap<Box<[u8]>, Listing>,
    /// Directories in which something was reached through a link: listed again at any change.
    linked: BTreeSet<Box<[u8]>>,
}

impl Tree {
    /// A tree of which nothing is known yet; `root` has no links in it.
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, listings: HashMap::new(), linked: BTreeSet::new() }
    }

    /// Forgets what was listed, so that [`Tree::everything`] is all new.
    pub(crate) fn clear(&mut self) {
        self.listings.clear();
        self.linked.clear();
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// All directories, to be looked at again.
    pub(crate) fn everything(&self) -> Changes {
        let root = std::iter::once(Box::from(&b""[..]));
        let directories = self.listings.keys().cloned().chain(root).collect();
        Changes { directories, files: HashSet::new() }
    }

    /// The catalogue that follows `current` by `changes`.
    pub(crate) fn apply(&mut self, mut changes: Changes, current: &Catalogue) -> Catalogue {
        let mut next = current.successor();
        changes.directories.extend(self.linked.iter().cloned());
        for directory in std::mem::take(&mut changes.directories) {
            self.refresh(&directory, &changes.files, &mut next);
        }
        next
    }

    /// Lists one directory again, and new ones in it.
    fn refresh(&mut self, path: &[u8], changed: &HashSet<Box<[u8]>>, catalogue: &mut Catalogue) {
        let is_known = path.is_empty() || matches!(catalogue.find(path), Some(Entry::Directory(_)));
        let Some(listing) = Listing::read(&self.root, path).ok().filter(|_| is_known) else {
            return self.forget(path, catalogue);
        };
        let old = self.listings.remove(path).unwrap_or_default();
        let is_gone = |name: &&[u8]| listing.directories.binary_search_by(|d| (**d).cmp(name)).is_err();
        for name in old.directories.iter().map(|name| &**name).filter(is_gone) {
            self.forget(&join(path, name), catalogue);
        }
        for file in old.files.iter().filter(|file| listing.file(&file.name).is_none()) {
            catalogue.remove(&join(path, &file.name));
        }
        catalogue.put(Entry::Directory(path.into()));
        put_files(path, &listing, changed, catalogue);
        self.note_links(path, &listing);
        let new = listing.directories.iter().map(|name| join(path, name));
        let new: Vec<_> = new.filter(|child| !self.listings.contains_key(child)).collect();
        self.listings.insert(path.into(), listing);
        for child in new {
            catalogue.put(Entry::Directory((*child).into()));
            self.refresh(&child, changed, catalogue);
        }
    }

    /// Takes a directory out, and all below it.
    fn forget(&mut self, path: &[u8], catalogue: &mut Catalogue) {
        let Some(listing) = self.listings.remove(path) else { return };
        self.linked.remove(path);
        catalogue.remove(path);
        for file in &listing.files {
            catalogue.remove(&join(path, &file.name));
        }
        for name in &listing.directories {
            self.forget(&join(path, name), catalogue);
        }
    }

    fn note_links(&mut self, path: &[u8], listing: &Listing) {
        let full = self.root.join(OsStr::from_bytes(path));
        let is_real = full.canonicalize().is_ok_and(|real| real == full);
        if listing.has_links || !is_real {
            self.linked.insert(path.into());
        } else {
            self.linked.remove(path);
        }
    }
}

/// Puts the documents of a directory into the catalogue, except those that are there already.
fn put_files(path: &[u8], listing: &Listing, changed: &HashSet<Box<[u8]>>, catalogue: &mut Catalogue) {
    for file in &listing.files {
        let full = join(path, &file.name);
        let variants = variants(file, listing);
        let is_rewritten = |v: &Variant| changed.contains(&*[&full, v.encoding.suffix()].concat());
        let is_current =
            matches!(catalogue.find(&full), Some(Entry::File(known)) if known.is_same(&variants));
        if !is_current || variants.iter().any(is_rewritten) {
            catalogue.put(Entry::File(Arc::new(Document::new(full, variants))));
        }
    }
}

/// The codings of a file that lie beside it.
fn variants(file: &FoundFile, listing: &Listing) -> Box<[Variant]> {
    let variant = |encoding: Encoding| {
        let found = listing.file(&[&file.name, encoding.suffix()].concat())?;
        Some(Variant::new(encoding, found.meta))
    };
    Encoding::ALL.into_iter().filter_map(variant).collect()
}

fn join(directory: &[u8], name: &[u8]) -> Box<[u8]> {
    if directory.is_empty() { name.into() } else { [directory, b"/", name].concat().into_boxed_slice() }
}
