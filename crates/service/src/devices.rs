//! Which devices the services are attached to: a virtual NIC of their own, NICs of the host, or both.

use crate::attach::{Device, device, embedded};
use crate::error::Result;
use crate::kind::Endpoint;
use crate::settings::{Place, Settings};

/// Attaches to what the settings name. A service without a NIC of the host is on the virtual one.
pub fn attach_all(settings: &Settings) -> Result<Vec<Device>> {
    let plan = embedded::Plan::of_name(&settings.config.name)?;
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for place in &settings.places {
        let (on_own, on_others) = part(place, &plan);
        own.extend(on_own);
        others.extend(on_others);
    }
    let choices = device::choose(&interfaces(&settings.places), &others)?;
    let mut devices = Vec::new();
    if !own.is_empty() {
        devices.push(create_own(settings, &plan, &own)?);
    }
    for choice in choices {
        devices.push(device::take(choice, settings.config.xdp_mode)?);
    }
    Ok(devices)
}

/// What of a place is on the virtual NIC, and what on others.
fn part(place: &Place, plan: &embedded::Plan) -> (Vec<Endpoint>, Vec<Endpoint>) {
    let is_embedded = place.devices.is_empty();
    if is_embedded && place.listen.is_empty() {
        return (plan.endpoints(place.kind), Vec::new());
    }
    let is_own = |endpoint: &Endpoint| is_embedded || plan.has(endpoint.address.ip());
    place.listen.iter().partition(|endpoint| is_own(endpoint))
}

/// The interfaces of all places, each once.
fn interfaces(places: &[Place]) -> Vec<String> {
    let mut names: Vec<String> = places.iter().flat_map(|place| place.devices.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn create_own(settings: &Settings, plan: &embedded::Plan, listen: &[Endpoint]) -> Result<Device> {
    let queue_count = settings.config.workers.unwrap_or(1);
    if queue_count > 1 {
        tracing::warn!(
            "several workers on a virtual NIC: a local client that retransmits may change its queue, and with \
             it the worker, which resets the connection"
        );
    }
    embedded::create(plan, listen, queue_count, settings.config.xdp_mode)
}
