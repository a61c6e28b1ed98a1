//! The manual: every call has a page, and the pages are set without a warning.

use crate::installed::{Installed, library, run};
use std::path::{Path, PathBuf};
use std::process::Command;

fn pages() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/man");
    let entries = std::fs::read_dir(directory).expect("the pages");
    entries.map(|entry| entry.expect("readable").path()).collect()
}

/// The names that a page describes.
fn names(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).expect("readable");
    let line = text.lines().skip_while(|line| *line != ".SH NAME").nth(1).expect("names");
    let (names, _) = line.split_once(" \\- ").expect("names and what they are");
    names.split(", ").map(str::to_owned).collect()
}

#[test]
fn every_call_has_a_page() {
    let described: Vec<String> = pages().iter().flat_map(|page| names(page)).collect();
    let said = run(Command::new("nm").args(["-D", "--defined-only"]).arg(library()));
    let calls = said.lines().filter_map(|line| line.split_whitespace().last());
    let missing: Vec<&str> = calls.filter(|call| !described.iter().any(|name| name == call)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_pages_are_set_without_a_warning() {
    for page in pages() {
        let output = Command::new("groff").args(["-man", "-Tutf8", "-ww", "-z"]).arg(&page).output();
        let complaint = String::from_utf8(output.expect("groff").stderr).expect("text");
        assert!(complaint.is_empty(), "{}: {complaint}", page.display());
    }
}

#[test]
fn the_pages_are_installed_under_every_name() {
    let installed = Installed::new();
    for name in pages().iter().flat_map(|page| names(page)) {
        assert!(installed.path("usr/share/man/man3").join(format!("{name}.3")).exists(), "{name}");
    }
}
