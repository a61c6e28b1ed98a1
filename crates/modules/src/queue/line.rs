//! A line between two workers: what reaches a queue on one of them waits in the queue of the other.
//!
//! ```text
//!   worker P: Outlet --frames of P's pool--> [ ring ] --> Inlet, in worker C's queue: copied into frames of C's pool
//!                ^                                          |
//!                +---- the same frames, to be freed [ ring ] <
//! ```
//! Invariant: a frame is only ever given to the pool that it is of, and both rings have room for all frames that are under
//! way on a line, so that neither is ever full (docs/adr/0008).
//!
//! Taking a line away goes from P to C and back: the outlet leaves P, the inlet is emptied at C, the outlet's frames are
//! freed at P.

use rtrb::{Consumer, Producer, RingBuffer};
use std::sync::Arc;
use tidegate_base::DropReason;
use tidegate_packet::{Batch, Frame, Pool};
use tidegate_pipeline::{Context, GateCounts, Module};
use tidegate_port::Bell;

/// The part of a pool that may be under way on one line.
const POOL_SHARE: usize = 8;

/// A line's end at the worker that frames come from: a module in the queue's place there.
///
/// | | |
/// |---|---|
/// | gates | in: 0; out: 0, which nothing leaves by: the queue on the other worker emits |
/// | tasks | none |
/// | parameters | the number of the line, its size |
/// | counters | waiting (frames of this pool under way), enqueued, dropped (full) |
pub struct Outlet {
    number: u64,
    frames: Producer<Frame>,
    returned: Consumer<Frame>,
    bell: Arc<Bell>,
    size: usize,
    under_way_count: usize,
    enqueued: u64,
    dropped: u64,
}

/// A line's end at the worker of the queue.
pub struct Inlet {
    number: u64,
    frames: Consumer<Frame>,
    returned: Producer<Frame>,
    pub(super) bell: Arc<Bell>,
}

/// Both ends of line `number`, on which `size` frames may be under way. `bell` wakes the worker of the queue.
pub fn line(number: u64, size: usize, bell: &Arc<Bell>) -> (Outlet, Inlet) {
    let (frames, incoming) = RingBuffer::new(size);
    let (outgoing, returned) = RingBuffer::new(size);
    let outlet = Outlet {
        number,
        frames,
        returned,
        bell: Arc::clone(bell),
        size,
        under_way_count: 0,
        enqueued: 0,
        dropped: 0,
    };
    (outlet, Inlet { number, frames: incoming, returned: outgoing, bell: Arc::clone(bell) })
}

impl Outlet {
    /// The line's number.
    pub const fn number(&self) -> u64 {
        self.number
    }

    fn free_count(&self, pool: &Pool) -> usize {
        self.size.min(pool.chunk_count() / POOL_SHARE).saturating_sub(self.under_way_count)
    }

    /// Frees the frames that have come back.
    fn reclaim(&mut self, pool: &mut Pool) {
        while let Ok(frame) = self.returned.pop() {
            self.under_way_count -= 1;
            pool.free(frame);
        }
    }
}

impl Module for Outlet {
    fn class(&self) -> &'static str {
        "queue_outlet"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        self.reclaim(ctx.pool());
        let room = self.free_count(ctx.pool());
        for frame in batch.drain_front(room) {
            match self.frames.push(frame) {
                Ok(()) => self.under_way_count += 1,
                Err(rtrb::PushError::Full(frame)) => ctx.drop(frame, DropReason::RingFull),
            }
            self.enqueued += 1;
        }
        self.bell.ring();
        if !batch.is_empty() {
            self.dropped += batch.len() as u64;
            ctx.drop_batch(batch, DropReason::RingFull);
        }
    }

    fn room(&mut self, ctx: &mut Context<'_>, _: usize) -> usize {
        self.reclaim(ctx.pool());
        self.free_count(ctx.pool())
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let waiting = self.under_way_count as u64;
        vec![("waiting", waiting), ("enqueued", self.enqueued), ("dropped", self.dropped)]
    }

    fn retire(&mut self, pool: &mut Pool) {
        self.reclaim(pool);
    }
}

impl Inlet {
    /// The line's number.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Takes at most `limit` frames into `out` as ones of `pool`, as far as both have room. Those that do not fit a chunk
    /// of it are lost; they are counted.
    pub(super) fn take(&mut self, limit: usize, pool: &mut Pool, out: &mut Batch) -> usize {
        let mut lost_count = 0;
        for _ in 0..limit.min(out.room()) {
            if self.frames.is_empty() {
                break;
            }
            let Some(mut own) = pool.alloc() else { break };
            let Ok(frame) = self.frames.pop() else {
                pool.free(own);
                break;
            };
            if copy(&frame, &mut own) {
                // There is room, as was asked above.
                if let Err(own) = out.push(own) {
                    pool.free(own);
                }
            } else {
                lost_count += 1;
                pool.free(own);
            }
            self.give_back(frame);
        }
        lost_count
    }

    /// Gives all that waits back as it is; how many frames that were.
    pub(super) fn give_all_back(&mut self) -> usize {
        let mut count = 0;
        while let Ok(frame) = self.frames.pop() {
            self.give_back(frame);
            count += 1;
        }
        count
    }

    fn give_back(&mut self, frame: Frame) {
        // The ring has room for all frames of the line.
        let _ = self.returned.push(frame);
    }
}

/// Makes `to` the same packet with the same attributes. False if it does not fit.
fn copy(from: &Frame, to: &mut Frame) -> bool {
    *to.scratch_mut() = *from.scratch();
    to.reset(from.start());
    to.extend(from.data())
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
