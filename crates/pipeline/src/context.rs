//! What a module sees of its worker while it is called.

use crate::agenda::Agenda;
use crate::class::LeafId;
use crate::gate::{Link, Queue, show};
use crate::module::PortIndex;
use tidegate_base::{DropCounters, DropReason, Instant};
use tidegate_packet::{BATCH_LEN_MAX, Batch, Frame, Pool};
use tidegate_port::Port;

/// What modules work with, whichever is called.
pub(crate) struct Core {
    pub(crate) now: Instant,
    /// With rules of classes: whose turn it is.
    pub(crate) leaf: Option<LeafId>,
    pub(crate) pool: Pool,
    pub(crate) ports: Vec<Box<dyn Port>>,
    /// What waits at the input gates.
    pub(crate) queues: Vec<Queue>,
    /// Those of them at which something waits.
    pub(crate) agenda: Agenda,
    /// For each queue, how many more frames it may get this round.
    pub(crate) rooms: Vec<usize>,
    /// For each queue, how much payload a frame with a tail may have there.
    pub(crate) bulk_lens: Vec<usize>,
    pub(crate) batch_len: usize,
    /// An empty batch, for what is sent in groups; none while that is under way.
    pub(crate) spare: Option<Batch>,
}

/// A worker, as the module that is being called may use it.
pub struct Context<'w> {
    pub(crate) core: &'w mut Core,
    /// The module's output gates, up to the last that leads somewhere.
    pub(crate) links: &'w mut [Link],
    pub(crate) drops: &'w mut DropCounters,
}

impl Context<'_> {
    /// When this round began.
    #[inline]
    pub fn now(&self) -> Instant {
        self.core.now
    }

    /// The task whose turn brought what is being worked on; none where no rules of classes say whose turn it is.
    #[inline]
    pub fn leaf(&self) -> Option<LeafId> {
        self.core.leaf
    }

    /// The worker's frames.
    #[inline]
    pub fn pool(&mut self) -> &mut Pool {
        &mut self.core.pool
    }

    /// The most frames to take from a port in one turn.
    pub fn batch_len(&self) -> usize {
        self.core.batch_len
    }

    /// How many frames may be emitted through `gate` before one would be dropped further down. Only for modules that
    /// say so ([`Module::asks_room`](crate::Module::asks_room)).
    #[inline]
    pub fn room(&self, gate: usize) -> usize {
        // Whatever leaves through an open gate is dropped, in any number.
        self.queue_of(gate).map_or(usize::MAX, |queue| self.core.rooms[queue])
    }

    /// How many bytes of payload a frame with a tail may have that is emitted through `gate`; zero: no such frame.
    #[inline]
    pub fn bulk_len_max(&self, gate: usize) -> usize {
        self.queue_of(gate).map_or(0, |queue| self.core.bulk_lens[queue])
    }

    /// The same of a port.
    pub fn port_bulk_len_max(&self, port: PortIndex) -> usize {
        self.core.ports.get(port.0).map_or(0, |port| port.bulk_len_max())
    }

    #[inline]
    fn queue_of(&self, gate: usize) -> Option<usize> {
        self.links.get(gate)?.to
    }

    /// Sends `frame` out of `gate`. An output gate that leads nowhere drops it, counted.
    #[inline]
    pub fn emit(&mut self, gate: usize, frame: Frame) {
        if let Some(link) = self.links.get_mut(gate)
            && let Some(queue) = self.core.queues.get_mut(link.direct)
        {
            link.traffic.count(1);
            queue.push(frame);
            self.core.agenda.add_first(link.direct);
        } else {
            self.emit_one_indirectly(gate, frame);
        }
    }

    #[cold]
    fn emit_one_indirectly(&mut self, gate: usize, frame: Frame) {
        let Some(Link { to: Some(queue), traffic, hooks, .. }) = self.links.get_mut(gate) else {
            return self.drop(frame, DropReason::Policy);
        };
        traffic.count(1);
        if !hooks.is_empty() {
            show(hooks, self.core.now, std::slice::from_ref(&frame));
        }
        self.core.rooms[*queue] = self.core.rooms[*queue].saturating_sub(1);
        self.core.queues[*queue].push(frame);
        self.core.agenda.add(*queue);
    }

    /// Sends a whole batch out of `gate`; `batch` is empty then.
    #[inline]
    pub fn emit_batch(&mut self, gate: usize, batch: &mut Batch) {
        let len = batch.len();
        if let Some(link) = self.links.get_mut(gate)
            && let Some(queue) = self.core.queues.get_mut(link.direct)
            && len > 0
            && queue.take_over(batch)
        {
            link.traffic.count(len);
            self.core.agenda.add_first(link.direct);
        } else {
            self.emit_indirectly(gate, batch);
        }
    }

    #[cold]
    fn emit_indirectly(&mut self, gate: usize, batch: &mut Batch) {
        if batch.is_empty() {
            return;
        }
        let Some(Link { to: Some(queue), traffic, hooks, .. }) = self.links.get_mut(gate) else {
            return self.drop_batch(batch, DropReason::Policy);
        };
        traffic.count(batch.len());
        if !hooks.is_empty() {
            show(hooks, self.core.now, batch.as_slice());
        }
        self.core.rooms[*queue] = self.core.rooms[*queue].saturating_sub(batch.len());
        self.core.queues[*queue].join(batch);
        self.core.agenda.add(*queue);
    }

    /// Sends each frame out of its own gate, those of one gate together, in order; `batch` is empty then.
    #[inline]
    pub fn emit_each(&mut self, batch: &mut Batch, gates: &[u16; BATCH_LEN_MAX]) {
        let mut group = self.core.spare.take().unwrap_or_default();
        let mut groups = batch.groups(gates);
        loop {
            // It may be one that somebody wanted shorter.
            group.set_len_max(BATCH_LEN_MAX);
            let Some(gate) = groups.next_into(&mut group) else { break };
            self.emit_batch(usize::from(gate), &mut group);
        }
        drop(groups);
        self.core.spare = Some(group);
    }

    /// Gives `frame` back to the pool and counts why.
    #[inline]
    pub fn drop(&mut self, frame: Frame, reason: DropReason) {
        self.drops.count(reason);
        self.core.pool.free(frame);
    }

    /// Gives all frames of a batch back to the pool and counts why.
    #[inline(never)]
    pub fn drop_batch(&mut self, batch: &mut Batch, reason: DropReason) {
        self.drops.count_many(reason, batch.len() as u64);
        self.core.pool.free_batch(batch);
    }

    /// Gives all frames of a batch back to the pool: they have arrived.
    #[inline]
    pub fn consume_batch(&mut self, batch: &mut Batch) {
        self.core.pool.free_batch(batch);
    }

    /// Calls `f` with one of the worker's ports and the pool; `None` if there is no such port.
    #[inline]
    pub fn with_port<R>(
        &mut self,
        port: PortIndex,
        f: impl FnOnce(&mut dyn Port, &mut Pool) -> R,
    ) -> Option<R> {
        let port = self.core.ports.get_mut(port.0)?;
        Some(f(port.as_mut(), &mut self.core.pool))
    }
}
