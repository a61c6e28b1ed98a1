//! Two ends that hand frames of one pool to each other.

use std::os::fd::BorrowedFd;

use rtrb::{Consumer, Producer, RingBuffer};
use tidegate_packet::{Batch, Frame, Pool};

use crate::{Port, PortCounters};

/// One end; both are driven with the same pool, hence by the same thread.
///
/// A retained frame goes back to its store when the receiving end frees it, so the receiver may read it and
/// must not write to its payload.
#[derive(Debug)]
pub struct MovePort {
    outgoing: Producer<Frame>,
    incoming: Consumer<Frame>,
    frame_len_max: usize,
    counters: PortCounters,
}

/// Two ends, each with room for `capacity` frames of up to `frame_len_max` bytes under way to the other.
pub fn joined_by_move(capacity: usize, frame_len_max: usize) -> (MovePort, MovePort) {
    let (to_right, from_left) = RingBuffer::new(capacity);
    let (to_left, from_right) = RingBuffer::new(capacity);
    let end = |outgoing, incoming| MovePort {
        outgoing,
        incoming,
        frame_len_max,
        counters: PortCounters::default(),
    };
    (end(to_right, from_right), end(to_left, from_left))
}

impl Port for MovePort {
    #[inline]
    fn rx(&mut self, pool: &mut Pool, batch: &mut Batch) -> usize {
        let count = self.incoming.slots().min(batch.room());
        for _ in 0..count {
            let Ok(frame) = self.incoming.pop() else { break };
            self.counters.rx_byte_count += frame.len() as u64;
            if let Err(frame) = batch.push(frame) {
                pool.free(frame);
            }
        }
        self.counters.rx_packet_count += count as u64;
        count
    }

    #[inline]
    fn tx_room(&mut self, _: &mut Pool) -> usize {
        self.outgoing.slots()
    }

    #[inline]
    fn tx(&mut self, pool: &mut Pool, batch: &mut Batch) {
        let count = self.outgoing.slots().min(batch.len());
        self.counters.tx_ring_full_count += (batch.len() - count) as u64;
        for frame in batch.drain_front(count) {
            let len = frame.len();
            if len == 0 || len > self.frame_len_max {
                self.counters.tx_drop_count += 1;
                pool.free(frame);
            } else if let Err(rtrb::PushError::Full(frame)) = self.outgoing.push(frame) {
                self.counters.tx_drop_count += 1;
                pool.free(frame);
            } else {
                self.counters.count_sent(len);
            }
        }
    }

    fn flush(&mut self, _: &mut Pool) {}

    /// What is under way to it; the other end has what is under way from it.
    fn release(&mut self, pool: &mut Pool) {
        while let Ok(frame) = self.incoming.pop() {
            self.counters.rx_drop_count += 1;
            pool.free(frame);
        }
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn frame_len_max(&self) -> usize {
        self.frame_len_max
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }
}
