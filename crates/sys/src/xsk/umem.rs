//! A pool's memory as the kernel knows it: the UMEM, which AF_XDP sockets receive into and send from.
//!
//! Invariant: sockets that can share a registration with the kernel do, so that pages are pinned and
//! accounted once; those that would lose by it (another mode, another device) make one of their own.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tidegate_packet::{Pool, STAGGER_LEN_MAX};

use super::config::{BindMode, DriverMode, XskConfig};
use crate::syscall::set_option;

/// Memory that AF_XDP sockets may share, described and not yet registered: the first socket does that.
///
/// ```text
///   one chunk, received frame
///   +--------------+-------------------+----------------------+-----------+
///   | headroom     | XDP headroom 256  | data (addr, len)     | tail room |
///   +--------------+-------------------+----------------------+-----------+
///   chunk_size bytes, a power of two; rx descriptors carry addr = chunk + headroom + 256
/// ```
/// A clone is the same UMEM.
#[derive(Clone, Debug)]
pub struct Umem(Arc<Registry>);

#[derive(Debug)]
struct Registry {
    base: NonNull<u8>,
    len: usize,
    chunk_size: u32,
    headroom: u32,
    /// Live, bound sockets: the kernel shares a UMEM by naming one that has it.
    sockets: Mutex<Vec<Holder>>,
}

// SAFETY: `base` is only ever passed to the kernel as a number and never followed, so the thread that has it does not matter.
unsafe impl Send for Registry {}
// SAFETY: `base` as above; the list of sockets, all that changes, is behind a lock.
unsafe impl Sync for Registry {}

/// A socket that holds the registration, and what every socket that shares it inherits from it: the kernel
/// takes no flags from the others.
#[derive(Debug)]
struct Holder {
    socket: Weak<OwnedFd>,
    inherited: Inherited,
}

/// What a socket that shares a registration gets from the one that made it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inherited {
    pub(super) ifindex: u32,
    pub(super) mode: DriverMode,
    pub(super) need_wakeup: bool,
}

impl Inherited {
    /// Whether it is what a socket on `ifindex` wants. One that leaves the mode open takes the copying of
    /// another device for no answer: its own may do without.
    fn suits(&self, ifindex: u32, config: &XskConfig) -> bool {
        let mode_suits = match config.mode {
            BindMode::Auto => self.mode == DriverMode::ZeroCopy || self.ifindex == ifindex,
            BindMode::ZeroCopy => self.mode == DriverMode::ZeroCopy,
            BindMode::Copy => self.mode == DriverMode::Copy,
        };
        mode_suits && self.need_wakeup == config.need_wakeup
    }
}

impl Umem {
    /// The memory of `pool`: its chunks, with as much headroom as their origins differ by.
    ///
    /// Only chunks that the pool has recorded as submitted may be put on a fill or transmit ring: then
    /// the kernel never touches a chunk that a frame owns, and the pool keeps its memory as long as a chunk
    /// is out.
    pub fn of_pool(pool: &Pool) -> Umem {
        let (base, len) = pool.memory();
        let chunk_size = pool.chunk_size() as u32;
        // SAFETY: a pool's memory is page aligned where it came from `Mapping` (the kernel refuses other memory), and readable and
        // writable. The pool keeps it for as long as a chunk is submitted (`Pool`'s drop), and makes no frame of such a chunk
        // before it is back; that no other chunk comes onto a ring, whoever has the rings owes, as said above.
        unsafe { Self::of_memory(base, len, chunk_size, STAGGER_LEN_MAX as u32) }
    }

    /// Any memory of this process, in chunks of `chunk_size` bytes (a power of two, 2048 up to the page
    /// size), received data `headroom + 256` bytes into a chunk.
    ///
    /// # Safety
    /// The caller owes:
    /// 1. `base` is valid for reads and writes of `len` bytes for as long as an address in it is on a ring of a socket that
    ///    shares this UMEM, and until the kernel has returned each.
    /// 2. Nobody touches a chunk from the moment that its address is pushed until the kernel has returned it.
    ///
    /// Memory that is not page aligned the kernel refuses to register.
    pub unsafe fn of_memory(base: NonNull<u8>, len: usize, chunk_size: u32, headroom: u32) -> Umem {
        let len = len - len % chunk_size.max(1) as usize;
        Umem(Arc::new(Registry { base, len, chunk_size, headroom, sockets: Mutex::default() }))
    }

    /// Bytes a chunk.
    pub fn chunk_size(&self) -> u32 {
        self.0.chunk_size
    }

    /// Chunks in it.
    pub fn chunk_count(&self) -> usize {
        self.0.len / self.0.chunk_size.max(1) as usize
    }

    /// The largest frame that fits into one chunk when received.
    pub fn frame_len_max(&self) -> u32 {
        self.0.chunk_size.saturating_sub(self.0.headroom + XDP_PACKET_HEADROOM)
    }

    /// A live socket whose registration a new one on `ifindex` may share.
    pub(super) fn holder(&self, ifindex: u32, config: &XskConfig) -> Option<Arc<OwnedFd>> {
        let mut sockets = self.0.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        sockets.retain(|holder| holder.socket.strong_count() > 0);
        let mut suitable = sockets.iter().filter(|holder| holder.inherited.suits(ifindex, config));
        suitable.find_map(|holder| holder.socket.upgrade())
    }

    /// Remembers that `socket` is bound and has a registration.
    pub(super) fn add_holder(&self, socket: &Arc<OwnedFd>, inherited: Inherited) {
        let mut sockets = self.0.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        sockets.push(Holder { socket: Arc::downgrade(socket), inherited });
    }

    /// Registers the memory on `socket`: the kernel pins its pages.
    pub(super) fn register(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let registration = libc::xdp_umem_reg {
            addr: self.0.base.as_ptr() as u64,
            len: self.0.len as u64,
            chunk_size: self.0.chunk_size,
            headroom: self.0.headroom,
            flags: 0,
            tx_metadata_len: 0,
        };
        set_option(socket, libc::SOL_XDP, libc::XDP_UMEM_REG, &registration)
    }
}

/// The bytes that XDP programs may grow a received frame into: linux/bpf.h.
pub const XDP_PACKET_HEADROOM: u32 = 256;
