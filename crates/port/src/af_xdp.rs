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
//! Bulk has a second way out ([`AfXdpPort::send_bulk_through`]): a frame with a tail leaves through a packet socket, and
//! the kernel or the NIC cuts it into segments. What a round puts on the ring goes before what it sends as bulk.
//!
//! Not here: which frames arrive. Whoever owns the XDP program puts [`AfXdpPort::socket`] into its map.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use arrayvec::ArrayVec;
use tidegate_base::Duration;
use tidegate_packet::{BATCH_LEN_MAX, Batch, ChunkAddr, Frame, Pool};
use tidegate_sys::clock;
use tidegate_sys::netlink::{Netlink, NetlinkError, QueueWatch};
use tidegate_sys::packet_socket::{Bulk, PacketSocket, SEND_COUNT_MAX, SegmentPlan, Sent};
use tidegate_sys::xsk::{Descriptor, DriverMode, Umem, Wake, XskConfig, XskError, XskSocket, XskStatistics};

use crate::af_xdp::out::ChunkSet;
use crate::{BULK_LEN_MAX, Port, PortCounters};

mod out;

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
    /// Chunks that the kernel has, to receive into or to send.
    out: ChunkSet,
    /// There are frames on the transmit ring that the kernel has not taken yet, as far as is known.
    unsent: bool,
    /// With busy polling: the driver has looked for frames since the receive ring was last read, with what was sent.
    has_polled: bool,
    /// The device was down or gone when the kernel was last asked to send: what is sent meanwhile is lost, as
    /// on any link, and does not take the pool's chunks hostage.
    down: bool,
    bulk: Option<BulkQueue>,
    /// Where the driver itself reads and writes chunks: says when it has let go of them.
    watch: Option<QueueWatch>,
    counters: PortCounters,
}

/// What becomes of the push flag of bulk (RFC 9293 section 3.9.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    /// It stays.
    Kept,
    /// It goes: for a device whose other end is a kernel of this machine (veth). What the kernel cuts for a packet
    /// socket belongs to nobody but for its last segment. A receiver's offload (GRO) tells flows apart by owner as well,
    /// and a push flag makes it deliver the last segment before the others, which it still gathers.
    Cleared,
}

/// The way out for frames with a tail.
#[derive(Debug)]
struct BulkQueue {
    socket: PacketSocket,
    push: Push,
    /// What this round has sent so far.
    frames: Vec<Frame>,
}

impl BulkQueue {
    fn add(&mut self, mut frame: Frame) {
        if self.push == Push::Cleared {
            clear_push(&mut frame);
        }
        self.frames.push(frame);
    }
}

/// Bytes of an Ethernet header with one VLAN tag.
const LINK_HEADER_LEN: usize = 18;

/// How long a driver may take to let go of chunks, and between two looks whether it has.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_INTERVAL: std::time::Duration = std::time::Duration::from_millis(1);

/// The part of a pool that one port may keep ready for receiving.
const FILL_SHARE: usize = 4;
/// The part that ports which share a pool leave for sending, but for a batch each.
const SEND_SHARE: usize = 8;

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
        let mut port = Self::bind(ifindex, queue, umem, config)?;
        port.fill(pool);
        Ok(port)
    }

    /// The same from a thread that does not have the pool of `umem`: it receives once it has been filled, or first run.
    pub fn bind(ifindex: u32, queue: u32, umem: &Umem, config: &XskConfig) -> Result<AfXdpPort, AfXdpError> {
        let mtu = Netlink::open()?.link_of(ifindex)?.mtu as usize;
        Ok(Self::of(XskSocket::bind(ifindex, queue, umem, config)?, ifindex, queue, mtu, config))
    }

    /// The same with a socket that was opened elsewhere ([`XskSocket::open`]), for a device of that place, of which this
    /// process need not know more than its number and its MTU.
    pub fn bind_opened(
        opened: OwnedFd,
        ifindex: u32,
        queue: u32,
        mtu: usize,
        umem: &Umem,
        config: &XskConfig,
    ) -> Result<AfXdpPort, AfXdpError> {
        let socket = XskSocket::bind_opened(opened, ifindex, queue, umem, config)?;
        Ok(Self::of(socket, ifindex, queue, mtu, config))
    }

    fn of(socket: XskSocket, ifindex: u32, queue: u32, mtu: usize, config: &XskConfig) -> Self {
        let umem = socket.umem();
        // Without it chunks that the driver had stay out when the port is closed; it works all the same.
        let is_driven = socket.mode() == DriverMode::ZeroCopy;
        let watch = if is_driven { QueueWatch::open(ifindex, queue).ok() } else { None };
        let share = (umem.chunk_count() / FILL_SHARE).max(1) as u32;
        let (frame_len_max, out) =
            ((mtu + LINK_HEADER_LEN).min(umem.frame_len_max() as usize), ChunkSet::of(umem));
        Self {
            socket,
            frame_len_max,
            fill_level: config.fill_size.min(share),
            filled: 0,
            out,
            unsent: false,
            has_polled: false,
            down: false,
            bulk: None,
            watch,
            counters: PortCounters::default(),
        }
    }

    /// Gives the kernel chunks of `pool` to receive into.
    pub fn fill(&mut self, pool: &mut Pool) {
        self.refill(pool);
    }

    /// Takes frames with a tail from now on, and sends them through `socket`, which must be of the same device. Worth
    /// it where the kernel copies frames anyway; with zero-copy the ring is the shorter way.
    pub fn send_bulk_through(&mut self, socket: PacketSocket, push: Push) {
        self.bulk = Some(BulkQueue { socket, push, frames: Vec::new() });
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
        let wanted = missing.min(self.spare(pool));
        let room = self.socket.fill.room(wanted).min(wanted);
        for _ in 0..room {
            let Some(chunk) = pool.alloc().and_then(|frame| pool.submit(frame)) else { break };
            self.socket.fill.push(chunk.0);
            self.out.insert(chunk);
        }
        self.filled += self.socket.fill.publish();
        self.socket.wake_rx();
    }

    /// Chunks that may go out to receive into.
    #[inline]
    fn spare(&self, pool: &Pool) -> u32 {
        let spare = pool.free_count().saturating_sub(pool.chunk_count() / SEND_SHARE) as u32;
        spare.max((BATCH_LEN_MAX as u32).saturating_sub(self.filled))
    }

    /// Takes back the chunks of frames that were sent.
    #[inline]
    fn reap(&mut self, pool: &mut Pool) {
        while let Some(addr) = self.socket.completion.pop() {
            self.out.remove(ChunkAddr(addr));
            pool.complete(ChunkAddr(addr));
        }
        self.socket.completion.release();
    }

    /// Takes what is on the receive ring, as far as the batch has room.
    #[inline]
    fn receive(&mut self, pool: &mut Pool, batch: &mut Batch) {
        for _ in 0..batch.room() {
            if !self.receive_one(pool, batch) {
                break;
            }
        }
        self.socket.rx.release();
    }

    #[inline]
    fn receive_one(&mut self, pool: &mut Pool, batch: &mut Batch) -> bool {
        let Some(descriptor) = self.socket.rx.pop() else { return false };
        self.filled = self.filled.saturating_sub(1);
        self.out.remove(ChunkAddr(descriptor.addr));
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

    /// Sends what waits as bulk. What the kernel does not take is lost, as on any link that is too slow.
    fn flush_bulk(&mut self, pool: &mut Pool) {
        let Some(bulk) = &mut self.bulk else { return };
        let mut rest = bulk.frames.as_slice();
        while !rest.is_empty() {
            let (count, is_sent) = send_some(&bulk.socket, rest);
            self.counters.syscall_count += 1;
            let (done, left) = rest.split_at(count.clamp(1, rest.len()));
            self.counters.count_bulk(done, is_sent);
            rest = left;
        }
        bulk.frames.drain(..).for_each(|frame| pool.free(frame));
    }

    fn drop_one(&mut self, pool: &mut Pool, frame: Frame) {
        self.counters.tx_drop_count += 1;
        pool.free(frame);
    }

    /// Puts a frame on the transmit ring, which has room. The kernel loses empty and overlong frames without
    /// a word, so they are dropped here and counted.
    #[inline]
    fn send_one(&mut self, pool: &mut Pool, frame: Frame) {
        if frame.tail().is_some() {
            match &mut self.bulk {
                Some(bulk) => return bulk.add(frame),
                None => return self.drop_one(pool, frame),
            }
        }
        let len = frame.len();
        if len == 0 || len > self.frame_len_max || self.down {
            return self.drop_one(pool, frame);
        }
        match pool.submit(frame) {
            Some(ChunkAddr(addr)) => {
                self.out.insert(ChunkAddr(addr));
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
        self.has_polled = self.socket.is_busy_polled();
        self.down = woken == Wake::DeviceGone;
        self.unsent = self.socket.tx.pending() > 0;
    }
}

impl Port for AfXdpPort {
    fn rx(&mut self, pool: &mut Pool, batch: &mut Batch) -> usize {
        let before = batch.len();
        self.receive(pool, batch);
        if batch.len() == before && !self.has_polled {
            self.socket.poll_rx();
            self.receive(pool, batch);
        }
        self.has_polled = false;
        self.refill(pool);
        batch.len() - before
    }

    fn tx_room(&mut self, pool: &mut Pool) -> usize {
        self.reap(pool);
        // All that there is, not only whether a batch fits: who makes many frames of one waits for more than that.
        self.socket.tx.room(u32::MAX) as usize
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
        self.flush_bulk(pool);
        self.reap(pool);
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn frame_len_max(&self) -> usize {
        self.frame_len_max
    }

    fn bulk_len_max(&self) -> usize {
        if self.bulk.is_some() { BULK_LEN_MAX } else { 0 }
    }

    fn release(&mut self, pool: &mut Pool) {
        let Some(bulk) = &mut self.bulk else { return };
        self.counters.count_bulk(&bulk.frames, false);
        bulk.frames.drain(..).for_each(|frame| pool.free(frame));
    }

    /// A driver that reads and writes chunks itself is done with them only some time after the socket is closed: that is
    /// waited for. Those of a driver that does not say when it is done, or takes longer than [`PATIENCE`], stay out.
    fn close(self: Box<Self>) -> Vec<ChunkAddr> {
        let Self { socket, out, mut watch, .. } = *self;
        let is_copied = socket.mode() == DriverMode::Copy;
        // A kernel that does not say that it is tied will not say when it is no more.
        let is_told = watch.as_mut().is_some_and(|watch| watch.is_tied() == Some(true));
        // The kernel waits here until no processor receives into the socket any more (xsk_release).
        drop(socket);
        let is_done = is_copied || is_told && watch.is_some_and(|mut watch| until_untied(&mut watch));
        if is_done { out.iter().collect() } else { Vec::new() }
    }

    /// Makes one system call, to ask the kernel for its drops. A frame that found the fill ring empty is among those
    /// that were dropped.
    fn counters(&self) -> PortCounters {
        let kernel = self.socket.statistics().unwrap_or_default();
        PortCounters {
            rx_drop_count: self.counters.rx_drop_count + kernel.rx_dropped + kernel.rx_ring_full,
            tx_drop_count: self.counters.tx_drop_count + kernel.tx_invalid_descriptors,
            syscall_count: self.counters.syscall_count + self.socket.syscall_count(),
            ..self.counters
        }
    }
}

/// Waits until the driver has let go of the socket's memory, which the kernel has it do behind the socket's back
/// (xp_release_deferred). False if it does not.
fn until_untied(watch: &mut QueueWatch) -> bool {
    let start = clock::now();
    while watch.is_tied() != Some(false) {
        if clock::now().since(start) > PATIENCE {
            return false;
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
    true
}

/// Sends some of `frames`: how many are done with, and whether they were taken.
fn send_some(socket: &PacketSocket, frames: &[Frame]) -> (usize, bool) {
    let bulks: ArrayVec<Bulk<'_>, SEND_COUNT_MAX> =
        frames.iter().filter_map(bulk).take(SEND_COUNT_MAX).collect();
    match socket.try_send(&bulks) {
        Sent::Taken(count) => (count, true),
        Sent::Full => (1, false),
        Sent::DeviceGone => (frames.len(), false),
    }
}

/// A frame with a tail, as a packet socket takes it.
fn bulk(frame: &Frame) -> Option<Bulk<'_>> {
    let tail = frame.tail()?;
    let plan = SegmentPlan {
        is_ipv4: tail.cut.is_ipv4,
        transport_start: tail.cut.transport_start,
        header_len: tail.cut.header_len,
        segment_len: tail.cut.segment_len,
        payload_len: frame.len_with_tail().saturating_sub(tail.cut.header_len.into()),
    };
    Some(Bulk { plan, head: frame.data(), tail: tail.bytes() })
}

/// The checksum field of bulk covers the pseudo header only, so it stays right.
fn clear_push(frame: &mut Frame) {
    let flags_at =
        frame.tail().map_or(usize::MAX, |tail| usize::from(tail.cut.transport_start) + TCP_FLAGS_OFFSET);
    if let Some(flags) = frame.data_mut().get_mut(flags_at) {
        *flags &= !TCP_PSH;
    }
}

/// Where a TCP header has its flags, and which one is push (RFC 9293 section 3.1).
const TCP_FLAGS_OFFSET: usize = 13;
const TCP_PSH: u8 = 0x08;
