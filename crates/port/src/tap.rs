//! A port on a TAP device: one system call a frame, for tests and for machines without AF_XDP.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use tidegate_packet::{BATCH_LEN_MAX, Batch, Frame, Pool};
use tidegate_sys::tap::Tap;

use crate::singly::{HandsOver, Singly, fill, hand_over};
use crate::{Port, PortCounters};

/// The kernel's stack behind a TAP device.
#[derive(Debug)]
pub struct TapPort {
    tap: Tap,
    frame_len_max: usize,
    counters: PortCounters,
}

impl TapPort {
    /// A port on `tap` that sends frames of up to `frame_len_max` bytes, link header included.
    pub fn new(tap: Tap, frame_len_max: usize) -> TapPort {
        TapPort { tap, frame_len_max, counters: PortCounters::default() }
    }

    /// The device.
    pub fn tap(&self) -> &Tap {
        &self.tap
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

impl HandsOver for TapPort {
    fn can_send(&self, frame: &Frame) -> bool {
        (1..=self.frame_len_max).contains(&frame.len())
    }

    fn try_send(&mut self, frame: &Frame) -> io::Result<bool> {
        self.counters.syscall_count += 1;
        self.tap.try_send(frame.data())
    }
}

impl Port for TapPort {
    fn rx(&mut self, pool: &mut Pool, batch: &mut Batch) -> usize {
        fill(self, pool, batch)
    }

    fn tx_room(&mut self, _: &mut Pool) -> usize {
        BATCH_LEN_MAX
    }

    fn tx(&mut self, pool: &mut Pool, batch: &mut Batch) {
        hand_over(self, pool, batch);
    }

    fn flush(&mut self, _: &mut Pool) {}

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
