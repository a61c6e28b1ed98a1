//! What is known of one chunk, in the pool's table.
//!
//! ```text
//!   0        4       8       16       24     32                      160
//!   | extent | index | state | origin | tail | scratch ............. |
//!   read and written with every frame: half a cache line at most
//! ```
//! Invariant: `TAILED` is set in the state exactly if there is a tail.

use crate::frame::SCRATCH_LEN;
use crate::tail::Tail;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// One a chunk. The extent, the tail and the scratch area belong to whoever has the frame; the rest to the pool.
#[derive(Debug)]
#[repr(C, align(32))]
pub(crate) struct Header {
    pub(crate) extent: Extent,
    pub(crate) index: u32,
    /// Of one writer at a time, the frame's owner or the pool; read by the pool at any time.
    state: AtomicU64,
    /// Where offsets count from.
    pub(crate) origin: NonNull<u8>,
    /// In a box, because few frames have one.
    pub(crate) tail: Option<Box<Tail>>,
    pub(crate) scratch: [u8; SCRATCH_LEN],
}

impl Header {
    /// Of the chunk `index`, in the state `state`.
    pub(crate) const fn new(origin: NonNull<u8>, index: u32, state: ChunkState) -> Self {
        let (extent, state) = (Extent::new(0, 0), AtomicU64::new(state.0));
        Self { extent, index, state, origin, tail: None, scratch: [0; SCRATCH_LEN] }
    }

    #[inline]
    pub(crate) fn state(&self) -> ChunkState {
        ChunkState(self.state.load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn set_state(&self, state: ChunkState) {
        self.state.store(state.0, Ordering::Relaxed);
    }
}

/// Which part of a chunk is data, from its origin: one word, so that both bounds are written at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent(u32);

impl Extent {
    /// `len` bytes from `start` on, both below 65,536.
    #[inline]
    pub(crate) const fn new(start: usize, len: usize) -> Self {
        Self(start as u32 | (len as u32) << 16)
    }

    #[inline]
    pub(crate) const fn start(self) -> usize {
        (self.0 & 0xffff) as usize
    }

    #[inline]
    pub(crate) const fn len(self) -> usize {
        (self.0 >> 16) as usize
    }
}

/// In whose hands a chunk is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Place {
    /// In the free list, or a frame's: which of them, the frame knows by being there.
    Home,
    Submitted,
    Idle,
}

/// What a pool knows of a chunk, as one word, so that all of it is compared at once.
///
/// ```text
///   63      32 31   18 17       16         15      8 7      0
///   | pool    | (0)   | tailed   | retained | size   | place  |
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ChunkState(u64);

impl ChunkState {
    /// Of a chunk at home in the pool with that number; its size is a power of two.
    pub(crate) const fn new(pool: u32, size_shift: u8) -> Self {
        Self((pool as u64) << 32 | (size_shift as u64) << 8)
    }

    /// The pool's own number, so that a frame of another pool is known by it.
    #[inline]
    pub(crate) const fn pool(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    pub(crate) const fn place(self) -> Place {
        match self.0 as u8 {
            0 => Place::Home,
            1 => Place::Submitted,
            _ => Place::Idle,
        }
    }

    #[inline]
    pub(crate) const fn at(self, place: Place) -> Self {
        Self(self.0 & !0xff | place as u64)
    }

    /// Whether a store keeps it.
    #[inline]
    pub(crate) const fn is_retained(self) -> bool {
        self.0 & RETAINED != 0
    }

    pub(crate) const fn retained(self, is_retained: bool) -> Self {
        Self(if is_retained { self.0 | RETAINED } else { self.0 & !RETAINED })
    }

    /// Whether its frame has a tail.
    #[inline]
    pub(crate) const fn is_tailed(self) -> bool {
        self.0 & TAILED != 0
    }

    pub(crate) const fn tailed(self, is_tailed: bool) -> Self {
        Self(if is_tailed { self.0 | TAILED } else { self.0 & !TAILED })
    }

    #[inline]
    pub(crate) const fn size_shift(self) -> u32 {
        (self.0 >> 8) as u8 as u32
    }
}

const RETAINED: u64 = 1 << 16;
const TAILED: u64 = 1 << 17;
