//! A port with nothing behind it: always something to receive, always room to send. For measuring what a pipeline costs
//! between its ports, as DPDK's net_null is used.
//!
//! Invariant: what is received holds whatever the chunk held before; what is sent goes back to the pool.

use std::os::fd::BorrowedFd;

use tidegate_packet::{BATCH_LEN_MAX, Batch, Pool};

use crate::{Port, PortCounters};

/// Bytes of a received frame unless said otherwise: the shortest on Ethernet, without its checksum.
pub const NULL_LEN_DEFAULT: usize = 60;

/// What the length field of an IP packet can name: nothing here is too long.
const FRAME_LEN_MAX: usize = 65_535;

/// Gives full batches of frames, takes all.
#[derive(Debug)]
pub struct NullPort {
    len: usize,
    counters: PortCounters,
}

impl NullPort {
    /// A port whose frames have `len` bytes, or as many as a chunk holds.
    pub fn new(len: usize) -> NullPort {
        NullPort { len, counters: PortCounters::default() }
    }
}

impl Default for NullPort {
    fn default() -> NullPort {
        NullPort::new(NULL_LEN_DEFAULT)
    }
}

impl Port for NullPort {
    #[inline]
    fn rx(&mut self, pool: &mut Pool, batch: &mut Batch) -> usize {
        let before = batch.len();
        pool.alloc_batch(batch.room(), self.len, batch);
        let count = batch.len() - before;
        // All of one call are as long.
        let len = batch.as_slice().last().map_or(0, |frame| frame.len());
        self.counters.rx_packet_count += count as u64;
        self.counters.rx_byte_count += (count * len) as u64;
        count
    }

    fn tx_room(&mut self, _: &mut Pool) -> usize {
        BATCH_LEN_MAX
    }

    #[inline]
    fn tx(&mut self, pool: &mut Pool, batch: &mut Batch) {
        self.counters.tx_packet_count += batch.len() as u64;
        self.counters.tx_byte_count += batch.byte_count() as u64;
        pool.free_batch(batch);
    }

    fn flush(&mut self, _: &mut Pool) {}

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn frame_len_max(&self) -> usize {
        FRAME_LEN_MAX
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_packet::HeapMemory;

    fn pool(chunk_count: usize) -> Pool {
        Pool::new(Box::new(HeapMemory::new(chunk_count * 2048)), 2048).unwrap()
    }

    #[test]
    fn batches_come_full_and_go_back_to_the_pool() {
        let mut pool = pool(40);
        let (mut port, mut batch) = (NullPort::default(), Batch::new());
        assert_eq!(port.rx(&mut pool, &mut batch), BATCH_LEN_MAX);
        assert!(batch.iter().all(|frame| frame.len() == 60));
        assert_eq!(port.rx(&mut pool, &mut batch), 0, "the batch is full");
        port.tx(&mut pool, &mut batch);
        assert_eq!((batch.len(), pool.free_count()), (0, 40));
        let counters = port.counters();
        assert_eq!((counters.rx_packet_count, counters.rx_byte_count), (32, 32 * 60));
        assert_eq!((counters.tx_packet_count, counters.tx_byte_count), (32, 32 * 60));
    }

    #[test]
    fn a_small_pool_gives_what_it_has() {
        let mut pool = pool(3);
        let (mut port, mut batch) = (NullPort::new(1514), Batch::new());
        assert_eq!(port.rx(&mut pool, &mut batch), 3);
        assert_eq!(port.rx(&mut pool, &mut batch), 0);
        port.tx(&mut pool, &mut batch);
        assert_eq!(pool.free_count(), 3);
    }
}
