//! A port and its pool as a stack's way out: frames are gathered and sent by the batch.

use std::os::fd::BorrowedFd;
use tidegate_packet::{Batch, Frame, Pool};
use tidegate_port::{Port, PortCounters};
use tidegate_stack::Egress;

/// A runtime's way out.
pub struct Wire {
    port: Box<dyn Port>,
    pool: Pool,
    outgoing: Batch,
    /// Frames that may still be sent before the port is asked again.
    room: usize,
    bulk_len_max: usize,
}

impl Wire {
    pub(crate) fn new(port: Box<dyn Port>, pool: Pool) -> Self {
        let bulk_len_max = port.bulk_len_max();
        Self { port, pool, outgoing: Batch::new(), room: 0, bulk_len_max }
    }

    /// Appends received frames to `batch`, and returns how many.
    pub(crate) fn receive(&mut self, batch: &mut Batch) -> usize {
        self.port.rx(&mut self.pool, batch)
    }

    /// Sends what was gathered, as far as the port takes it.
    pub(crate) fn flush(&mut self) {
        self.push_out();
        self.port.flush(&mut self.pool);
    }

    /// Whether frames are left that the port did not take.
    pub(crate) fn is_stuck(&self) -> bool {
        !self.outgoing.is_empty()
    }

    pub(crate) fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        self.port.wait_fd()
    }

    pub(crate) fn counters(&self) -> PortCounters {
        self.port.counters()
    }

    fn push_out(&mut self) {
        if !self.outgoing.is_empty() {
            self.port.tx(&mut self.pool, &mut self.outgoing);
        }
        self.room = 0;
    }
}

impl Egress for Wire {
    fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }

    fn room(&mut self) -> usize {
        if self.room == 0 {
            self.push_out();
            let free = self.port.tx_room(&mut self.pool).saturating_sub(self.outgoing.len());
            self.room = free.min(self.outgoing.room());
        }
        self.room
    }

    fn bulk_len_max(&mut self) -> usize {
        self.bulk_len_max
    }

    fn send(&mut self, frame: Frame) {
        // A sender asks for room first; one that did not loses its frame, as on any link.
        match self.outgoing.push(frame) {
            Ok(()) => self.room = self.room.saturating_sub(1),
            Err(frame) => self.pool.free(frame),
        }
    }
}
