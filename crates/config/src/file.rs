//! From the text of a file to its settings.

use crate::ConfigFault;
use serde::de::DeserializeOwned;
use std::fs;
use std::path::{Path, PathBuf};

/// Reads settings from their text, in TOML.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, ConfigFault> {
    toml::from_str(text).map_err(|error| ConfigFault::of_toml(&error, text))
}

/// Reads the settings of a file, in TOML. Paths in them stay as they are written.
pub fn read<T: DeserializeOwned>(file: &Path) -> Result<T, ConfigFault> {
    let text = fs::read_to_string(file).map_err(|error| {
        ConfigFault::new(format!("cannot read the configuration {}: {error}", file.display()))
    })?;
    parse(&text).map_err(|fault| fault.in_file(file))
}

/// The directory that `file` is in.
pub fn directory_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
