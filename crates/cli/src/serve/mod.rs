//! `tidegate web`: from settings to a running service, and to its end.
//!
//! ```text
//!   settings -> attach: devices -> seats: pool and sockets of each worker
//!            -> rights dropped  -> library, sites, graphs -> workers -> frames claimed
//!            -> events: SIGHUP reloads, SIGTERM drains -> workers joined -> devices gone
//! ```
//! Everything that needs root is in the first line; everything that runs code on bytes from the network is
//! after the second begins.

mod banner;
mod devices;
mod drain;
mod graph;
mod reload;
mod seat;
mod settings;
mod site;
mod worker;

pub(crate) use settings::check;

use crate::args::WebArgs;
use crate::attach::{self, Device};
use crate::privileges::{self, Needs};
use crate::signals::{self, Event};
use crate::stats::{Collector, Endpoint, Listener};
use crate::supervisor;
use anyhow::Result;
use crossbeam_channel::Receiver;
use settings::Settings;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use worker::Workers;

/// Serves until a signal ends it.
pub(crate) fn web(args: &WebArgs) -> Result<()> {
    let settings = Settings::of(args)?;
    crate::logs::start(settings.config.process.log_format);
    let devices = Arc::new(devices::attach_all(&settings)?);
    let outcome = serve(&settings, &devices);
    outcome.and(attach::leave(devices))
}

fn serve(settings: &Settings, devices: &Arc<Vec<Device>>) -> Result<()> {
    let seats = seat::open_all(settings, devices)?;
    let endpoint = settings.config.metrics.address.map(Endpoint::bind).transpose()?;
    let stats = Listener::bind()?;
    let source = site::Source::prepare(settings)?;
    drop_rights(settings)?;
    let (sender, events) = signals::events()?;
    let banner = banner::banner(settings, devices, &seats);
    let mut site = source.open(settings)?;
    let workers = worker::start_all(settings, devices, seats, &site, &sender)?;
    let collector = Arc::new(Collector::new(banner.clone(), devices, site.library(), workers.asked()));
    let outcome = claim(devices).and_then(|()| {
        let _socket_name = stats.serve(Arc::clone(&collector))?;
        endpoint.map(|endpoint| endpoint.serve(collector)).transpose()?;
        announce(&banner);
        await_end(&events, settings.clone(), &mut site, &workers)
    });
    supervisor::tell(supervisor::STOPPING);
    site.drain();
    drain::drain(&workers, settings.config.timeouts.drain.0.into(), &events);
    workers.join();
    outcome
}

fn claim(devices: &[Device]) -> Result<()> {
    devices.iter().try_for_each(Device::claim)
}

/// Says where the service is. That nobody listens is no reason not to serve.
fn announce(banner: &str) {
    let _ = writeln!(std::io::stdout(), "{banner}");
    supervisor::tell(supervisor::READY);
}

fn drop_rights(settings: &Settings) -> Result<()> {
    let process = &settings.config.process;
    if !process.sandbox {
        tracing::warn!("all rights are kept (--no-sandbox)");
        return Ok(());
    }
    let directory_of = |file: &PathBuf| match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let mut needs = Needs { user: process.user.clone(), ..Needs::default() };
    needs.readable.push(settings.config.root.clone());
    // Its directory, because a changed file is often another one of the same name.
    needs.readable.extend(settings.file.as_ref().map(directory_of));
    // The counters of the XDP program are one for each processor.
    needs.readable.push("/sys/devices/system/cpu".into());
    needs.writable.extend(settings.config.access_log.path.as_ref().map(directory_of));
    needs.writable.push(crate::stats::DIRECTORY.into());
    tracing::info!("rights dropped: {}", privileges::drop_to(&needs)?);
    Ok(())
}

/// Reacts to events until one ends the service.
fn await_end(
    events: &Receiver<Event>,
    mut settings: Settings,
    site: &mut site::Opened,
    workers: &Workers,
) -> Result<()> {
    for event in events {
        match event {
            Event::Terminate => return Ok(()),
            Event::Reload => reload::reload(&mut settings, site, workers),
            Event::WorkerEnded(number) => anyhow::bail!("worker {number} ended by itself: see the log above"),
        }
    }
    Ok(())
}
