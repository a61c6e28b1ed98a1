//! Where frames pass from one module to the next: what leaves through an output gate waits at the input gate it
//! leads to, and small batches that meet there become one.

use crate::agenda::FIRST_COUNT;
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
        if cfg!(feature = "uncounted") {
            return;
        }
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
pub(crate) struct Link {
    /// The queue it leads to.
    pub(crate) to: Option<usize>,
    /// The same, if it is one of the first, nobody looks at what passes and nobody asks how much more may; otherwise no
    /// queue.
    pub(crate) direct: usize,
    pub(crate) traffic: GateTraffic,
    pub(crate) hooks: Hooks,
}

/// The number of no queue.
const NO_QUEUE: usize = usize::MAX;

impl Link {
    /// A gate that leads nowhere.
    pub(crate) fn open() -> Self {
        Self { to: None, direct: NO_QUEUE, traffic: GateTraffic::default(), hooks: Hooks::new() }
    }

    /// To be called when its end or its hooks have changed.
    pub(crate) fn note(&mut self, asks_room: bool) {
        let is_plain = self.hooks.is_empty() && !asks_room;
        let direct = self.to.filter(|queue| is_plain && *queue < FIRST_COUNT);
        self.direct = direct.unwrap_or(NO_QUEUE);
    }
}

/// An input gate, in cache lines of its own.
#[repr(align(64))]
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

    /// Takes all of `batch`, if nothing waits. False, with nothing changed, if something does.
    #[inline]
    pub(crate) fn take_over(&mut self, batch: &mut Batch) -> bool {
        let is_free = self.batch.is_empty();
        if is_free {
            std::mem::swap(&mut self.batch, batch);
        }
        is_free
    }

    /// Takes all of `batch`, behind what waits.
    pub(crate) fn join(&mut self, batch: &mut Batch) {
        if self.take_over(batch) {
            return;
        }
        if self.more.is_empty() {
            self.batch.append(batch);
        }
        self.more.extend(batch.drain());
    }

    /// Gives the frames that wait, at most a batch of them, into `batch`, which is empty. Whether more wait.
    #[inline]
    pub(crate) fn take(&mut self, batch: &mut Batch) -> bool {
        std::mem::swap(&mut self.batch, batch);
        let has_more = !self.more.is_empty();
        if has_more {
            self.refill();
        }
        has_more
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

/// Shows `frames` to all of `hooks`, which few gates have.
#[cold]
pub(crate) fn show(hooks: &mut Hooks, now: Instant, frames: &[Frame]) {
    for hook in hooks {
        hook.on_frames(now, frames);
    }
}
