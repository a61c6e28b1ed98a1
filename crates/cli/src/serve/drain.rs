//! The end that an administrator asked for: no new connections, those that there are finish.

use super::worker::{self, Workers};
use crate::signals::Event;
use crossbeam_channel::Receiver;
use std::time::{Duration, Instant};
use tidegate_pipeline::Worker;
use tidegate_service::close_down;

/// How often it is looked whether all have finished.
const PERIOD: Duration = Duration::from_millis(20);
/// A worker answers within a round.
const ANSWER_PATIENCE: Duration = Duration::from_millis(500);

/// Stops accepting, and waits until no connection is left, `patience` is over, or a second signal comes.
pub(crate) fn drain(workers: &Workers, patience: Duration, awaited: &Receiver<Event>) {
    workers.each_stack(close_down);
    let start = Instant::now();
    let mut left = connection_count(workers);
    tracing::info!("ending: {left} connections are open");
    while left > 0 && start.elapsed() < patience && awaited.recv_timeout(PERIOD).is_err() {
        left = connection_count(workers);
    }
    if left > 0 {
        tracing::warn!("{left} connections did not finish in time");
    }
}

/// Connections that are open, in all workers that answer.
fn connection_count(workers: &Workers) -> u64 {
    let count = |worker: &mut Worker, stack_count| {
        let mut sum = 0;
        worker::each_stack(worker, stack_count, |stack| sum += stack.stack().counters().connection_count);
        sum
    };
    let ask = |(control, stack_count): (&tidegate_pipeline::Control, usize)| {
        control.ask(ANSWER_PATIENCE, move |worker| count(worker, stack_count)).unwrap_or(0)
    };
    workers.controls().map(ask).sum()
}
