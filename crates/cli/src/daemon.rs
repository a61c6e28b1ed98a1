//! `tidegate daemon`: the server that controllers speak to, and the thread that does what they say.
//!
//! Invariant: a signal and a controller's `KillBess` end it the same way: calls that are under way are answered, services
//! drain, workers stop between two rounds, and the sockets are gone.

use crate::args::DaemonArgs;
use crate::exit::wrong_input;
use crate::signals::{self, Event};
use crate::stats::{Desk, Endpoint, Listener};
use crate::supervisor;
use anyhow::{Context, Result};
use std::io::Write;
use std::sync::Arc;
use tidegate_bpf::Rate;
use tidegate_control::{Listen, ListenError, Server, queue};
use tidegate_daemon::{Daemon, MuxConfig};
use tidegate_dashboard::Dashboard;
use tidegate_mux::MuxError;

/// Runs what controllers build until a signal or a controller ends it.
pub(crate) fn daemon(args: &DaemonArgs) -> Result<()> {
    keep(args, "tidegate daemon", |_| Ok(()))
}

/// Runs what `begin` makes and controllers change, until a signal or a controller ends it.
pub(crate) fn keep(
    args: &DaemonArgs,
    title: &str,
    begin: impl FnOnce(&mut Daemon) -> Result<()>,
) -> Result<()> {
    crate::logs::start(tidegate_service::config::LogFormat::default());
    let (sender, events) = signals::events()?;
    let (caller, calls) = queue();
    let mut daemon = Daemon::new(move || {
        // Nobody listens any more when it ends anyway.
        let _ = sender.send(Event::Terminate);
    });
    let collector = daemon.collector();
    let metrics = args.metrics.map(Endpoint::bind).transpose()?;
    let stats = Listener::bind()?;
    let listen =
        Listen { tcp: Some(args.listen), unix: args.socket.clone(), remote_allowed: args.allow_remote };
    let page = args.web.map(|address| Dashboard::start(address, caller.clone())).transpose();
    let page = page.map_err(|error| wrong_input(format!("--web: {error}")))?;
    // Who calls already waits for the thread below.
    let server = Server::start(&listen, caller).map_err(refused)?;
    if let Some(path) = &args.mux {
        let rate = args.rate.map(|rate| Rate::of_bits(rate.0));
        open_mux(&mut daemon, &MuxConfig { rate, path: path.clone(), pin_root: args.pins.clone() })?;
    }
    begin(&mut daemon)?;
    let control = std::thread::Builder::new().name("control".into());
    let control = control.spawn(move || daemon.run(&calls)).context("could not start the control thread")?;
    let _socket_name = stats.serve(Desk { collector: Arc::clone(&collector), zones: None })?;
    metrics.map(|endpoint| endpoint.serve(collector)).transpose()?;
    let place = server.tcp_address().unwrap_or(args.listen);
    let _ = writeln!(std::io::stdout(), "{title}: controllers reach it at {place}");
    if let Some(page) = &page {
        let _ = writeln!(std::io::stdout(), "{title}: its page is http://{}/", page.address());
    }
    supervisor::tell(supervisor::READY);
    for event in events {
        match event {
            Event::Terminate => break,
            Event::Reload | Event::WorkerEnded(_) => {}
        }
    }
    supervisor::tell(supervisor::STOPPING);
    drop(page);
    server.shutdown();
    // A panic there was answered and reported when it happened.
    let _ = control.join();
    Ok(())
}

fn open_mux(daemon: &mut Daemon, config: &MuxConfig) -> Result<()> {
    daemon.open_mux(config).map_err(|error| match error {
        MuxError::Input(text) => wrong_input(text),
        other => other.into(),
    })
}

fn refused(error: ListenError) -> anyhow::Error {
    wrong_input(format!("--listen, --socket: {error}"))
}
