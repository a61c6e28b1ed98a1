//! Where frames pass from one module to the next: what leaves through an output gate waits at the input gate it
//! leads to, and small batches that meet there become one.

use crate::hook::GateHook;
use tidegate_base::Instant;
use tidegate_packet::{Batch, Frame};

/// What passed through a gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GateTraffic {
    /// Frames.
    pub packet_count: u64,
    /// Batches: at an output gate the calls that emitted, at an input gate those that took.
    pub batch_count: u64,
}

impl GateTraffic {
    #[inline]
    pub(crate) const fn count(&mut self, packet_count: usize) {
        self.packet_count += packet_count as u64;
        self.batch_count += 1;
    }
}

impl std::ops::Add for GateTraffic {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            packet_count: self.packet_count + other.packet_count,
            batch_count: self.batch_count + other.batch_count,
        }
    }
}

/// What looks at the frames that pass a gate, beside the counters.
pub(crate) type Hooks = Vec<Box<dyn GateHook>>;

/// An output gate.
#[derive(Default)]
pub(crate) struct Link {
    /// The queue it leads to.
    pub(crate) to: Option<usize>,
    /// It leads to a queue, nobody looks at what passes, and nobody asks how much more may.
    pub(crate) is_plain: bool,
    pub(crate) traffic: GateTraffic,
    pub(crate) hooks: Hooks,
}

impl Link {
    /// To be called when its end or its hooks have changed.
    pub(crate) fn note(&mut self, asks_room: bool) {
        self.is_plain = self.to.is_some() && self.hooks.is_empty() && !asks_room;
    }
}

/// An input gate.
pub(crate) struct Queue {
    /// Whose it is, and which of its gates.
    pub(crate) step: usize,
    pub(crate) gate: usize,
    batch: Batch,
    /// What did not fit into the batch; empty but for modules that multiply frames.
    more: Vec<Frame>,
    pub(crate) traffic: GateTraffic,
    pub(crate) hooks: Hooks,
}

impl Queue {
    pub(crate) fn new(step: usize, gate: usize) -> Self {
        Self {
            step,
            gate,
            batch: Batch::new(),
            more: Vec::new(),
            traffic: GateTraffic::default(),
            hooks: Hooks::new(),
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, frame: Frame) {
        if !self.more.is_empty() {
            self.more.push(frame);
        } else if let Err(frame) = self.batch.push(frame) {
            self.more.push(frame);
        }
    }

    /// Takes all of `batch`, in order.
    #[inline]
    pub(crate) fn push_batch(&mut self, batch: &mut Batch) {
        if self.batch.is_empty() {
            std::mem::swap(&mut self.batch, batch);
        } else {
            self.join(batch);
        }
    }

    #[inline(never)]
    fn join(&mut self, batch: &mut Batch) {
        if self.more.is_empty() {
            self.batch.append(batch);
        }
        self.more.extend(batch.drain());
    }

    /// Gives the frames that wait, at most a batch of them, into `batch`, which is empty. False if none waits.
    #[inline]
    pub(crate) fn take(&mut self, batch: &mut Batch) -> bool {
        if self.batch.is_empty() {
            return false;
        }
        std::mem::swap(&mut self.batch, batch);
        if !self.more.is_empty() {
            self.refill();
        }
        true
    }

    #[cold]
    fn refill(&mut self) {
        let count = self.batch.room().min(self.more.len());
        for frame in self.more.drain(..count) {
            // There is room, as was asked above.
            let _ = self.batch.push(frame);
        }
    }
}

/// Shows `frames` to all of `hooks`.
#[inline]
pub(crate) fn show(hooks: &mut Hooks, now: Instant, frames: &[Frame]) {
    for hook in hooks {
        hook.on_frames(now, frames);
    }
}
