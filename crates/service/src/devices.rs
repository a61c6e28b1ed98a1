//! Which devices the services are attached to: a virtual NIC of their own, NICs of the host, or both.

use crate::choose::{Choice, choose};
use crate::error::Result;
use crate::kind::Endpoint;
use crate::settings::{Place, Settings};
use std::net::SocketAddr;
use std::sync::Arc;
use tidegate_bpf::{ModeChoice, Tuple};
use tidegate_mux::{Ground, Holding, Nic, Reserve, embedded};
use tidegate_stack::Interface;
use tidegate_sys::netlink::Netlink;

/// A NIC, and what is served there.
pub struct Device {
    /// The NIC.
    pub nic: Arc<Nic>,
    /// What is the services' of it.
    pub holding: Holding,
    /// The host that a stack is there.
    pub interface: Interface,
    /// Where the services are to be found.
    pub listen: Vec<Endpoint>,
}

impl Device {
    fn new(ground: &Ground, service: &str, nic: Arc<Nic>, listen: Vec<Endpoint>) -> Result<Self> {
        let tuples: Vec<Tuple> = match nic.is_own() {
            true => Vec::new(),
            false => listen.iter().flat_map(|endpoint| endpoint.tuples()).collect(),
        };
        let holding = ground.hold(&nic, service, &tuples, Reserve::Ports)?;
        Ok(Self { interface: nic.interface(&tuples), nic, holding, listen })
    }
}

/// Attaches `service` to what the settings name. Without a NIC of the host it is on the virtual one.
pub fn attach_all(settings: &Settings, ground: &mut Ground, service: &str) -> Result<Vec<Device>> {
    let plan = embedded::Plan::of_name(&settings.config.name)?;
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for place in &settings.places {
        let (on_own, on_others) = part(place, &plan);
        own.extend(on_own);
        others.extend(on_others);
    }
    let choices = choose(&interfaces(&settings.places), &others)?;
    let mut devices = Vec::new();
    if !own.is_empty() {
        devices.push(create_own(settings, ground, service, &plan, &own)?);
    }
    for choice in choices {
        devices.push(take(choice, settings.config.xdp_mode.into(), ground, service)?);
    }
    Ok(devices)
}

/// What of a place is on the virtual NIC, and what on others.
fn part(place: &Place, plan: &embedded::Plan) -> (Vec<Endpoint>, Vec<Endpoint>) {
    let is_embedded = place.devices.is_empty();
    if is_embedded && place.listen.is_empty() {
        return (conventional(place, plan), Vec::new());
    }
    let is_own = |endpoint: &Endpoint| is_embedded || plan.has(endpoint.address.ip());
    place.listen.iter().partition(|endpoint| is_own(endpoint))
}

/// Where a service is on the virtual NIC if nothing else is asked for.
fn conventional(place: &Place, plan: &embedded::Plan) -> Vec<Endpoint> {
    let (kind, port) = (place.kind, place.kind.port());
    plan.addresses().map(|ip| Endpoint { address: SocketAddr::new(ip, port), kind }).into()
}

/// The interfaces of all places, each once.
fn interfaces(places: &[Place]) -> Vec<String> {
    let mut names: Vec<String> = places.iter().flat_map(|place| place.devices.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn create_own(
    settings: &Settings,
    ground: &Ground,
    service: &str,
    plan: &embedded::Plan,
    listen: &[Endpoint],
) -> Result<Device> {
    let queue_count = settings.config.workers.unwrap_or(1);
    if queue_count > 1 {
        tracing::warn!(
            "several workers on a virtual NIC: a local client that retransmits may change its queue, and with \
             it the worker, which resets the connection"
        );
    }
    let resolve = |endpoint: &Endpoint| -> Result<Endpoint> {
        Ok(Endpoint { address: plan.resolve(endpoint.address)?, ..*endpoint })
    };
    let listen = listen.iter().map(resolve).collect::<Result<_>>()?;
    let nic = embedded::create(plan, queue_count, settings.config.xdp_mode.into())?;
    Device::new(ground, service, Arc::new(nic), listen)
}

fn take(choice: Choice, mode: ModeChoice, ground: &mut Ground, service: &str) -> Result<Device> {
    let nic = ground.nic(choice.link, mode)?;
    Device::new(ground, service, nic, choice.listen)
}

/// Gives the devices up, and returns when a virtual NIC is gone: the kernel removes it a moment after its
/// far end's namespace lost its last holder.
pub fn leave(devices: Arc<Vec<Device>>) -> Result<()> {
    let own = devices.iter().filter(|device| device.nic.is_own()).map(|device| device.nic.name.clone());
    let own: Vec<String> = own.collect();
    drop(devices);
    let mut netlink = Netlink::open()?;
    Ok(own.iter().try_for_each(|name| embedded::await_removal(&mut netlink, name))?)
}
