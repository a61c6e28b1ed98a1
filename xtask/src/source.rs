//! The repository's Rust files, and what a reader sees of one at a glance: its header and its length.
//!
//! Lines are looked at as text; nothing is parsed, so a rule built on this must hold for text.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context;

/// Folders at the root that hold source.
const FOLDERS: [&str; 5] = ["crates", "testbed", "bench", "xtask", "fuzz"];

/// One Rust file.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Its path from the repository's root.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

impl SourceFile {
    /// Whether it opens by saying what it is.
    pub fn has_header(&self) -> bool {
        self.text.starts_with("//!")
    }

    /// Whether it is a test throughout: `tests.rs`, `NAME_tests.rs`, or anything below `tests/`.
    pub fn is_test(&self) -> bool {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let below_tests = self.path.components().any(|part| part.as_os_str() == "tests");
        below_tests || stem == "tests" || stem.ends_with("_tests")
    }

    /// Lines that are built into the crate: those before a `mod tests` in the file, none of a test file.
    pub fn production_lines(&self) -> usize {
        if self.is_test() { 0 } else { self.text.lines().take_while(|line| *line != "#[cfg(test)]").count() }
    }

    /// Each function of the crate proper, by the line that names it, and how many lines it has.
    ///
    /// Relies on rustfmt: a function ends at the first closing brace that stands under its first letter.
    pub fn functions(&self) -> impl Iterator<Item = (&str, usize)> {
        let lines: Vec<&str> = self.text.lines().take(self.production_lines()).collect();
        let starts = (0..lines.len()).filter({
            let lines = lines.clone();
            move |&index| is_function(lines[index])
        });
        starts.filter_map(move |start| {
            let indent = lines[start].len() - lines[start].trim_start().len();
            let closes = |line: &&str| line.trim_start() == "}" && line.len() == indent + 1;
            let len = lines[start..].iter().position(closes)? + 1;
            Some((lines[start].trim(), len))
        })
    }

    /// Whether it is the root module of a library or of a program, where crate-wide attributes stand.
    pub fn is_crate_root(&self) -> bool {
        self.path.ends_with("src/lib.rs") || self.path.ends_with("src/main.rs")
    }
}

/// Every Rust file below `root`, build outputs left out.
pub fn sources(root: &Path) -> anyhow::Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    for folder in FOLDERS.map(|name| root.join(name)) {
        collect(&folder, root, &mut files).with_context(|| format!("read below {}", folder.display()))?;
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn collect(folder: &Path, root: &Path, files: &mut Vec<SourceFile>) -> io::Result<()> {
    if !folder.is_dir() || folder.ends_with("target") {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, root, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)?;
            files.push(SourceFile { path: path.strip_prefix(root).unwrap_or(&path).to_owned(), text });
        }
    }
    Ok(())
}

/// Whether a line opens a function with a body that goes on below.
fn is_function(line: &str) -> bool {
    let named = line.trim_start().starts_with("fn ") || line.contains(" fn ");
    named && !line.trim_start().starts_with("//") && !line.ends_with(['}', ';'])
}
