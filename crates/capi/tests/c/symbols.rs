//! What the library exports.

use crate::installed::{library, run};
use std::process::Command;

#[test]
fn only_tg_names_are_exported() {
    let said = run(Command::new("nm").args(["-D", "--defined-only"]).arg(library()));
    let names: Vec<&str> = said.lines().filter_map(|line| line.split_whitespace().last()).collect();
    let strays: Vec<&&str> = names.iter().filter(|name| !name.starts_with("tg_")).collect();
    assert!(strays.is_empty() && names.len() > 40, "{strays:?}");
    let header = include_str!("../../include/tidegate.h");
    for name in names {
        assert!(header.contains(&format!("{name}(")), "{name} is not in tidegate.h");
    }
}

#[test]
fn its_soname_is_that_of_this_interface() {
    let said = run(Command::new("readelf").arg("-d").arg(library()));
    assert!(said.contains("[libtidegate.so.0]"), "{said}");
}
