//! All queues of a device as one port, for who has one thread for them.
//!
//! ```text
//!   queue 0 --+                 +--> queue 0      frames of a flow come by one queue, and all leave by the first
//!   queue 1 --+--> rx     tx ---+
//!   queue 2 --+    in turn
//! ```
//! Invariant: the ports have one pool between them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use tidegate_packet::{Batch, ChunkAddr, Pool};
use tidegate_sys::event::Epoll;

use crate::{Port, PortCounters};

/// Several ports that receive in turn, of which the first sends.
pub struct JoinedPort {
    ports: Vec<Box<dyn Port>>,
    /// Which is asked first next time.
    next: usize,
    /// All their descriptors.
    set: Epoll,
}

impl JoinedPort {
    /// Joins `ports`, which receive into the same pool. At least one. Frames with a tail are not among what they receive.
    ///
    /// # Errors
    /// No descriptors are left, or there are no ports.
    pub fn new(ports: Vec<Box<dyn Port>>) -> io::Result<Self> {
        if ports.is_empty() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let set = Epoll::new()?;
        for fd in ports.iter().filter_map(|port| port.wait_fd()) {
            set.add(fd, 0)?;
        }
        Ok(Self { ports, next: 0, set })
    }

    fn first(&mut self) -> &mut dyn Port {
        &mut *self.ports[0]
    }
}

impl Port for JoinedPort {
    fn rx(&mut self, pool: &mut Pool, batch: &mut Batch) -> usize {
        let (first, count) = (self.next, self.ports.len());
        self.next = (first + 1) % count;
        (0..count).map(|turn| self.ports[(first + turn) % count].rx(pool, batch)).sum()
    }

    fn tx_room(&mut self, pool: &mut Pool) -> usize {
        self.first().tx_room(pool)
    }

    fn tx(&mut self, pool: &mut Pool, batch: &mut Batch) {
        self.first().tx(pool, batch);
    }

    fn flush(&mut self, pool: &mut Pool) {
        self.first().flush(pool);
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.set.as_fd())
    }

    fn frame_len_max(&self) -> usize {
        self.ports[0].frame_len_max()
    }

    fn bulk_len_max(&self) -> usize {
        self.ports[0].bulk_len_max()
    }

    fn release(&mut self, pool: &mut Pool) {
        self.ports.iter_mut().for_each(|port| port.release(pool));
    }

    fn close(self: Box<Self>) -> Vec<ChunkAddr> {
        self.ports.into_iter().flat_map(|port| port.close()).collect()
    }

    fn counters(&self) -> PortCounters {
        self.ports.iter().map(|port| port.counters()).fold(PortCounters::default(), PortCounters::and)
    }

    fn is_linked(&self) -> bool {
        self.ports.iter().any(|port| port.is_linked())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joined_by_move;
    use tidegate_packet::HeapMemory;

    const CHUNK_SIZE: usize = 2048;

    fn pool() -> Pool {
        Pool::new(Box::new(HeapMemory::new(128 * CHUNK_SIZE)), CHUNK_SIZE).unwrap()
    }

    #[test]
    fn frames_of_every_queue_are_received_and_all_leave_by_the_first() {
        let mut pool = pool();
        let (mut far, near): (Vec<_>, Vec<_>) = (0..3).map(|_| joined_by_move(64, 1514)).unzip();
        let ports = near.into_iter().map(|port| Box::new(port) as Box<dyn Port>).collect();
        let mut joined = JoinedPort::new(ports).unwrap();
        for (mark, port) in (1..).zip(&mut far) {
            let mut batch = Batch::new();
            let mut frame = pool.alloc().unwrap();
            assert!(frame.extend(&[mark; 60]));
            batch.push(frame).unwrap_or_else(|_| panic!("an empty batch has room"));
            port.tx(&mut pool, &mut batch);
            port.flush(&mut pool);
        }
        let mut batch = Batch::new();
        assert_eq!(joined.rx(&mut pool, &mut batch), 3);
        let mut marks: Vec<u8> = batch.iter().map(|frame| frame.data()[0]).collect();
        marks.sort_unstable();
        assert_eq!(marks, [1, 2, 3]);
        assert_eq!(joined.counters().rx_packet_count, 3);
        joined.tx(&mut pool, &mut batch);
        joined.flush(&mut pool);
        assert!(batch.is_empty());
        let counts: Vec<usize> = far.iter_mut().map(|port| port.rx(&mut pool, &mut batch)).collect();
        assert_eq!(counts, [3, 0, 0]);
        batch.drain().for_each(|frame| pool.free(frame));
    }

    #[test]
    fn none_cannot_be_joined() {
        assert!(JoinedPort::new(Vec::new()).is_err());
    }
}
