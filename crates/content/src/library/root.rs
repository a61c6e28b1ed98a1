//! The directory that is served: open, watched, and known by its listings.
//!
//! A root that is named through a link (`current -> releases/7`) is followed when the link is turned: the new
//! directory is looked at whole, and its catalogue replaces the old one in one step.
//!
//! Invariant: directory, watch and tree are of the same real path.

use super::tree::Tree;
use std::io;
use std::path::{Path, PathBuf};
use tidegate_sys::event::{TreeWatch, WatchError};
use tidegate_sys::file::Directory;

/// A root and all that is needed to serve from it.
pub(crate) struct Root {
    named: PathBuf,
    pub(crate) directory: Directory,
    pub(crate) watch: Option<TreeWatch>,
    pub(crate) tree: Tree,
}

impl Root {
    /// Opens the directory at `named`, and watches it if asked to. That it cannot be watched is said beside it:
    /// it can be served all the same.
    pub(crate) fn open(named: &Path, is_watched: bool) -> io::Result<(Self, Option<WatchError>)> {
        let directory = Directory::new(named)?;
        let watch = is_watched.then(|| TreeWatch::new(directory.real())).transpose();
        let (watch, watch_error) = watch.map_or_else(|error| (None, Some(error)), |watch| (watch, None));
        let tree = Tree::new(directory.real().to_owned());
        Ok((Self { named: named.to_owned(), directory, watch, tree }, watch_error))
    }

    /// Whether the name may come to mean another directory.
    pub(crate) fn is_link(&self) -> bool {
        self.named != self.directory.real()
    }

    /// The directory that the name means now, if it is another.
    pub(crate) fn successor(&self, is_watched: bool) -> Option<Self> {
        let real = self.named.canonicalize().ok()?;
        let has_moved = real != self.directory.real();
        has_moved.then(|| Self::open(&self.named, is_watched)).and_then(Result::ok).map(|(root, _)| root)
    }
}
