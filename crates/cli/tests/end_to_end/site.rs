//! A directory of files to serve, whose every byte is known.

use crate::service::tempfile;
use std::fs;
use std::path::{Path, PathBuf};

/// A directory, removed at the end of the test.
pub(crate) struct Site {
    root: PathBuf,
}

impl Site {
    /// An empty site with an index page.
    pub(crate) fn new() -> Self {
        let site = Self { root: tempfile("site") };
        fs::create_dir_all(&site.root).expect("a temporary directory");
        site.write("index.html", b"<!doctype html><title>Tide</title><p>in and out</p>\n");
        site
    }

    /// Writes one file, directories included.
    pub(crate) fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("a directory");
        fs::write(path, bytes).expect("a file");
    }

    /// Writes a file of `len` bytes that no compressor or repetition hides mistakes in.
    pub(crate) fn write_noise(&self, path: &str, len: usize) -> Vec<u8> {
        let bytes = noise(len as u64 ^ 0x9e37_79b9, len);
        self.write(path, &bytes);
        bytes
    }

    pub(crate) fn path(&self) -> &Path {
        &self.root
    }

    /// The path as an argument.
    pub(crate) fn root(&self) -> &str {
        self.root.to_str().expect("a path in ASCII")
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// `len` bytes that depend on `seed` (SplitMix64).
pub(crate) fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed;
    let mut word = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)).to_le_bytes()
    };
    let mut bytes: Vec<u8> = (0..len.div_ceil(8)).flat_map(|_| word()).collect();
    bytes.truncate(len);
    bytes
}
