//! Which rights the services keep: what they read and write, and as whom.

use super::settings::Settings;
use crate::privileges::{self, Needs};
use anyhow::Result;
use std::path::PathBuf;
use tidegate_config::directory_of;

/// Gives up all other rights, unless the settings keep them. `directories` stay readable besides.
pub(super) fn drop_rights(settings: &Settings, directories: &[PathBuf]) -> Result<()> {
    if !settings.service.config.process.sandbox {
        tracing::warn!("all rights are kept (--no-sandbox)");
        return Ok(());
    }
    tracing::info!("rights dropped: {}", privileges::drop_to(&needs(settings, directories))?);
    Ok(())
}

fn needs(settings: &Settings, directories: &[PathBuf]) -> Needs {
    let config = &settings.service.config;
    let mut readable: Vec<PathBuf> = config.web.iter().map(|web| web.root.clone()).collect();
    // Its directory, because a changed file is often another one of the same name.
    readable.extend_from_slice(directories);
    readable.extend(settings.file.as_deref().map(directory_of));
    // The counters of the XDP program are one for each processor.
    readable.push("/sys/devices/system/cpu".into());
    let mut writable: Vec<PathBuf> = config.log_files().map(|file| directory_of(file)).collect();
    writable.push(crate::stats::DIRECTORY.into());
    if let Some(dns) = &config.dns {
        readable.extend(dns.read_files().map(directory_of));
        writable.extend(dns.written_files().map(directory_of));
    }
    Needs { readable, writable, user: config.process.user.clone() }
}
