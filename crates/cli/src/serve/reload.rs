//! SIGHUP: what a running service takes over from its surroundings.

use super::settings::Settings;
use super::site::Opened;
use super::worker::Workers;
use anyhow::Result;
use std::sync::Arc;

/// Reloads, and says what came of it.
pub(super) fn reload(settings: &mut Settings, site: &mut Opened, workers: &Workers) {
    match take_over(settings, site, workers) {
        Ok(false) => tracing::info!("reloaded: access log, files, limits, timeouts, names, error pages"),
        Ok(true) => tracing::warn!("reloaded, but other settings have changed too: those need a restart"),
        Err(error) => tracing::error!("the old configuration stays: {}", crate::exit::explain(&error)),
    }
}

/// Opens the log anew, looks at all files again, and takes over a configuration that has changed; true if
/// that asks for more than a running service can take.
fn take_over(settings: &mut Settings, site: &mut Opened, workers: &Workers) -> Result<bool> {
    site.refresh();
    let needs_restart = settings.reread()?;
    let shared = site.reconfigure(&settings.config)?;
    workers.each_stack(move |stack| stack.stack_mut().service_mut().set_shared(Arc::clone(&shared)));
    Ok(needs_restart)
}
