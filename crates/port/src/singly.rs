//! Ports whose frames come and go one at a time: each says how the next one is had, and how one is handed over; batches are
//! filled and emptied here.

use std::io;

use tidegate_packet::{Batch, Frame, Pool};

use crate::PortCounters;

/// A port that receives frame by frame.
pub(crate) trait Singly {
    /// The next frame, if there is one and a chunk for it. One that is lost is counted here, one that comes
    /// out by the caller.
    fn receive(&mut self, pool: &mut Pool) -> Option<Frame>;

    /// Where it is counted.
    fn counters_mut(&mut self) -> &mut PortCounters;
}

/// A port that sends frame by frame.
pub(crate) trait HandsOver: Singly {
    /// Whether such a frame can be sent at all.
    fn can_send(&self, frame: &Frame) -> bool;

    /// Hands a frame over: false if none is taken now, an error if this one is lost.
    fn try_send(&mut self, frame: &Frame) -> io::Result<bool>;
}

/// [`Port::tx`](crate::Port::tx) for such a port: what is not taken now stays in the batch.
#[inline]
pub(crate) fn hand_over(port: &mut impl HandsOver, pool: &mut Pool, batch: &mut Batch) {
    while let Some(frame) = batch.as_slice().first() {
        match if port.can_send(frame) {
            port.try_send(frame)
        } else {
            Err(io::ErrorKind::InvalidInput.into())
        } {
            Ok(false) => break,
            Ok(true) => port.counters_mut().count_sent(frame.len_with_tail()),
            // Also where the link is down: its frames are lost, as on any link.
            Err(_) => port.counters_mut().tx_drop_count += 1,
        }
        batch.drain_front(1).for_each(|frame| pool.free(frame));
    }
    port.counters_mut().tx_ring_full_count += batch.len() as u64;
}

/// [`Port::rx`](crate::Port::rx) for such a port.
#[inline]
pub(crate) fn fill(port: &mut impl Singly, pool: &mut Pool, batch: &mut Batch) -> usize {
    let before = batch.len();
    while batch.room() > 0 {
        let Some(frame) = port.receive(pool) else { break };
        port.counters_mut().count_received(frame.len());
        if let Err(frame) = batch.push(frame) {
            pool.free(frame);
        }
    }
    batch.len() - before
}
