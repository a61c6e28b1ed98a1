//! SIGHUP: what a running process takes over from its surroundings.

use super::settings::Settings;
use super::worker::Workers;
use anyhow::Result;
use tidegate_service::Offer;

/// Reloads, and says what came of it.
pub(super) fn reload(settings: &mut Settings, offer: &mut Offer, workers: &Workers) {
    match take_over(settings, offer, workers) {
        Ok(false) => {
            tracing::info!("reloaded: logs, files, zones, and all settings that need no restart")
        }
        Ok(true) => tracing::warn!("reloaded, but other settings have changed too: those need a restart"),
        Err(error) => tracing::error!("the old configuration stays: {}", crate::exit::explain(&error)),
    }
}

/// Opens logs anew, looks at all files again, and takes over a configuration that has changed; true if that
/// asks for more than a running process can take.
fn take_over(settings: &mut Settings, offer: &mut Offer, workers: &Workers) -> Result<bool> {
    offer.refresh();
    let needs_restart = settings.reread()?;
    let terms = offer.reconfigure(&settings.service.config)?;
    workers.each_stack(move |stack| terms.apply(stack.stack_mut().service_mut()));
    Ok(needs_restart)
}
