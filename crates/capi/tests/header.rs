//! `include/tidegate.h` says what the library does: it is made here from the source, and compared.

use std::path::Path;

const WHAT_TO_DO: &str = "stale: UPDATE=1 cargo test -p tidegate-capi --test header";

/// The header without what Rust's documentation has and C's has not.
fn header() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("a good configuration");
    let bindings = cbindgen::generate_with_config(root, config).expect("the source is readable");
    let mut bytes = Vec::new();
    bindings.write(&mut bytes);
    let text = String::from_utf8(bytes).expect("text");
    let lines = text.lines().filter(|line| !line.contains("# Safety"));
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn the_header_is_that_of_the_source() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/tidegate.h");
    let made = header();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &made).expect("writable");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == made, "{} is {WHAT_TO_DO}", path.display());
}
