//! From a piece of a response to a frame with only headers missing.
//!
//! ```text
//!   fetch(response, offset, len)
//!     a whole chunk, pre-copy, an idle packet of it     -> that packet, restamped        "ready"
//!     a whole chunk, pre-copy, none idle, room for more -> a copy that is kept           "stocked"
//!     a whole chunk otherwise                           -> a copy, with the known sum    "copied"
//!     any other piece                                   -> a copy, summed now            "sliced"
//! ```
//!
//! Invariant: the same response, offset and length give the same bytes each time and in each mode, and the
//! sum is that of the bytes. One packer is used with one pool.

use crate::prepared::{Chunk, Prepared};
use crate::read_ahead::ReadAhead;
use crate::response::Response;
use crate::shelf::Store;
use crate::stamp::SlotTexts;
use tidegate_base::Sum;
use tidegate_packet::{Frame, Pool};

/// How frames are made (Sandstorm paper, section 2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Frames that hold a chunk are kept and sent again; no byte is copied in the steady state.
    #[default]
    PreCopy,
    /// Each frame is filled afresh from the one copy in memory.
    MemCopy,
}

/// A piece of a response in a frame, and its sum.
#[derive(Debug)]
pub struct Payload {
    /// Its data is the piece, behind the full headroom.
    pub frame: Frame,
    /// The sum of that data, the first byte at an even offset.
    pub sum: Sum,
}

/// How often a packer did what.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PackerCounters {
    /// Frames that were ready.
    pub ready_count: u64,
    /// Chunks copied to be kept.
    pub stocked_count: u64,
    /// Chunks copied for once.
    pub copied_count: u64,
    /// Pieces that are no chunk, copied and summed.
    pub sliced_count: u64,
    /// Bulk segments whose bytes stayed where they are.
    pub bulk_count: u64,
    /// Kept frames that gave way to others.
    pub evicted_count: u64,
    /// Fetches that failed because the pool had no frame.
    pub starved_count: u64,
    /// Fetches that failed because a file had changed under its response.
    pub broken_count: u64,
}

/// What percentage of a pool the ready packets may take, unless told otherwise: the rest is for receiving.
const HIGH_WATER_PERCENT: usize = 50;
/// A response that would take more than this part of what ready packets may take is never kept.
const LARGEST_SHARE: usize = 4;

/// Makes a worker's frames.
pub struct Packer {
    mode: Mode,
    high_water_percent: usize,
    texts: SlotTexts,
    store: Store,
    sweep_is_due: bool,
    read_ahead: ReadAhead,
    counters: PackerCounters,
}

impl Packer {
    /// A packer that keeps up to half of its pool as ready packets.
    pub fn new(mode: Mode) -> Self {
        Self::with_high_water(mode, HIGH_WATER_PERCENT)
    }

    /// A packer that keeps up to `percent` of its pool as ready packets.
    pub fn with_high_water(mode: Mode, percent: usize) -> Self {
        Self {
            mode,
            high_water_percent: percent.min(100),
            texts: SlotTexts::new(),
            store: Store::default(),
            sweep_is_due: false,
            read_ahead: ReadAhead::new(),
            counters: PackerCounters::default(),
        }
    }

    /// How it makes frames.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// How often it did what.
    pub const fn counters(&self) -> PackerCounters {
        self.counters
    }

    /// Tells the time, in seconds since 1970-01-01 00:00 UTC. Cheap where the second is the same.
    pub fn set_date(&mut self, now_unix_secs: u64) {
        self.sweep_is_due |= self.texts.advance(now_unix_secs);
    }

    /// A frame with the `len` bytes of `response` from `offset` on. `None` if the pool has no frame, the
    /// response has no such bytes or they are more than a frame holds, or its file has changed (see
    /// [`Response::is_intact`]).
    #[inline]
    pub fn fetch(
        &mut self,
        response: &Response,
        offset: u64,
        len: usize,
        pool: &mut Pool,
    ) -> Option<Payload> {
        if offset.checked_add(len as u64)? > response.len() {
            return None;
        }
        let prepared = response.prepared();
        match (prepared.chunk_at(offset, len), self.mode) {
            (Some(chunk), Mode::PreCopy) => {
                self.sweep_if_due(pool);
                self.fetch_ready(response, chunk, pool)
            }
            (Some(chunk), Mode::MemCopy) => self.fetch_copy(response, chunk, pool),
            (None, _) => self.fetch_slice(response, offset, len, pool),
        }
    }

    /// A frame with the `len` bytes of `response` from `offset` on, of which only the head's are in the frame and the
    /// others are its tail, where they lie. `None` if the pool has no frame or [`Response::bulk_len`] says no.
    pub fn fetch_bulk(
        &mut self,
        response: &Response,
        offset: u64,
        len: usize,
        pool: &mut Pool,
    ) -> Option<Frame> {
        let prepared = response.prepared();
        let (head_len, tail) = prepared.split(offset, len)?;
        let (mut frame, _) = self.fill(response, offset, head_len, pool)?;
        frame.append(tail);
        self.counters.bulk_count += 1;
        Some(frame)
    }

    /// Gives all ready packets back to the pool.
    pub fn release(&mut self, pool: &mut Pool) {
        self.store.clear(pool);
    }

    #[inline]
    fn fetch_ready(&mut self, response: &Response, chunk: Chunk, pool: &mut Pool) -> Option<Payload> {
        let prepared = response.prepared();
        let index = prepared.index()?;
        let Some((packet, mut frame)) = self.store.take(index, prepared, chunk.number, pool) else {
            return self.fetch_and_keep(index, response, chunk, pool);
        };
        if packet.stamp != response.stamp() && chunk.offset < prepared.head_len() {
            packet.stamp = response.stamp();
            let fill = self.texts.fill(packet.stamp);
            packet.sum = chunk.sum + prepared.fill(chunk.offset, frame.data_mut(), &fill);
        }
        self.counters.ready_count += 1;
        Some(Payload { frame, sum: packet.sum })
    }

    #[cold]
    fn fetch_and_keep(
        &mut self,
        index: usize,
        response: &Response,
        chunk: Chunk,
        pool: &mut Pool,
    ) -> Option<Payload> {
        if !self.may_keep(index, response.prepared(), pool) {
            return self.fetch_copy(response, chunk, pool);
        }
        let Payload { frame, sum } = self.copy(response, chunk, pool)?;
        self.counters.stocked_count += 1;
        let stamped = Chunk { sum, ..chunk };
        let frame = self.store.add(index, response.prepared(), stamped, frame, response.stamp(), pool)?;
        Some(Payload { frame, sum })
    }

    fn fetch_copy(&mut self, response: &Response, chunk: Chunk, pool: &mut Pool) -> Option<Payload> {
        let payload = self.copy(response, chunk, pool)?;
        self.counters.copied_count += 1;
        Some(payload)
    }

    fn fetch_slice(
        &mut self,
        response: &Response,
        offset: u64,
        len: usize,
        pool: &mut Pool,
    ) -> Option<Payload> {
        let (frame, _) = self.fill(response, offset, len, pool)?;
        self.counters.sliced_count += 1;
        Some(Payload { sum: Sum::of(frame.data()), frame })
    }

    /// A fresh frame with a chunk whose sum is known but for the slots.
    #[inline]
    fn copy(&mut self, response: &Response, chunk: Chunk, pool: &mut Pool) -> Option<Payload> {
        let (frame, slot_sum) = self.fill(response, chunk.offset, chunk.len, pool)?;
        Some(Payload { frame, sum: chunk.sum + slot_sum })
    }

    /// A fresh frame with the `len` bytes from `offset` on, slots filled, and what those add to the sum.
    #[inline]
    fn fill(
        &mut self,
        response: &Response,
        offset: u64,
        len: usize,
        pool: &mut Pool,
    ) -> Option<(Frame, Sum)> {
        let Some(mut frame) = pool.alloc() else {
            self.counters.starved_count += 1;
            return None;
        };
        let prepared = response.prepared();
        let read = |window: &mut [u8]| prepared.read(offset, window, &mut self.read_ahead);
        if !frame.push_back(len).is_some_and(read) {
            self.counters.broken_count += u64::from(!prepared.is_intact());
            pool.free(frame);
            return None;
        }
        let slot_sum = prepared.fill(offset, frame.data_mut(), &self.texts.fill(response.stamp()));
        Some((frame, slot_sum))
    }

    /// Whether one more ready packet of `prepared` is within bounds, after evicting others if need be.
    fn may_keep(&mut self, index: usize, prepared: &Prepared, pool: &mut Pool) -> bool {
        let high_water = pool.chunk_count() * self.high_water_percent / 100;
        if prepared.chunk_count() * LARGEST_SHARE > high_water {
            return false;
        }
        if pool.retained_count() >= high_water {
            self.counters.evicted_count += self.store.evict(index, pool) as u64;
        }
        pool.retained_count() < high_water
    }

    /// Once a second at most, gives frames of responses that no longer exist back.
    fn sweep_if_due(&mut self, pool: &mut Pool) {
        if std::mem::take(&mut self.sweep_is_due) {
            self.store.sweep(pool);
        }
    }
}
