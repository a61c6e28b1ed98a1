//! `tidegate web`: from settings to a running service, and to its end.
//!
//! ```text
//!   settings -> attach: devices -> seats: pool and sockets of each worker
//!            -> rights dropped  -> library, sites, graphs -> workers -> frames claimed
//!            -> events: SIGHUP reloads, SIGTERM drains -> workers joined -> devices gone
//! ```
//! Everything that needs root is in the first line; everything that runs code on bytes from the network is
//! after the second begins.

mod drain;
mod graph;
mod seat;
mod settings;
mod site;
mod worker;

pub(crate) use settings::check;

use crate::args::WebArgs;
use crate::attach::{self, Device, device, embedded};
use crate::privileges::{self, Needs};
use crate::signals::{self, Event};
use crate::stats::{Collector, Endpoint, Listener};
use crate::supervisor;
use anyhow::Result;
use crossbeam_channel::Receiver;
use seat::Seat;
use settings::Settings;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use worker::Workers;

/// Serves until a signal ends it.
pub(crate) fn web(args: &WebArgs) -> Result<()> {
    let settings = Settings::of(args)?;
    crate::logs::start(settings.config.process.log_format);
    let devices = Arc::new(attach(&settings)?);
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
    let banner = banner(settings, devices, &seats);
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

/// The virtual NIC, the host's NICs, or both.
fn attach(settings: &Settings) -> Result<Vec<Device>> {
    let listen = settings.listen();
    let plan = embedded::Plan::of_name(&settings.config.name)?;
    let (own, others): (Vec<SocketAddr>, Vec<SocketAddr>) = if settings.devices.is_empty() {
        (listen, Vec::new())
    } else {
        listen.into_iter().partition(|address| plan.has(address.ip()))
    };
    let choices = device::choose(&settings.devices, &others)?;
    let mut devices = Vec::new();
    if settings.devices.is_empty() || !own.is_empty() {
        let queue_count = settings.config.workers.unwrap_or(1);
        if queue_count > 1 {
            tracing::warn!(
                "several workers on a virtual NIC: a local client that retransmits may change its queue, and \
                 with it the worker, which resets the connection"
            );
        }
        devices.push(embedded::create(&plan, &own, queue_count, settings.config.xdp_mode)?);
    }
    for choice in choices {
        devices.push(device::take(choice, settings.config.xdp_mode)?);
    }
    Ok(devices)
}

/// `serving DIR on URL and URL (driver mode, copy, 1 worker, huge pages)`.
fn banner(settings: &Settings, devices: &[Device], seats: &[Seat]) -> String {
    let urls: Vec<String> = devices.iter().flat_map(|device| &device.listen).map(url).collect();
    let mut facts: Vec<String> = devices.iter().map(|device| format!("{} mode", device.mode())).collect();
    facts.extend(seats.iter().flat_map(Seat::facts));
    facts.push(match seats.len() {
        1 => "1 worker".into(),
        count => format!("{count} workers"),
    });
    let facts = each_once(facts);
    format!("serving {} on {} ({})", settings.config.root.display(), urls.join(" and "), facts.join(", "))
}

/// The words in order, without repetition.
fn each_once(words: Vec<String>) -> Vec<String> {
    let mut once = Vec::new();
    for word in words {
        if !once.contains(&word) {
            once.push(word);
        }
    }
    once
}

fn url(address: &SocketAddr) -> String {
    match (address.port(), address) {
        (80, SocketAddr::V4(v4)) => format!("http://{}/", v4.ip()),
        (80, SocketAddr::V6(v6)) => format!("http://[{}]/", v6.ip()),
        _ => format!("http://{address}/"),
    }
}

fn drop_rights(settings: &Settings) -> Result<()> {
    if !settings.config.process.sandbox {
        tracing::warn!("all rights are kept (--no-sandbox)");
        return Ok(());
    }
    let log = settings.config.access_log.path.as_deref();
    let log_directory =
        log.map(|log| log.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(".".as_ref()));
    let mut needs = Needs { user: settings.config.process.user.clone(), ..Needs::default() };
    needs.readable.push(settings.config.root.clone());
    needs.readable.extend(settings.file.clone());
    // The counters of the XDP program are one for each processor.
    needs.readable.push("/sys/devices/system/cpu".into());
    needs.writable.extend(log_directory.map(Into::into));
    needs.writable.push(crate::stats::DIRECTORY.into());
    let in_force = privileges::drop_to(&needs)?;
    tracing::info!("rights dropped: {in_force}");
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
            Event::Reload => report_reload(reload(&mut settings, site, workers)),
            Event::WorkerEnded(number) => anyhow::bail!("worker {number} ended by itself: see the log above"),
        }
    }
    Ok(())
}

/// Opens the log anew, looks at all files again, and takes over a configuration that has changed; true if
/// that asks for more than a running service can take.
fn reload(settings: &mut Settings, site: &mut site::Opened, workers: &Workers) -> Result<bool> {
    site.refresh();
    let needs_restart = settings.reread()?;
    let shared = site.reconfigure(&settings.config)?;
    workers.each_stack(move |stack| stack.stack_mut().service_mut().set_shared(Arc::clone(&shared)));
    Ok(needs_restart)
}

fn report_reload(outcome: Result<bool>) {
    match outcome {
        Ok(false) => tracing::info!("reloaded: access log, files, limits, timeouts, names, error pages"),
        Ok(true) => tracing::warn!("reloaded, but other settings have changed too: those need a restart"),
        Err(error) => tracing::error!("the old configuration stays: {}", crate::exit::explain(&error)),
    }
}
