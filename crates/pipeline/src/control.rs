//! How the control thread reaches a worker: it sends closures, which run between two rounds.
//!
//! Whether one was sent is a flag of its own, since a worker asks at every round.

use crate::worker::Worker;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Something to be done to a worker between two rounds.
pub type Command = Box<dyn FnOnce(&mut Worker) + Send>;

/// The control thread's end of a worker.
#[derive(Clone)]
pub struct Control {
    commands: Sender<Command>,
    was_sent: Arc<AtomicBool>,
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl Control {
    /// Has `command` run between two rounds. False if the worker has ended.
    pub fn send(&self, command: impl FnOnce(&mut Worker) + Send + 'static) -> bool {
        let sent = self.commands.send(Box::new(command)).is_ok();
        self.was_sent.store(true, Ordering::Release);
        (self.wake)();
        sent
    }

    /// Asks something of the worker and waits for the answer, at most `patience`.
    pub fn ask<R: Send + 'static>(
        &self,
        patience: Duration,
        question: impl FnOnce(&mut Worker) -> R + Send + 'static,
    ) -> Option<R> {
        let (tx, rx) = crossbeam_channel::bounded(1);
        self.send(move |worker| {
            // The asker may have lost patience; then nobody wants the answer.
            let _ = tx.send(question(worker));
        });
        rx.recv_timeout(patience).ok()
    }
}

/// The worker's end.
pub struct Commands {
    commands: Receiver<Command>,
    /// Set after a command was sent, so that who sees it set finds the command.
    was_sent: Arc<AtomicBool>,
}

impl Commands {
    /// Whether to look for commands.
    #[inline]
    pub(crate) fn were_sent(&self) -> bool {
        self.was_sent.load(Ordering::Relaxed) && self.was_sent.swap(false, Ordering::Acquire)
    }

    /// The next one that was sent.
    pub(crate) fn next(&self) -> Option<Command> {
        self.commands.try_recv().ok()
    }
}

/// A pair of ends: the control thread's, and the one for [`Worker::new`]. `wake` must end the
/// worker's [`Environment::sleep`](crate::Environment::sleep).
pub fn control(wake: impl Fn() + Send + Sync + 'static) -> (Control, Commands) {
    let (tx, rx) = unbounded();
    let was_sent = Arc::new(AtomicBool::new(false));
    let control = Control { commands: tx, was_sent: Arc::clone(&was_sent), wake: Arc::new(wake) };
    (control, Commands { commands: rx, was_sent })
}
