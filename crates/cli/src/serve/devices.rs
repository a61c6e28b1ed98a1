//! Which devices a service is attached to: a virtual NIC of its own, NICs of the host, or both.

use super::settings::Settings;
use crate::attach::{Device, device, embedded};
use anyhow::Result;
use std::net::SocketAddr;

/// Attaches to what the settings name. Without a NIC of the host it is the virtual one.
pub(super) fn attach_all(settings: &Settings) -> Result<Vec<Device>> {
    let plan = embedded::Plan::of_name(&settings.config.name)?;
    let is_embedded = settings.devices.is_empty();
    let on_own = |address: &SocketAddr| is_embedded || plan.has(address.ip());
    let (own, others): (Vec<_>, Vec<_>) = settings.listen().into_iter().partition(on_own);
    let choices = device::choose(&settings.devices, &others)?;
    let mut devices = Vec::new();
    if is_embedded || !own.is_empty() {
        devices.push(create_own(settings, &plan, &own)?);
    }
    for choice in choices {
        devices.push(device::take(choice, settings.config.xdp_mode)?);
    }
    Ok(devices)
}

fn create_own(settings: &Settings, plan: &embedded::Plan, listen: &[SocketAddr]) -> Result<Device> {
    let queue_count = settings.config.workers.unwrap_or(1);
    if queue_count > 1 {
        tracing::warn!(
            "several workers on a virtual NIC: a local client that retransmits may change its queue, and with \
             it the worker, which resets the connection"
        );
    }
    embedded::create(plan, listen, queue_count, settings.config.xdp_mode)
}
