//! One ring in memory that the peer writes as well, and what its descriptors point to.
//!
//! ```text
//!   at + 0    cookie (u32) | flags (u16) | head (u16)      flags: 1 = the receiver polls, do not interrupt it
//!   at + 64   tail (u16)
//!   at + 128  descriptors, 16 bytes each: flags region (u16 each) length offset metadata (u32 each)
//!
//!   to the server:  the client writes frames and moves head; the server reads them and moves tail
//!   to the client:  the client puts empty buffers in and moves head; the server fills them and moves tail
//! ```
//! Head and tail only grow and wrap at 2^16; the slot is the number modulo the ring's size. Buffers are the client's: the server
//! writes where the descriptor says, the client where it laid the buffers itself.
//!
//! Invariant: an index of the peer that is not between ours and ours plus the size counts as "nothing new"; a descriptor is read
//! once, as two words, and what it names is checked against its region by the copy itself ([`SharedMemory`]).

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use tidegate_sys::shared_memory::SharedMemory;

/// What a ring begins with.
pub(super) const COOKIE: u32 = 0x03E3_1F20;
/// Bytes before the first descriptor.
const HEADER_LEN: usize = 128;
const DESCRIPTOR_LEN: usize = 16;
const FLAGS_AT: usize = 4;
const HEAD_AT: usize = 6;
const TAIL_AT: usize = 64;
/// The receiver looks by itself.
const FLAG_POLLED: u16 = 1;
/// The frame goes on in the next descriptor.
pub(super) const FLAG_NEXT: u16 = 1;
/// 2^14 slots: with more the 16-bit indices would come near each other.
pub(super) const RING_LOG2_MAX: u8 = 14;

/// Bytes of a ring of `1 << log2` slots.
pub(super) const fn ring_len(log2: u8) -> usize {
    HEADER_LEN + (DESCRIPTOR_LEN << log2)
}

/// Where a part of a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descriptor {
    pub(super) flags: u16,
    pub(super) region: u16,
    pub(super) len: u32,
    pub(super) offset: u32,
}

/// Which of the two indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    Head,
    Tail,
}

impl Index {
    const fn at(self) -> usize {
        match self {
            Index::Head => HEAD_AT,
            Index::Tail => TAIL_AT,
        }
    }
}

/// A ring inside a region.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    memory: Arc<SharedMemory>,
    at: usize,
    /// Slots less one.
    mask: u16,
}

impl Ring {
    /// The ring of `1 << log2` slots at `at`; nothing if it does not lie in the memory, on a multiple of eight bytes.
    pub(super) fn new(memory: &Arc<SharedMemory>, at: usize, log2: u8) -> Option<Ring> {
        if log2 > RING_LOG2_MAX || !at.is_multiple_of(8) {
            return None;
        }
        let fits = at.checked_add(ring_len(log2)).is_some_and(|end| end <= memory.len());
        fits.then(|| Ring { memory: Arc::clone(memory), at, mask: (1 << log2) - 1 })
    }

    pub(super) const fn size(&self) -> u16 {
        self.mask + 1
    }

    /// Makes it an empty ring.
    pub(super) fn initialise(&self) {
        self.memory.write(self.at, &COOKIE.to_ne_bytes());
        self.store(Index::Tail, 0);
        self.store(Index::Head, 0);
    }

    /// Whether it begins as a ring does.
    pub(super) fn has_cookie(&self) -> bool {
        let mut cookie = [0; 4];
        self.memory.read(self.at, &mut cookie) && u32::from_ne_bytes(cookie) == COOKIE
    }

    #[inline]
    pub(super) fn load(&self, index: Index) -> u16 {
        self.memory.load_u16(self.at + index.at(), Ordering::Acquire)
    }

    #[inline]
    pub(super) fn store(&self, index: Index, value: u16) {
        self.memory.store_u16(self.at + index.at(), value, Ordering::Release);
    }

    /// How far the peer's index is ahead of ours: nothing where it cannot be.
    #[inline]
    pub(super) fn ahead(&self, theirs: Index, ours: u16) -> u16 {
        let count = self.load(theirs).wrapping_sub(ours);
        if count <= self.size() { count } else { 0 }
    }

    /// Whether the receiver asks to be interrupted, with everything that was published before in its sight.
    #[inline]
    pub(super) fn wants_interrupt(&self) -> bool {
        fence(Ordering::SeqCst);
        self.memory.load_u16(self.at + FLAGS_AT, Ordering::Relaxed) & FLAG_POLLED == 0
    }

    /// Asks the sender to interrupt, or to let it be. What it published before it knew is seen by whoever looks afterwards.
    pub(super) fn ask_for_interrupt(&self, wanted: bool) {
        let flags = if wanted { 0 } else { FLAG_POLLED };
        self.memory.store_u16(self.at + FLAGS_AT, flags, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    #[inline]
    const fn slot(&self, index: u16) -> usize {
        self.at + HEADER_LEN + (index & self.mask) as usize * DESCRIPTOR_LEN
    }

    #[inline]
    pub(super) fn descriptor(&self, index: u16) -> Descriptor {
        let at = self.slot(index);
        let (low, high) = (self.memory.load_u64(at), self.memory.load_u64(at + 8));
        Descriptor {
            flags: low as u16,
            region: (low >> 16) as u16,
            len: (low >> 32) as u32,
            offset: high as u32,
        }
    }

    #[inline]
    pub(super) fn put(&self, index: u16, descriptor: Descriptor) {
        let at = self.slot(index);
        let Descriptor { flags, region, len, offset } = descriptor;
        self.memory.store_u64(at, u64::from(flags) | u64::from(region) << 16 | u64::from(len) << 32);
        self.memory.store_u64(at + 8, u64::from(offset));
    }
}
