//! Which paths there are, at one moment.
//!
//! Invariant: a catalogue that workers can see never changes; a change of the tree makes another, which
//! shares all documents that are the same.

use super::document::Document;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use std::sync::Arc;

/// What is at a path.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A file.
    File(Arc<Document>),
    /// A directory, by its path without slashes at its ends; the root's is empty.
    Directory(Arc<[u8]>),
}

impl Entry {
    fn path(&self) -> &[u8] {
        match self {
            Self::File(document) => document.path(),
            Self::Directory(path) => path,
        }
    }
}

/// Everything below the root, by path.
#[derive(Clone, Default)]
pub(crate) struct Catalogue {
    entries: HashTable<Entry>,
    hasher: RandomState,
    generation: u64,
}

impl Catalogue {
    /// Which catalogue of its library this is; each has another number.
    pub(crate) const fn generation(&self) -> u64 {
        self.generation
    }

    /// A copy to change, the next generation.
    pub(crate) fn successor(&self) -> Self {
        Self { generation: self.generation + 1, ..self.clone() }
    }

    /// One without entries, to be followed by another generation.
    pub(crate) fn emptied(&self) -> Self {
        Self { generation: self.generation, ..Self::default() }
    }

    /// What is at `path`, which has no slashes at its ends.
    #[inline]
    pub(crate) fn find(&self, path: &[u8]) -> Option<&Entry> {
        self.entries.find(self.hasher.hash_one(path), |entry| entry.path() == path)
    }

    /// How many files and directories there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// All paths, a directory's with a slash behind it, sorted.
    #[cfg(test)]
    pub(crate) fn paths(&self) -> Vec<String> {
        let path = |entry: &Entry| {
            let end = if matches!(entry, Entry::Directory(_)) { "/" } else { "" };
            format!("{}{end}", String::from_utf8_lossy(entry.path()))
        };
        let mut paths: Vec<_> = self.entries.iter().map(path).collect();
        paths.sort_unstable();
        paths
    }

    /// Puts an entry at its path, in place of what was there.
    pub(crate) fn put(&mut self, entry: Entry) {
        self.remove(entry.path());
        let hasher = &self.hasher;
        let hash = hasher.hash_one(entry.path());
        self.entries.insert_unique(hash, entry, |entry| hasher.hash_one(entry.path()));
    }

    /// Takes away what is at `path`.
    pub(crate) fn remove(&mut self, path: &[u8]) {
        let hash = self.hasher.hash_one(path);
        if let Ok(found) = self.entries.find_entry(hash, |entry| entry.path() == path) {
            found.remove();
        }
    }
}
