//! Where a bench leaves what it found: a table for people, JSON for programs, a plot for README.

use std::fs;
use std::path::Path;

use anyhow::Context;
use serde::Serialize;

use crate::plot::Plot;

/// Writes `NAME.json`, `NAME.md` and `NAME.svg` into `directory`.
pub(crate) fn write(
    directory: &Path,
    name: &str,
    report: &impl Serialize,
    table: String,
    plot: &Plot,
) -> anyhow::Result<()> {
    write_table(directory, name, report, &table)?;
    put(directory, name, "svg", &plot.svg())
}

/// Writes `NAME.json` and `NAME.md` into `directory`.
pub(crate) fn write_table(
    directory: &Path,
    name: &str,
    report: &impl Serialize,
    table: &str,
) -> anyhow::Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("create {}", directory.display()))?;
    put(directory, name, "json", &(serde_json::to_string_pretty(report)? + "\n"))?;
    put(directory, name, "md", table)
}

fn put(directory: &Path, name: &str, extension: &str, text: &str) -> anyhow::Result<()> {
    let path = directory.join(format!("{name}.{extension}"));
    fs::write(&path, text).with_context(|| format!("write {}", path.display()))
}

/// A figure in a table, or a dash where there is none.
pub(crate) fn or_dash(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}
