//! Where Tidegate's program is: beside the bench's own, unless somebody says otherwise.

use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};

/// The program to measure: `named`, or the one beside this program.
pub(crate) fn tidegate_binary(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(path) = named {
        ensure!(path.is_file(), "{} is not there", path.display());
        return Ok(path.to_owned());
    }
    match std::env::current_exe()?.parent() {
        Some(directory) => Ok(directory.join("tidegate")),
        None => bail!("this program is nowhere; name Tidegate's with --tidegate"),
    }
}

/// Fails if Tidegate's program is not where it should be.
pub(crate) fn ensure_built(path: &Path) -> anyhow::Result<()> {
    ensure!(path.is_file(), "{} is not there: cargo build --release -p tidegate-cli", path.display());
    Ok(())
}
