//! A port on a TAP device that leaves the cutting of TCP, and checksums, to this side: one system call a large frame.
//!
//! ```text
//!   kernel --readv--> [ vnet header | chunk: headers, first payload | tail buffer: the rest ]   a frame with a tail
//!   kernel <-writev-- [ vnet header | chunk | tail ]
//! ```
//! What the kernel sends longer than a chunk holds is received as a frame with a tail, cut as the kernel says; its TCP
//! checksum covers the pseudo header only. Shorter frames are finished here.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use tidegate_base::Sum;
use tidegate_packet::{BATCH_LEN_MAX, Batch, Cut, Frame, Pool, TailBuffer, TailBuffers};
use tidegate_sys::packet_socket::SegmentPlan;
use tidegate_sys::tap::{BulkTap, Received};
use tidegate_sys::vnet::Unfinished;

use crate::singly::{HandsOver, Singly, fill, hand_over};
use crate::{BULK_LEN_MAX, Port, PortCounters};

/// Tails that may be under way in the pipeline before more memory is allocated.
const TAIL_COUNT_MAX: usize = 128;
/// Where a TCP header says how long it is (RFC 9293 section 3.1).
const TCP_DATA_OFFSET: usize = 12;

/// The kernel's stack behind a TAP device, in large frames.
#[derive(Debug)]
pub struct BulkTapPort {
    tap: BulkTap,
    frame_len_max: usize,
    buffers: TailBuffers,
    counters: PortCounters,
}

impl BulkTapPort {
    /// A port on `tap` that sends frames of up to `frame_len_max` bytes, link header included, but for those with a tail.
    pub fn new(tap: BulkTap, frame_len_max: usize) -> BulkTapPort {
        let counters = PortCounters::default();
        BulkTapPort { tap, frame_len_max, buffers: TailBuffers::new(TAIL_COUNT_MAX), counters }
    }

    /// The device.
    pub fn tap(&self) -> &BulkTap {
        &self.tap
    }

    /// The frame that was received into `frame` and `buffer`, if it is one that can be finished.
    fn finish(&mut self, frame: &mut Frame, mut buffer: TailBuffer, received: Received) -> Option<()> {
        let tail_len = received.len.saturating_sub(frame.len());
        frame.truncate(received.len);
        let cut = match received.unfinished {
            Unfinished::Nothing => Cut::default(),
            Unfinished::Checksum { start, offset } => {
                let tail = buffer.bytes_mut().get(..tail_len)?;
                write_checksum(frame.data_mut(), tail, start.into(), offset.into())?;
                Cut::default()
            }
            Unfinished::Segments { is_ipv4, transport_start, segment_len } => {
                let tcp = usize::from(transport_start);
                let header_len = usize::from(frame.data().get(tcp + TCP_DATA_OFFSET)? >> 4) * 4;
                Cut { is_ipv4, transport_start, header_len: (tcp + header_len) as u16, segment_len }
            }
        };
        if tail_len > 0 || cut != Cut::default() {
            let mut tail = self.buffers.tail(buffer, tail_len);
            tail.cut = cut;
            frame.append(tail);
        } else {
            self.buffers.put_back(buffer);
        }
        Some(())
    }
}

/// How the kernel is to take a frame with a tail.
fn plan(frame: &Frame) -> Option<SegmentPlan> {
    let cut = frame.tail()?.cut;
    Some(SegmentPlan {
        is_ipv4: cut.is_ipv4,
        transport_start: cut.transport_start,
        header_len: cut.header_len,
        segment_len: cut.segment_len,
        payload_len: frame.len_with_tail().saturating_sub(cut.header_len.into()),
    })
}

/// Finishes a checksum over `data` from `start` on and `tail`. `None` if it does not lie in `data`.
fn write_checksum(data: &mut [u8], tail: &[u8], start: usize, offset: usize) -> Option<()> {
    let covered = data.get_mut(start..)?;
    let sum = Sum::of(covered) + Sum::of(tail).at_offset(covered.len());
    let place = covered.get_mut(offset..offset + 2)?;
    // No UDP datagram may say that it has none (RFC 768); to TCP both zeros are the same.
    place.copy_from_slice(&sum.finish_udp().to_be_bytes());
    Some(())
}

impl Singly for BulkTapPort {
    /// The next frame of the kernel, if there is one and a chunk for it.
    fn receive(&mut self, pool: &mut Pool) -> Option<Frame> {
        let mut frame = pool.alloc()?;
        let mut buffer = self.buffers.take();
        let tailroom = frame.tailroom();
        let room = frame.push_back(tailroom).unwrap_or_default();
        self.counters.syscall_count += 1;
        let is_received = match self.tap.try_receive(room, buffer.bytes_mut()) {
            Ok(Some(received)) if received.len > 0 => {
                let is_finished = self.finish(&mut frame, buffer, received).is_some();
                self.counters.rx_drop_count += u64::from(!is_finished);
                is_finished
            }
            _ => {
                self.buffers.put_back(buffer);
                false
            }
        };
        if is_received {
            return Some(frame);
        }
        pool.free(frame);
        None
    }

    fn counters_mut(&mut self) -> &mut PortCounters {
        &mut self.counters
    }
}

impl HandsOver for BulkTapPort {
    fn can_send(&self, frame: &Frame) -> bool {
        !frame.is_empty() && (frame.tail().is_some() || frame.len() <= self.frame_len_max)
    }

    fn try_send(&mut self, frame: &Frame) -> io::Result<bool> {
        self.counters.syscall_count += 1;
        let tail = frame.tail().map_or(&[][..], |tail| tail.bytes());
        self.tap.try_send(plan(frame), frame.data(), tail)
    }
}

impl Port for BulkTapPort {
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

    fn bulk_len_max(&self) -> usize {
        BULK_LEN_MAX
    }

    fn receives_bulk(&self) -> bool {
        true
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }
}

#[cfg(test)]
#[path = "bulk_tap_tests.rs"]
mod tests;
