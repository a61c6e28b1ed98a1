//! Ports: where frames enter and leave a worker.
//!
//! A port moves frames between a pool and a device (an AF_XDP socket, a TAP, a file, another port in
//! this process). It knows nothing of what the frames hold. Its transmit ring is the only output
//! queue there is, so it says how much room it has ([`Port::tx_room`]) and nobody builds a frame that
//! would be dropped.
//!
//! | port | the device | for |
//! |---|---|---|
//! | [`AfXdpPort`] | a NIC's queue, over AF_XDP | serving |
//! | [`DevicePort`] | a NIC beside the kernel's stack, over a packet socket | any device, copies of its frames |
//! | [`JoinedPort`] | all queues of a device, each a port | programs with one thread |
//! | [`TapPort`] | the kernel's stack, over a TAP device | machines without AF_XDP |
//! | [`BulkTapPort`] | the same in frames of up to 64 KiB, cut on this side | TCP offloads for what runs over the kernel |
//! | [`joined_by_copy`], [`joined_by_move`] | another port of this process | tests, benches, workers that meet |
//! | [`PcapPort`], [`CapturedPort`] | capture files | replay, recording |
//! | [`MemifPort`] | another process, over memory that both map | VPP, DPDK, services in a process of their own |
//! | [`VhostUserPort`] | a guest's or a process's virtio-net driver, over its memory | virtual machines, DPDK's virtio_user |
//! | [`NullPort`] | nothing | measuring what lies between ports |
//! | [`UnixSocketPort`] | a process, over a unix socket | scripts, tests |
//!
//! Invariants of every port: frames keep their order; a frame that is taken from a batch is sent, or freed
//! and counted as dropped; `rx` never puts more into a batch than it has room for; nothing blocks.
#![forbid(unsafe_code)]

mod af_xdp;
mod bell;
mod bulk_tap;
mod device;
mod joined;
mod memif;
mod memory;
mod null;
mod pcap;
mod singly;
mod talker;
mod tap;
mod unix_socket;
mod vhost_user;
mod wake;
mod written;

pub use af_xdp::{AfXdpError, AfXdpPort, Push};
pub use bell::Bell;
pub use bulk_tap::BulkTapPort;
pub use device::DevicePort;
pub use joined::JoinedPort;
pub use memif::{MemifConfig, MemifError, MemifPort, MemifRole, MemifStatus, open_memif};
pub use memory::{CopyPort, MovePort, joined_by_copy, joined_by_move};
pub use null::{NULL_LEN_DEFAULT, NullPort};
pub use pcap::{Capture, CaptureError, CapturedPort, PcapPort, RecordedFrame, Replay};
pub use tap::TapPort;
pub use unix_socket::{UnixSocketConfig, UnixSocketPort};
pub use vhost_user::{
    VhostUserConfig, VhostUserDrops, VhostUserError, VhostUserPort, VhostUserRole, VhostUserStatus,
    open_vhost_user,
};

use std::os::fd::BorrowedFd;
use tidegate_packet::{Batch, ChunkAddr, Frame, Pool};

/// What a port did so far.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct PortCounters {
    /// Frames received.
    pub rx_packet_count: u64,
    /// Bytes received.
    pub rx_byte_count: u64,
    /// Frames that arrived and could not be taken (no room, no buffer), as far as the device tells.
    pub rx_drop_count: u64,
    /// Frames sent.
    pub tx_packet_count: u64,
    /// Bytes sent.
    pub tx_byte_count: u64,
    /// Frames that the device refused.
    pub tx_drop_count: u64,
    /// How often a frame found the transmit ring full.
    pub tx_ring_full_count: u64,
    /// System calls made.
    pub syscall_count: u64,
}

impl PortCounters {
    #[inline]
    pub(crate) const fn count_received(&mut self, len: usize) {
        self.rx_packet_count += 1;
        self.rx_byte_count += len as u64;
    }

    #[inline]
    pub(crate) const fn count_sent(&mut self, len: usize) {
        self.tx_packet_count += 1;
        self.tx_byte_count += len as u64;
    }

    /// What both did.
    const fn and(self, other: Self) -> Self {
        Self {
            rx_packet_count: self.rx_packet_count + other.rx_packet_count,
            rx_byte_count: self.rx_byte_count + other.rx_byte_count,
            rx_drop_count: self.rx_drop_count + other.rx_drop_count,
            tx_packet_count: self.tx_packet_count + other.tx_packet_count,
            tx_byte_count: self.tx_byte_count + other.tx_byte_count,
            tx_drop_count: self.tx_drop_count + other.tx_drop_count,
            tx_ring_full_count: self.tx_ring_full_count + other.tx_ring_full_count,
            syscall_count: self.syscall_count + other.syscall_count,
        }
    }

    /// Frames with a tail count as what they hold, each once: how often they are cut is not known here.
    fn count_bulk(&mut self, frames: &[Frame], is_sent: bool) {
        if is_sent {
            self.tx_packet_count += frames.len() as u64;
            self.tx_byte_count += frames.iter().map(|frame| frame.len_with_tail() as u64).sum::<u64>();
        } else {
            self.tx_drop_count += frames.len() as u64;
        }
    }
}

/// Bytes of payload that a frame with a tail may have: what the length field of an IP packet can name, less the longest
/// IPv4 and TCP headers.
const BULK_LEN_MAX: usize = 65_535 - 60 - 60;

/// One queue of one device, owned by one worker.
pub trait Port: Send {
    /// Appends received frames to `batch`, as many as it has room for, and returns how many.
    fn rx(&mut self, pool: &mut Pool, batch: &mut Batch) -> usize;

    /// How many frames [`Port::tx`] would take now.
    fn tx_room(&mut self, pool: &mut Pool) -> usize;

    /// Takes frames from the front of `batch` while there is room; the rest stay in it.
    fn tx(&mut self, pool: &mut Pool, batch: &mut Batch);

    /// Makes the device notice what was queued since the last call. Called once a round.
    fn flush(&mut self, pool: &mut Pool);

    /// What to wait on when there is nothing to do, if the device has such a thing.
    fn wait_fd(&self) -> Option<BorrowedFd<'_>>;

    /// The largest frame it sends, link header included.
    fn frame_len_max(&self) -> usize;

    /// How many bytes of payload a frame with a tail may have altogether ([`tidegate_packet::Tail`]): such a frame
    /// is cut into segments behind the port. Zero: it takes none.
    fn bulk_len_max(&self) -> usize {
        0
    }

    /// Whether frames with a tail are among those that it receives. Whoever does not take them must drop them.
    fn receives_bulk(&self) -> bool {
        false
    }

    /// Gives the frames that it holds itself back to `pool`, whose worker it leaves; they are dropped and counted. What the
    /// kernel has of the pool's comes back by [`close`](Self::close).
    fn release(&mut self, pool: &mut Pool) {
        let _ = pool;
    }

    /// Closes the device, on any thread and in its own time. What it still had of the pool's chunks comes back, to be given
    /// to the pool by its worker ([`Pool::complete`]).
    fn close(self: Box<Self>) -> Vec<ChunkAddr> {
        Vec::new()
    }

    /// What it did so far.
    fn counters(&self) -> PortCounters;

    /// Whether there is somebody at the other end, as far as the port itself knows.
    fn is_linked(&self) -> bool {
        true
    }
}
