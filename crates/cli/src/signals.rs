//! What the control thread waits for: signals, and workers that end by themselves.

use crossbeam_channel::{Receiver, Sender, unbounded};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;

/// Something that the control thread reacts to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// SIGTERM or SIGINT: end, after what is under way.
    Terminate,
    /// SIGHUP: open the access log anew, read the configuration again.
    Reload,
    /// A worker's thread ended though nobody asked it to.
    WorkerEnded(usize),
}

/// The events from now on, and the end by which workers add theirs.
pub(crate) fn events() -> io::Result<(Sender<Event>, Receiver<Event>)> {
    let (sender, receiver) = unbounded();
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    let events = sender.clone();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in &mut signals {
            let event = if signal == SIGHUP { Event::Reload } else { Event::Terminate };
            if events.send(event).is_err() {
                return;
            }
        }
    })?;
    Ok((sender, receiver))
}
