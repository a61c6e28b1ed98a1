//! Two ends with a pool each: bytes cross, frames stay at home.
//!
//! ```text
//!   left                            wire                              right
//!   frame --copy--> buffer  ==== full ring ====>  buffer --copy--> frame
//!                      ^                            |
//!                      +====== empty ring <=========+
//! ```
//! Invariant: a direction owns `capacity` buffers, each in one ring or in the hands of one end, so neither
//! ring can overflow.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rtrb::{Consumer, Producer, RingBuffer};
use tidegate_packet::{Batch, Frame, Pool};

use crate::singly::{Singly, fill};
use crate::{Bell, Port, PortCounters};

/// The bytes of one frame under way.
#[derive(Debug)]
struct Buffer(Vec<u8>);

/// One end of a wire between two pools; each end may be on a thread of its own.
#[derive(Debug)]
pub struct CopyPort {
    outgoing: Producer<Buffer>,
    /// Buffers that the other end has emptied.
    spare: Consumer<Buffer>,
    incoming: Consumer<Buffer>,
    emptied: Producer<Buffer>,
    theirs: Arc<Bell>,
    ours: Arc<Bell>,
    unrung: bool,
    frame_len_max: usize,
    counters: PortCounters,
}

/// One direction: what the sending and the receiving end hold of it.
type Direction = ((Producer<Buffer>, Consumer<Buffer>), (Consumer<Buffer>, Producer<Buffer>));

fn direction(capacity: usize, frame_len_max: usize) -> Direction {
    let (outgoing, incoming) = RingBuffer::new(capacity);
    let (mut emptied, spare) = RingBuffer::new(capacity);
    for _ in 0..capacity {
        // The ring has `capacity` slots: none is refused.
        let _ = emptied.push(Buffer(Vec::with_capacity(frame_len_max)));
    }
    ((outgoing, spare), (incoming, emptied))
}

/// Two ends, each with room for `capacity` frames of up to `frame_len_max` bytes under way to the other. An
/// error means that the process has no descriptors left.
pub fn joined_by_copy(capacity: usize, frame_len_max: usize) -> io::Result<(CopyPort, CopyPort)> {
    let (left_out, right_in) = direction(capacity, frame_len_max);
    let (right_out, left_in) = direction(capacity, frame_len_max);
    let (left_bell, right_bell) = (Arc::new(Bell::new()?), Arc::new(Bell::new()?));
    let end = |(outgoing, spare), (incoming, emptied), ours: &Arc<Bell>, theirs: &Arc<Bell>| CopyPort {
        outgoing,
        spare,
        incoming,
        emptied,
        theirs: Arc::clone(theirs),
        ours: Arc::clone(ours),
        unrung: false,
        frame_len_max,
        counters: PortCounters::default(),
    };
    let left = end(left_out, left_in, &left_bell, &right_bell);
    Ok((left, end(right_out, right_in, &right_bell, &left_bell)))
}

impl CopyPort {
    /// Keeps [`wait_fd`](Port::wait_fd) readable exactly while there are frames.
    fn found_empty(&mut self) {
        if self.ours.hush() {
            let missed = !self.incoming.is_empty() && self.ours.ring();
            self.counters.syscall_count += 1 + u64::from(missed);
        }
    }

    fn send(&mut self, pool: &mut Pool, frame: Frame) {
        let len = frame.len();
        let buffer = if len == 0 || len > self.frame_len_max { None } else { self.spare.pop().ok() };
        match buffer {
            Some(Buffer(mut bytes)) => {
                bytes.clear();
                bytes.extend_from_slice(frame.data());
                // A spare buffer means a free slot.
                let _ = self.outgoing.push(Buffer(bytes));
                self.counters.count_sent(len);
                self.unrung = true;
            }
            None => self.counters.tx_drop_count += 1,
        }
        pool.free(frame);
    }
}

impl Singly for CopyPort {
    /// The next frame of the other end as one of this end's pool. A buffer that finds no chunk, or one too
    /// small for it, is dropped and counted.
    fn receive(&mut self, pool: &mut Pool) -> Option<Frame> {
        while let Ok(buffer) = self.incoming.pop() {
            let frame = pool.alloc().and_then(|mut frame| {
                let fits = frame.extend(&buffer.0);
                if fits {
                    return Some(frame);
                }
                pool.free(frame);
                None
            });
            // Its own direction's buffer: there is a slot for it.
            let _ = self.emptied.push(buffer);
            match frame {
                None => self.counters.rx_drop_count += 1,
                some => return some,
            }
        }
        None
    }

    fn counters_mut(&mut self) -> &mut PortCounters {
        &mut self.counters
    }
}

impl Port for CopyPort {
    fn rx(&mut self, pool: &mut Pool, batch: &mut Batch) -> usize {
        let count = fill(self, pool, batch);
        if batch.room() > 0 {
            self.found_empty();
        }
        count
    }

    fn tx_room(&mut self, _: &mut Pool) -> usize {
        self.spare.slots()
    }

    fn tx(&mut self, pool: &mut Pool, batch: &mut Batch) {
        let room = self.spare.slots().min(batch.len());
        self.counters.tx_ring_full_count += (batch.len() - room) as u64;
        for frame in batch.drain_front(room) {
            self.send(pool, frame);
        }
    }

    fn flush(&mut self, _: &mut Pool) {
        if std::mem::take(&mut self.unrung) {
            self.counters.syscall_count += u64::from(self.theirs.ring());
        }
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.ours.as_fd())
    }

    fn frame_len_max(&self) -> usize {
        self.frame_len_max
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }
}
