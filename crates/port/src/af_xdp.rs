//! A port on an AF_XDP socket: the pool's memory is the UMEM, so frames move by changing owner.
//!
//! ```text
//!                alloc, submit            (kernel)            receive
//!   Pool (free) ---------------> fill --------------> rx --------------> Batch
//!   Pool (free, or the store  <-- complete -- completion <-- tx <-- submit -- Batch
//!         that retained it)                          (kernel)
//! ```
//! Invariant: every address on a ring belongs to a chunk that the pool has recorded as submitted. A port
//! that is dropped leaves its chunks so: the pool then keeps its memory, because the kernel may still use it.
//!
//! Not here: which frames arrive. Whoever owns the XDP program puts [`AfXdpPort::socket`] into its map.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use tidegate_packet::{BATCH_LEN_MAX, Batch, ChunkAddr, Frame, Pool};
use tidegate_sys::netlink::{Netlink, NetlinkError};
use tidegate_sys::xsk::{Descriptor, DriverMode, Umem, Wake, XskConfig, XskError, XskSocket, XskStatistics};

use crate::{Port, PortCounters};

/// A port could not be opened on a device's queue.
#[derive(Debug, thiserror::Error)]
pub enum AfXdpError {
    /// The device could not be asked for its MTU.
    #[error(transparent)]
    Device(#[from] NetlinkError),
    /// The socket could not be made.
    #[error(transparent)]
    Socket(#[from] XskError),
}

/// One receive queue of one device.
#[derive(Debug)]
pub struct AfXdpPort {
    socket: XskSocket,
    /// What the device carries, and a chunk holds when received.
    frame_len_max: usize,
    /// Chunks that the fill ring shall hold: few enough that a small pool can still send.
    fill_level: u32,
    /// Chunks given to the kernel to receive into and not come back yet.
    filled: u32,
    /// There are frames on the transmit ring that the kernel has not taken yet, as far as is known.
    unsent: bool,
    /// The device was down or gone when the kernel was last asked to send: what is sent meanwhile is lost, as
    /// on any link, and does not take the pool's chunks hostage.
    down: bool,
    counters: PortCounters,
}

/// Bytes of an Ethernet header with one VLAN tag.
const LINK_HEADER_LEN: usize = 18;

/// The part of a pool that one port may keep ready for receiving.
const FILL_SHARE: usize = 4;

impl AfXdpPort {
    /// Opens `queue` of the device `ifindex`, exchanging frames through `umem`, which must be that of `pool`;
    /// ports that share a pool share its `umem`.
    ///
    /// Needs CAP_NET_RAW: see [`XskSocket::bind`].
    pub fn open(
        ifindex: u32,
        queue: u32,
        umem: &Umem,
        config: &XskConfig,
        pool: &mut Pool,
    ) -> Result<AfXdpPort, AfXdpError> {
        let mtu = Netlink::open()?.link_of(ifindex)?.mtu as usize;
        let socket = XskSocket::bind(ifindex, queue, umem, config)?;
        let share = (pool.chunk_count() / FILL_SHARE).max(1) as u32;
        let mut port = AfXdpPort {
            socket,
            frame_len_max: (mtu + LINK_HEADER_LEN).min(umem.frame_len_max() as usize),
            fill_level: config.fill_size.min(share),
            filled: 0,
            unsent: false,
            down: false,
            counters: PortCounters::default(),
        };
        port.refill(pool);
        Ok(port)
    }

    /// What an XSKMAP takes.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Whether the kernel copies frames.
    pub fn mode(&self) -> DriverMode {
        self.socket.mode()
    }

    /// What the kernel counted for the socket. One system call.
    pub fn statistics(&self) -> io::Result<XskStatistics> {
        self.socket.statistics()
    }

    /// Gives the kernel chunks to receive into, when a batch of them is missing.
    #[inline]
    fn refill(&mut self, pool: &mut Pool) {
        let missing = self.fill_level.saturating_sub(self.filled);
        if missing < (BATCH_LEN_MAX as u32).min(self.fill_level) {
            return;
        }
        let room = self.socket.fill.room(missing).min(missing);
        for _ in 0..room {
            let Some(chunk) = pool.alloc().and_then(|frame| pool.submit(frame)) else { break };
            self.socket.fill.push(chunk.0);
        }
        self.filled += self.socket.fill.publish();
        self.socket.wake_rx();
    }

    /// Takes back the chunks of frames that were sent.
    #[inline]
    fn reap(&mut self, pool: &mut Pool) {
        while let Some(addr) = self.socket.completion.pop() {
            pool.complete(ChunkAddr(addr));
        }
        self.socket.completion.release();
    }

    #[inline]
    fn receive_one(&mut self, pool: &mut Pool, batch: &mut Batch) -> bool {
        let Some(descriptor) = self.socket.rx.pop() else { return false };
        self.filled = self.filled.saturating_sub(1);
        match pool.receive(ChunkAddr(descriptor.addr), descriptor.len as usize) {
            Some(frame) => {
                self.counters.rx_packet_count += 1;
                self.counters.rx_byte_count += u64::from(descriptor.len);
                // The caller has asked the batch for its room.
                if let Err(frame) = batch.push(frame) {
                    pool.free(frame);
                }
            }
            None => self.counters.rx_drop_count += 1,
        }
        true
    }

    /// Puts a frame on the transmit ring, which has room. The kernel loses empty and overlong frames without
    /// a word, so they are dropped here and counted.
    #[inline]
    fn send_one(&mut self, pool: &mut Pool, frame: Frame) {
        let len = frame.len();
        if len == 0 || len > self.frame_len_max || self.down {
            self.counters.tx_drop_count += 1;
            return pool.free(frame);
        }
        match pool.submit(frame) {
            Some(ChunkAddr(addr)) => {
                self.socket.tx.push(Descriptor { addr, len: len as u32, options: 0 });
                self.counters.tx_packet_count += 1;
                self.counters.tx_byte_count += len as u64;
            }
            None => self.counters.tx_drop_count += 1,
        }
    }

    /// Wakes the kernel until it has taken what is on the transmit ring, or takes nothing more now: then the
    /// next round tries again.
    fn kick(&mut self, pool: &mut Pool) {
        let mut left = u32::MAX;
        let mut woken = self.socket.wake_tx();
        while woken == Wake::TryAgain {
            self.reap(pool);
            let pending = self.socket.tx.pending();
            if pending == 0 || pending >= left {
                break;
            }
            left = pending;
            woken = self.socket.wake_tx();
        }
        self.down = woken == Wake::DeviceGone;
        self.unsent = self.socket.tx.pending() > 0;
    }
}

impl Port for AfXdpPort {
    fn rx(&mut self, pool: &mut Pool, batch: &mut Batch) -> usize {
        let room = batch.room();
        let before = batch.len();
        for _ in 0..room {
            if !self.receive_one(pool, batch) {
                break;
            }
        }
        self.socket.rx.release();
        self.refill(pool);
        if batch.len() == before {
            // With busy polling this is what runs the driver; otherwise it only looks at a flag.
            self.socket.wake_rx();
        }
        batch.len() - before
    }

    fn tx_room(&mut self, pool: &mut Pool) -> usize {
        self.reap(pool);
        self.socket.tx.room(BATCH_LEN_MAX as u32) as usize
    }

    fn tx(&mut self, pool: &mut Pool, batch: &mut Batch) {
        let wanted = batch.len();
        let room = (self.socket.tx.room(wanted as u32) as usize).min(wanted);
        self.counters.tx_ring_full_count += (wanted - room) as u64;
        for frame in batch.drain_front(room) {
            self.send_one(pool, frame);
        }
    }

    fn flush(&mut self, pool: &mut Pool) {
        let published = self.socket.tx.publish();
        if published > 0 || self.unsent {
            self.kick(pool);
        }
        self.reap(pool);
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn frame_len_max(&self) -> usize {
        self.frame_len_max
    }

    /// Makes one system call, to ask the kernel for its drops.
    fn counters(&self) -> PortCounters {
        let kernel = self.socket.statistics().unwrap_or_default();
        PortCounters {
            rx_drop_count: self.counters.rx_drop_count
                + kernel.rx_dropped
                + kernel.rx_ring_full
                + kernel.fill_ring_empty,
            tx_drop_count: self.counters.tx_drop_count + kernel.tx_invalid_descriptors,
            syscall_count: self.socket.syscall_count(),
            ..self.counters
        }
    }
}
