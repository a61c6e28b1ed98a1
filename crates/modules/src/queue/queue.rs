//! Where frames wait: what feeds it and what it feeds are scheduled apart.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: 0, in order of arrival |
//! | tasks | one: emits up to a burst of frames a turn |
//! | parameters | size (frames, a power of two from 4 to 1,048,576; 1,024 unless told), prefetch, backpressure; burst (1 to 32) |
//! | attributes | none of its own; those of the frames that wait are moved when the layout changes |
//! | counters | waiting, enqueued, dequeued, dropped (full) |
//! | rate | 341 M packets/s of one core, 60 bytes: queue (`make bench-pipeline`) |
//!
//! Frames may come from other workers too: each has a line to it ([`Inlet`]), whose frames it copies into its own worker's.
//!
//! With backpressure it emits no more than what it feeds has room for, and tells what feeds it how many places are
//! free. Without, what arrives at a full queue is dropped.

use super::line::Inlet;
use super::ring::Ring;
use crate::parameter::{ParameterError, in_range};
use std::os::fd::{AsFd, BorrowedFd};
use tidegate_base::{DropReason, Duration, Instant};
use tidegate_packet::{BATCH_LEN_MAX, Batch, Pool, prefetch};
use tidegate_pipeline::metadata::Relocation;
use tidegate_pipeline::{Context, GateCounts, Module, Work};

/// Frames that may wait unless told.
pub const QUEUE_SIZE_DEFAULT: u64 = 1024;

const SIZE_MIN: u64 = 4;
const SIZE_MAX: u64 = 1 << 20;
/// How soon a queue looks again whose frames found no room.
const RETRY: Duration = Duration::from_micros(20);

/// How a queue is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueParams {
    /// Frames that may wait: a power of two from 4 to 1,048,576.
    pub size: u64,
    /// Brings the first bytes of a frame near before it is emitted.
    pub prefetch: bool,
    /// Emits only what has room further down, and shows its own room.
    pub backpressure: bool,
}

impl Default for QueueParams {
    fn default() -> Self {
        Self { size: QUEUE_SIZE_DEFAULT, prefetch: false, backpressure: false }
    }
}

/// A queue, seen between two rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueStatus {
    /// Frames that wait.
    pub count: u64,
    /// Frames that may wait.
    pub size: u64,
    /// Frames that came in.
    pub enqueued: u64,
    /// Frames that went out.
    pub dequeued: u64,
    /// Frames that found it full.
    pub dropped: u64,
}

/// The module.
pub struct Queue {
    initial: QueueParams,
    params: QueueParams,
    burst: usize,
    ring: Ring,
    /// From other workers.
    inlets: Vec<Inlet>,
    out: Batch,
    enqueued: u64,
    dequeued: u64,
    dropped: u64,
    /// When it last looked for room in vain.
    looked_at: Instant,
}

impl Queue {
    /// An empty queue.
    pub fn new(params: QueueParams) -> Result<Self, ParameterError> {
        let size = checked_size(params.size)?;
        Ok(Self {
            initial: params,
            params,
            burst: BATCH_LEN_MAX,
            ring: Ring::new(size),
            inlets: Vec::new(),
            out: Batch::new(),
            enqueued: 0,
            dequeued: 0,
            dropped: 0,
            looked_at: Instant::ZERO,
        })
    }

    /// How it was made.
    pub const fn initial_params(&self) -> QueueParams {
        self.initial
    }

    /// How it is now.
    pub const fn params(&self) -> QueueParams {
        self.params
    }

    /// Makes it another queue. Frames that wait go on waiting, even where they are more than the new size.
    pub fn set_params(&mut self, params: QueueParams) -> Result<(), ParameterError> {
        self.set_size(params.size)?;
        self.params = params;
        Ok(())
    }

    /// Has `size` frames wait at most. Those that wait already go on waiting.
    pub fn set_size(&mut self, size: u64) -> Result<(), ParameterError> {
        self.ring.reserve(checked_size(size)?);
        self.params.size = size;
        Ok(())
    }

    /// Has it emit at most `burst` frames a turn, 1 to 32.
    pub fn set_burst(&mut self, burst: u64) -> Result<(), ParameterError> {
        self.burst = in_range("a burst", burst, 1..=BATCH_LEN_MAX as u64)? as usize;
        Ok(())
    }

    /// What waits, and what came, went and was dropped.
    pub const fn status(&self) -> QueueStatus {
        QueueStatus {
            count: self.ring.len() as u64,
            size: self.params.size,
            enqueued: self.enqueued,
            dequeued: self.dequeued,
            dropped: self.dropped,
        }
    }

    /// Has it take what comes by another line, too. All lines to it have one bell.
    pub fn add_inlet(&mut self, inlet: Inlet) {
        self.inlets.push(inlet);
    }

    /// Takes in all that is on line `number`, however much that is, and ends the line. False if there is no such line. To be
    /// called once its outlet has left its worker.
    pub fn remove_inlet(&mut self, number: u64, pool: &mut Pool) -> bool {
        let Some(at) = self.inlets.iter().position(|inlet| inlet.number() == number) else { return false };
        let mut inlet = self.inlets.remove(at);
        while !inlet.is_empty() && pool.free_count() > 0 {
            self.dropped += inlet.take(BATCH_LEN_MAX, pool, &mut self.out) as u64;
            self.enqueued += self.out.len() as u64;
            self.ring.push_batch(&mut self.out, BATCH_LEN_MAX);
        }
        self.dropped += inlet.give_all_back() as u64;
        true
    }

    /// Gives back all that is on line `number`, without a look at it: for a queue that has left its worker.
    pub fn abandon_inlet(&mut self, number: u64) -> bool {
        let Some(at) = self.inlets.iter().position(|inlet| inlet.number() == number) else { return false };
        self.dropped += self.inlets.remove(at).give_all_back() as u64;
        true
    }

    /// Takes in what has come by the lines, as far as there is room.
    #[inline(never)]
    fn take_in(&mut self, ctx: &mut Context<'_>) {
        for at in 0..self.inlets.len() {
            let room = self.free_count();
            let lost_count = self.inlets[at].take(room, ctx.pool(), &mut self.out);
            self.enqueued += self.out.len() as u64;
            self.dropped += lost_count as u64;
            self.ring.push_batch(&mut self.out, BATCH_LEN_MAX);
        }
        if self.inlets.iter().all(Inlet::is_empty)
            && let Some(inlet) = self.inlets.first()
            && inlet.bell.hush()
            && !self.inlets.iter().all(Inlet::is_empty)
        {
            inlet.bell.ring();
        }
    }

    #[inline]
    const fn free_count(&self) -> usize {
        (self.params.size as usize).saturating_sub(self.ring.len())
    }
}

fn checked_size(size: u64) -> Result<usize, ParameterError> {
    in_range("a queue's size in frames", size, SIZE_MIN..=SIZE_MAX)?;
    if size.is_power_of_two() { Ok(size as usize) } else { Err(ParameterError::NotPowerOfTwo(size)) }
}

impl Module for Queue {
    fn class(&self) -> &'static str {
        "queue"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let before = self.ring.len();
        self.ring.push_batch(batch, self.free_count());
        self.enqueued += (self.ring.len() - before) as u64;
        if !batch.is_empty() {
            self.dropped += batch.len() as u64;
            ctx.drop_batch(batch, DropReason::RingFull);
        }
    }

    fn task_count(&self) -> usize {
        1
    }

    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        if !self.inlets.is_empty() {
            self.take_in(ctx);
        }
        let mut limit = self.burst;
        if self.params.backpressure {
            limit = limit.min(ctx.room(0));
            self.looked_at = ctx.now();
        }
        if limit == 0 {
            return Work::NONE;
        }
        self.ring.pop_batch(&mut self.out, limit);
        if self.params.prefetch {
            self.out.iter().for_each(|frame| prefetch(frame.data()));
        }
        let work = Work { packet_count: self.out.len(), byte_count: self.out.byte_count() };
        self.dequeued += work.packet_count as u64;
        ctx.emit_batch(0, &mut self.out);
        work
    }

    fn asks_room(&self) -> bool {
        self.params.backpressure
    }

    fn room(&mut self, _: &mut Context<'_>, _: usize) -> usize {
        if self.params.backpressure { self.free_count() } else { usize::MAX }
    }

    fn next_deadline(&self) -> Option<Instant> {
        (self.ring.len() > 0).then(|| self.looked_at + RETRY)
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        self.inlets.first().map(|inlet| inlet.bell.as_fd())
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let QueueStatus { count, enqueued, dequeued, dropped, .. } = self.status();
        vec![("waiting", count), ("enqueued", enqueued), ("dequeued", dequeued), ("dropped", dropped)]
    }

    fn relocate(&mut self, relocation: &Relocation) {
        self.ring.iter_mut().for_each(|frame| relocation.apply(frame));
    }

    fn retire(&mut self, pool: &mut Pool) {
        self.ring.drain().for_each(|mut batch| pool.free_batch(&mut batch));
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
