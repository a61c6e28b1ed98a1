//! The host that a worker is on one queue of a device: a stack with the services that are found there.

use crate::devices::Device;
use crate::error::Result;
use crate::kind::Endpoint;
use crate::offer::Offer;
use crate::services::Services;
use crate::settings::Settings;
use std::sync::OnceLock;
use tidegate_base::HashKey;
use tidegate_fastopen::FastOpen;
use tidegate_modules::StackModule;
use tidegate_pipeline::Waker;
use tidegate_stack::{Limits, Secrets, Stack, TcpConfig};
use tidegate_sys::{clock, random};

/// A host as a module of a pipeline, for a worker that `waker` wakes.
pub fn host(
    settings: &Settings,
    device: &Device,
    offer: &Offer,
    waker: &Waker,
) -> Result<StackModule<Services>> {
    let connection_count_max = settings.config.connection_count_max() as usize;
    let limits = Limits { connection_count_max, ..Limits::default() };
    let interface = device.interface.clone();
    let services = offer.services(&device.listen, waker);
    let mut stack = Stack::new(clock::now(), interface, TcpConfig::SERVER, limits, &secrets()?, services);
    for Endpoint { address, kind } in &device.listen {
        let option = if settings.has_fast_open(*kind) { Some(fast_open()?.option()) } else { None };
        let congestion = settings.congestion(*kind)?;
        let profile = stack.add_profile(TcpConfig { congestion, option, ..TcpConfig::SERVER });
        stack.listen_with(Some(address.ip()), address.port(), profile);
    }
    Ok(StackModule::new(stack))
}

/// Fast Open under one secret for the whole process: a client's cookie is good at all its workers and services.
fn fast_open() -> Result<&'static FastOpen> {
    static FAST_OPEN: OnceLock<FastOpen> = OnceLock::new();
    let fresh = FastOpen::new(HashKey::new(random::bytes()?));
    Ok(FAST_OPEN.get_or_init(|| fresh))
}

fn secrets() -> Result<Secrets> {
    Ok(Secrets {
        isn: HashKey::new(random::bytes()?),
        cookie: HashKey::new(random::bytes()?),
        flow: u64::from_ne_bytes(random::bytes()?),
    })
}

/// Refuses new connections, and has those closed that have nothing under way.
pub fn close_down(host: &mut StackModule<Services>) {
    host.stack_mut().stop_listening();
    host.wake_all();
}
