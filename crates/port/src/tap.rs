//! A port on a TAP device: one system call a frame, for tests and for machines without AF_XDP.
//!
//! Invariant: a frame that the kernel does not take now is kept, one at the most, and nothing is accepted
//! until it has gone.

use std::os::fd::{AsFd, BorrowedFd};

use tidegate_packet::{BATCH_LEN_MAX, Batch, Frame, Pool};
use tidegate_sys::tap::Tap;

use crate::singly::{Singly, fill};
use crate::{Port, PortCounters};

/// The kernel's stack behind a TAP device.
#[derive(Debug)]
pub struct TapPort {
    tap: Tap,
    frame_len_max: usize,
    /// What the kernel did not take.
    waiting: Option<Frame>,
    counters: PortCounters,
}

impl TapPort {
    /// A port on `tap` that sends frames of up to `frame_len_max` bytes, link header included.
    pub fn new(tap: Tap, frame_len_max: usize) -> TapPort {
        TapPort { tap, frame_len_max, waiting: None, counters: PortCounters::default() }
    }

    /// The device.
    pub fn tap(&self) -> &Tap {
        &self.tap
    }

    /// Hands a frame to the kernel; gives it back if the kernel takes none now.
    fn send(&mut self, pool: &mut Pool, frame: Frame) -> Result<(), Frame> {
        if frame.is_empty() || frame.len() > self.frame_len_max {
            self.counters.tx_drop_count += 1;
            pool.free(frame);
            return Ok(());
        }
        self.counters.syscall_count += 1;
        match self.tap.try_send(frame.data()) {
            Ok(false) => return Err(frame),
            Ok(true) => {
                self.counters.count_sent(frame.len());
            }
            // The link is down: its frames are lost, as on any link.
            Err(_) => self.counters.tx_drop_count += 1,
        }
        pool.free(frame);
        Ok(())
    }

    /// Tries the frame that waits, if there is one; true if none waits any more.
    fn send_waiting(&mut self, pool: &mut Pool) -> bool {
        if let Some(frame) = self.waiting.take() {
            self.waiting = self.send(pool, frame).err();
        }
        self.waiting.is_none()
    }
}

impl Singly for TapPort {
    /// The next frame of the kernel, if there is one and a chunk for it.
    fn receive(&mut self, pool: &mut Pool) -> Option<Frame> {
        let mut frame = pool.alloc()?;
        let tailroom = frame.tailroom();
        let room = frame.push_back(tailroom).unwrap_or_default();
        self.counters.syscall_count += 1;
        match self.tap.try_receive(room) {
            Ok(Some(len)) if len > 0 => {
                frame.truncate(len);
                Some(frame)
            }
            _ => {
                pool.free(frame);
                None
            }
        }
    }

    fn counters_mut(&mut self) -> &mut PortCounters {
        &mut self.counters
    }
}

impl Port for TapPort {
    fn rx(&mut self, pool: &mut Pool, batch: &mut Batch) -> usize {
        fill(self, pool, batch)
    }

    fn tx_room(&mut self, pool: &mut Pool) -> usize {
        if self.send_waiting(pool) { BATCH_LEN_MAX } else { 0 }
    }

    fn tx(&mut self, pool: &mut Pool, batch: &mut Batch) {
        while self.send_waiting(pool) {
            let Some(frame) = batch.drain_front(1).next() else { return };
            self.waiting = self.send(pool, frame).err();
        }
        self.counters.tx_ring_full_count += batch.len() as u64;
    }

    fn flush(&mut self, pool: &mut Pool) {
        self.send_waiting(pool);
    }

    fn release(&mut self, pool: &mut Pool) {
        if let Some(frame) = self.waiting.take() {
            self.counters.tx_drop_count += 1;
            pool.free(frame);
        }
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.tap.as_fd())
    }

    fn frame_len_max(&self) -> usize {
        self.frame_len_max
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }
}
