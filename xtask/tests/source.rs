//! What every source file keeps: a header, a bounded length, no unsafe code outside its three crates, and
//! nothing left for later.

use std::fs;

use tidegate_xtask::{SourceFile, root, sources};

/// Production lines that a file may have. Split a longer one by state or by header.
const LINES_MAX: usize = 800;

/// Lines that a function may have.
const FUNCTION_LINES_MAX: usize = 70;

/// Words that name nothing.
const EMPTY_NAMES: [&str; 5] = ["util", "utils", "common", "misc", "helpers"];

/// Crates in which `unsafe` may stand, each time with its `SAFETY:` line.
const UNSAFE: [&str; 4] = ["crates/packet", "crates/sys", "crates/bpf", "crates/capi"];

/// Marks of unfinished work, written so that this file does not find itself.
const UNFINISHED: [&str; 5] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X:"),
    concat!("todo", "!("),
    concat!("unimpl", "emented!("),
];

fn paths_of(mut wrong: impl FnMut(&SourceFile) -> bool) -> Vec<String> {
    let files = sources(&root()).unwrap();
    files.iter().filter(|file| wrong(file)).map(|file| file.path.display().to_string()).collect()
}

#[test]
fn every_file_says_what_it_is() {
    assert_eq!(paths_of(|file| !file.has_header()), [""; 0], "open with `//!`: what it is, what it is not");
}

#[test]
fn no_file_is_longer_than_a_reader_can_hold() {
    assert_eq!(paths_of(|file| file.production_lines() > LINES_MAX), [""; 0], "over {LINES_MAX} lines");
}

#[test]
fn no_function_is_longer_than_a_page() {
    let long = |file: &SourceFile| file.functions().any(|(_, len)| len > FUNCTION_LINES_MAX);
    assert_eq!(
        paths_of(long),
        [""; 0],
        "a function over {FUNCTION_LINES_MAX} lines: split it by state or header"
    );
}

#[test]
fn every_file_is_named_after_what_it_holds() {
    let unnamed = paths_of(|file| {
        file.path.iter().any(|part| EMPTY_NAMES.contains(&part.to_string_lossy().trim_end_matches(".rs")))
    });
    assert_eq!(unnamed, [""; 0], "name it after the concept");
}

#[test]
fn unsafe_code_is_forbidden_outside_its_crates() {
    let unfenced = paths_of(|file| {
        let fenced = UNSAFE.iter().any(|home| file.path.starts_with(home)) || file.path.starts_with("fuzz");
        file.is_crate_root() && !fenced && !file.text.contains("#![forbid(unsafe_code)]")
    });
    assert_eq!(unfenced, [""; 0], "say `#![forbid(unsafe_code)]`");
}

#[test]
fn every_unsafe_block_says_why_it_is_sound() {
    let unexplained = paths_of(|file| {
        !file.is_test() && file.text.contains("unsafe {") && !file.text.contains("// SAFETY:")
    });
    assert_eq!(unexplained, [""; 0], "name the invariant and who upholds it");
}

#[test]
fn nothing_is_left_for_later() {
    let unfinished = paths_of(|file| UNFINISHED.iter().any(|mark| file.text.contains(mark)));
    assert_eq!(unfinished, [""; 0], "finish it or write an issue");
}

#[test]
fn every_crate_inherits_the_lints_of_the_workspace() {
    let manifests = paths_of(|file| {
        let crate_root = file.is_crate_root();
        let manifest = root().join(&file.path).with_file_name("../Cargo.toml");
        crate_root
            && !file.path.starts_with("fuzz")
            && !fs::read_to_string(manifest).unwrap().contains("[lints]\nworkspace = true")
    });
    assert_eq!(manifests, [""; 0], "add `[lints]` with `workspace = true`");
}
