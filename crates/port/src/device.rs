//! A port on a network device of the host, beside the kernel's stack: copies of all that comes in, one system call a frame.
//! For devices and kernels without AF_XDP, and for controllers that ask for libpcap's way.
//!
//! Invariant: a frame that does not fit into a chunk is dropped whole, and counted.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use tidegate_packet::{BATCH_LEN_MAX, Batch, Frame, Pool};
use tidegate_sys::device_socket::{DeviceSocket, Received};

use crate::singly::{HandsOver, Singly, fill, hand_over};
use crate::{Port, PortCounters};

/// A device of the kernel's.
#[derive(Debug)]
pub struct DevicePort {
    socket: DeviceSocket,
    frame_len_max: usize,
    counters: PortCounters,
}

impl DevicePort {
    /// A port on the device behind `socket` that sends frames of up to `frame_len_max` bytes, link header included.
    pub fn new(socket: DeviceSocket, frame_len_max: usize) -> DevicePort {
        DevicePort { socket, frame_len_max, counters: PortCounters::default() }
    }
}

impl Singly for DevicePort {
    fn receive(&mut self, pool: &mut Pool) -> Option<Frame> {
        let mut frame = pool.alloc()?;
        let tailroom = frame.tailroom();
        let room = frame.push_back(tailroom).unwrap_or_default();
        loop {
            self.counters.syscall_count += 1;
            match self.socket.try_receive(room) {
                Ok(Some(Received { len, is_cut: false })) if len > 0 => {
                    frame.truncate(len);
                    return Some(frame);
                }
                Ok(Some(_)) => self.counters.rx_drop_count += 1,
                Ok(None) | Err(_) => {
                    pool.free(frame);
                    return None;
                }
            }
        }
    }

    fn counters_mut(&mut self) -> &mut PortCounters {
        &mut self.counters
    }
}

impl HandsOver for DevicePort {
    fn can_send(&self, frame: &Frame) -> bool {
        (1..=self.frame_len_max).contains(&frame.len())
    }

    fn try_send(&mut self, frame: &Frame) -> io::Result<bool> {
        self.counters.syscall_count += 1;
        self.socket.try_send(frame.data())
    }
}

impl Port for DevicePort {
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
        Some(self.socket.as_fd())
    }

    fn frame_len_max(&self) -> usize {
        self.frame_len_max
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }
}
