//! Ports whose frames come one at a time: each says how the next one is had, the batch is filled here.

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
