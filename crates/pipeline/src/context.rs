//! What a module sees of its worker while it is called.

use crate::module::PortIndex;
use crate::worker::ModuleCounters;
use tidegate_base::{DropReason, Instant};
use tidegate_packet::{Batch, Frame, Pool};
use tidegate_port::Port;

/// Frames that wait at one input gate.
#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) frames: Vec<Frame>,
}

/// A worker, as the module that is being called may use it.
pub struct Context<'w> {
    pub(crate) now: Instant,
    pub(crate) pool: &'w mut Pool,
    pub(crate) ports: &'w mut [Box<dyn Port>],
    pub(crate) queues: &'w mut [Queue],
    /// For each output gate of the module, the queue it leads to.
    pub(crate) links: &'w [Option<usize>],
    /// For each queue, how many more frames it may get this round.
    pub(crate) rooms: &'w mut [usize],
    /// For each queue, how much payload a frame with a tail may have there.
    pub(crate) bulk_lens: &'w [usize],
    pub(crate) counters: &'w mut ModuleCounters,
    pub(crate) batch_len: usize,
}

impl Context<'_> {
    /// When this round began.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The worker's frames.
    pub fn pool(&mut self) -> &mut Pool {
        self.pool
    }

    /// The most frames to take from a port in one turn.
    pub const fn batch_len(&self) -> usize {
        self.batch_len
    }

    /// How many frames may be emitted through `gate` before one would be dropped further down.
    #[inline]
    pub fn room(&self, gate: usize) -> usize {
        match self.links.get(gate) {
            Some(Some(queue)) => self.rooms[*queue],
            // Whatever leaves through an open gate is dropped, in any number.
            _ => usize::MAX,
        }
    }

    /// How many bytes of payload a frame with a tail may have that is emitted through `gate`; zero: no such frame.
    #[inline]
    pub fn bulk_len_max(&self, gate: usize) -> usize {
        self.links.get(gate).copied().flatten().map_or(0, |queue| self.bulk_lens[queue])
    }

    /// The same of a port.
    pub fn port_bulk_len_max(&self, port: PortIndex) -> usize {
        self.ports.get(port.0).map_or(0, |port| port.bulk_len_max())
    }

    /// Sends `frame` out of `gate`. An output gate that leads nowhere drops it, counted.
    #[inline]
    pub fn emit(&mut self, gate: usize, frame: Frame) {
        let Some(Some(queue)) = self.links.get(gate) else { return self.drop(frame, DropReason::Policy) };
        self.counters.out_packet_count += 1;
        self.rooms[*queue] = self.rooms[*queue].saturating_sub(1);
        self.queues[*queue].frames.push(frame);
    }

    /// Sends a whole batch out of `gate`.
    pub fn emit_batch(&mut self, gate: usize, mut batch: Batch) {
        let Some(Some(queue)) = self.links.get(gate) else {
            batch.drain().for_each(|frame| self.drop(frame, DropReason::Policy));
            return;
        };
        self.counters.out_packet_count += batch.len() as u64;
        self.rooms[*queue] = self.rooms[*queue].saturating_sub(batch.len());
        self.queues[*queue].frames.extend(batch.drain());
    }

    /// Gives `frame` back to the pool and counts why.
    pub fn drop(&mut self, frame: Frame, reason: DropReason) {
        self.counters.drops.count(reason);
        self.pool.free(frame);
    }

    /// Calls `f` with one of the worker's ports and the pool; `None` if there is no such port.
    #[inline]
    pub fn with_port<R>(
        &mut self,
        port: PortIndex,
        f: impl FnOnce(&mut dyn Port, &mut Pool) -> R,
    ) -> Option<R> {
        let port = self.ports.get_mut(port.0)?;
        Some(f(port.as_mut(), self.pool))
    }
}
