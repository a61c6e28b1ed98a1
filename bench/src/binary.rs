//! Where Tidegate's program and library are: beside the bench's own, unless somebody says otherwise.

use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};

/// The program to measure: `named`, or the one beside this program.
pub(crate) fn tidegate_binary(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    named_or_beside(named, "tidegate", "--tidegate")
}

/// The library that programs in C are linked with: `named`, or the one beside this program.
pub(crate) fn tidegate_library(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let library = named_or_beside(named, "libtidegate.so", "--library")?;
    ensure!(library.is_file(), "{} is not there: cargo build --release -p tidegate-capi", library.display());
    Ok(library)
}

fn named_or_beside(named: Option<&Path>, name: &str, flag: &str) -> anyhow::Result<PathBuf> {
    if let Some(path) = named {
        ensure!(path.is_file(), "{} is not there", path.display());
        return Ok(path.to_owned());
    }
    match std::env::current_exe()?.parent() {
        Some(directory) => Ok(directory.join(name)),
        None => bail!("this program is nowhere; name Tidegate's with {flag}"),
    }
}

/// Fails if Tidegate's program is not where it should be.
pub(crate) fn ensure_built(path: &Path) -> anyhow::Result<()> {
    ensure!(path.is_file(), "{} is not there: cargo build --release -p tidegate-cli", path.display());
    Ok(())
}
