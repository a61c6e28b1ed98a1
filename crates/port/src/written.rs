//! Ports that write frames into a peer's memory: each says how one frame goes there, batches are emptied here.

use tidegate_packet::{Batch, Pool};

use crate::PortCounters;

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// It is in the peer's buffers.
    Yes,
    /// The peer has given too few buffers so far.
    Full,
    /// The peer's buffers cannot hold it.
    Never,
}

/// Has `put` write frames of up to `len_max` bytes, from the front of the batch while there is room; the rest stay in it.
#[inline]
pub(crate) fn write_out(
    pool: &mut Pool,
    batch: &mut Batch,
    len_max: usize,
    counters: &mut PortCounters,
    mut put: impl FnMut(&[u8]) -> Written,
) {
    let mut done = 0;
    for frame in batch.iter() {
        let len = frame.len();
        match if (1..=len_max).contains(&len) { put(frame.data()) } else { Written::Never } {
            Written::Yes => counters.count_sent(len),
            Written::Never => counters.tx_drop_count += 1,
            Written::Full => break,
        }
        done += 1;
    }
    if done == batch.len() {
        return pool.free_batch(batch);
    }
    batch.drain_front(done).for_each(|frame| pool.free(frame));
    counters.tx_ring_full_count += batch.len() as u64;
}
