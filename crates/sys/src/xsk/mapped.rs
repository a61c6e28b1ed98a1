//! The memory of a kernel ring, mapped into this process.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use super::ring::RingMemory;

/// Which ring of a socket: its place in mmap(2)'s file offsets and the option that sets its size.
#[derive(Clone, Copy)]
pub(super) struct RingKind {
    pub(super) page_offset: i64,
    pub(super) size_option: i32,
}

pub(super) const RX: RingKind =
    RingKind { page_offset: libc::XDP_PGOFF_RX_RING, size_option: libc::XDP_RX_RING };
pub(super) const TX: RingKind =
    RingKind { page_offset: libc::XDP_PGOFF_TX_RING, size_option: libc::XDP_TX_RING };
pub(super) const FILL: RingKind =
    RingKind { page_offset: libc::XDP_UMEM_PGOFF_FILL_RING as i64, size_option: libc::XDP_UMEM_FILL_RING };
pub(super) const COMPLETION: RingKind = RingKind {
    page_offset: libc::XDP_UMEM_PGOFF_COMPLETION_RING as i64,
    size_option: libc::XDP_UMEM_COMPLETION_RING,
};

/// One ring that the kernel shares with this process; unmapped when dropped.
///
/// ```text
///   base                                                          (len bytes, from mmap of the socket)
///    | ..producer.. | ..consumer.. | flags | desc[0] desc[1] ... desc[size - 1] |
///        own cache line each                 entries of type T
/// ```
#[derive(Debug)]
pub struct MappedRing<T> {
    base: NonNull<u8>,
    len: usize,
    /// The index of whoever puts entries in.
    producer: NonNull<AtomicU32>,
    /// The index of whoever takes entries out.
    consumer: NonNull<AtomicU32>,
    /// What the kernel asks for: XDP_RING_NEED_WAKEUP.
    flags: NonNull<AtomicU32>,
    entries: NonNull<T>,
    /// `size - 1`; the size is a power of two.
    mask: u32,
    owns: PhantomData<T>,
}

// SAFETY: the mapping belongs to the process; this is the only handle to it, and entries are plain values.
unsafe impl<T: Send> Send for MappedRing<T> {}

impl<T: Copy> MappedRing<T> {
    /// Maps the ring `kind` of the socket, which has been given `size` entries of type `T`.
    pub(super) fn map(
        socket: BorrowedFd<'_>,
        kind: RingKind,
        offsets: &libc::xdp_ring_offset,
        size: u32,
    ) -> io::Result<Self> {
        let len = offsets.desc as usize + size as usize * size_of::<T>();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        // SAFETY: a fresh mapping at an address of the kernel's choice touches no existing memory.
        let address = unsafe {
            libc::mmap(std::ptr::null_mut(), len, access, flags, socket.as_raw_fd(), kind.page_offset)
        };
        let base = crate::mem::mapped(address)?;
        // SAFETY: the kernel's offsets lie within the ring that it has just mapped (af_xdp.rst, "Rings"),
        // and its members are aligned to cache lines.
        let at = |offset: u64| unsafe { base.add(offset as usize) };
        Ok(Self {
            base,
            len,
            producer: at(offsets.producer).cast(),
            consumer: at(offsets.consumer).cast(),
            flags: at(offsets.flags).cast(),
            entries: at(offsets.desc).cast(),
            mask: size - 1,
            owns: PhantomData,
        })
    }

    /// Whether the kernel sleeps until it is woken for this ring.
    #[inline]
    pub(super) fn needs_wakeup(&self) -> bool {
        // SAFETY: points into the mapping, which lives as long as `self`.
        let flags = unsafe { self.flags.as_ref() };
        flags.load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    #[inline]
    fn slot(&self, index: u32) -> NonNull<T> {
        // SAFETY: the mask keeps the slot below `size`, and `size` entries were mapped.
        unsafe { self.entries.add((index & self.mask) as usize) }
    }
}

impl<T: Copy> RingMemory<T> for MappedRing<T> {
    #[inline]
    fn size(&self) -> u32 {
        self.mask + 1
    }

    #[inline]
    fn load_producer(&self) -> u32 {
        // SAFETY: points into the mapping, which lives as long as `self`; shared as an atomic only.
        unsafe { self.producer.as_ref() }.load(Ordering::Acquire)
    }

    #[inline]
    fn store_producer(&self, index: u32) {
        // SAFETY: as in `load_producer`.
        unsafe { self.producer.as_ref() }.store(index, Ordering::Release);
    }

    #[inline]
    fn load_consumer(&self) -> u32 {
        // SAFETY: as in `load_producer`.
        unsafe { self.consumer.as_ref() }.load(Ordering::Acquire)
    }

    #[inline]
    fn store_consumer(&self, index: u32) {
        // SAFETY: as in `load_producer`.
        unsafe { self.consumer.as_ref() }.store(index, Ordering::Release);
    }

    #[inline]
    fn read(&self, index: u32) -> T {
        // SAFETY: `slot` lies in the mapping; the protocol reads filled slots only, which the kernel does
        // not write again before they are released.
        unsafe { self.slot(index).read() }
    }

    #[inline]
    fn write(&self, index: u32, entry: T) {
        // SAFETY: `slot` lies in the mapping; the protocol writes free slots only, which the kernel does
        // not read before they are published.
        unsafe { self.slot(index).write(entry) }
    }
}

impl<T> Drop for MappedRing<T> {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `map` and is unmapped once, here.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}
