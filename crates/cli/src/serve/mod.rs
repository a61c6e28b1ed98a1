//! `tidegate web`, `dns` and `serve`: from settings to running services, and to their end.
//!
//! ```text
//!   settings -> attach: devices -> seats: pool and sockets of each worker
//!            -> what the services read as root -> rights dropped
//!            -> services, graphs -> workers -> frames claimed
//!            -> events: SIGHUP reloads, SIGTERM drains -> workers joined -> devices gone
//! ```
//! Everything that needs root is before the rights are dropped; everything that runs code on bytes from the
//! network is after.

mod banner;
mod drain;
mod graph;
mod reload;
mod rights;
mod seat;
mod settings;
mod worker;

pub(crate) use settings::{Asked, check};

use crate::signals::{self, Event};
use crate::stats::{Desk, Endpoint, Listener};
use crate::supervisor;
use anyhow::Result;
use crossbeam_channel::Receiver;
use settings::Settings;
use std::io::Write;
use std::sync::Arc;
use tidegate_mux::Ground;
use tidegate_service::{Collector, Counted, Device, Offer, ServiceError, Source, attach_all, leave};
use worker::Workers;

/// Serves until a signal ends it.
pub(crate) fn serve(asked: Asked) -> Result<()> {
    let settings = Settings::of(asked)?;
    crate::logs::start(settings.service.config.process.log_format);
    let devices = Arc::new(attach_all(&settings.service, &mut Ground::default(), "tidegate")?);
    let outcome = serve_on(&settings, &devices);
    outcome.and(leave(devices).map_err(Into::into))
}

fn serve_on(settings: &Settings, devices: &Arc<Vec<Device>>) -> Result<()> {
    let seats = seat::open_all(&settings.service, devices)?;
    let endpoint = settings.service.config.metrics.address.map(Endpoint::bind).transpose()?;
    let stats = Listener::bind()?;
    let source = Source::prepare(&settings.service.config)?;
    rights::drop_rights(settings, &source.directories())?;
    let (sender, events) = signals::events()?;
    let banner = banner::banner(&settings.service.config, devices, &seats);
    let mut offer = source.open(&settings.service.config, seats.len())?;
    let workers = worker::start_all(&settings.service, devices, seats, &offer, &sender)?;
    let collector =
        Arc::new(Collector::new(vec![Counted::new(banner.clone(), devices, &offer)], workers.asked()));
    let outcome = claim(devices).and_then(|()| {
        let desk = Desk { collector: Arc::clone(&collector), zones: offer.zones() };
        let _socket_name = stats.serve(desk)?;
        endpoint.map(|endpoint| endpoint.serve(collector)).transpose()?;
        announce(&banner);
        await_end(&events, settings.clone(), &mut offer, &workers)
    });
    supervisor::tell(supervisor::STOPPING);
    offer.drain();
    drain::drain(&workers, settings.service.config.process.drain.0.into(), &events);
    workers.join();
    outcome
}

fn claim(devices: &[Device]) -> Result<()> {
    Ok(devices.iter().try_for_each(|device| device.holding.claim()).map_err(ServiceError::from)?)
}

/// Says where the services are. That nobody listens is no reason not to serve.
fn announce(banner: &str) {
    let _ = writeln!(std::io::stdout(), "{banner}");
    supervisor::tell(supervisor::READY);
}

/// Reacts to events until one ends the services.
fn await_end(
    events: &Receiver<Event>,
    mut settings: Settings,
    offer: &mut Offer,
    workers: &Workers,
) -> Result<()> {
    for event in events {
        match event {
            Event::Terminate => return Ok(()),
            Event::Reload => reload::reload(&mut settings, offer, workers),
            Event::WorkerEnded(number) => anyhow::bail!("worker {number} ended by itself: see the log above"),
        }
    }
    Ok(())
}
