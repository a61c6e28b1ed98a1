//! Who owns which chunk.
//!
//! ```text
//!                 alloc                       submit
//!        +--------------------> Held --------------------> Submitted
//!      Free <---------------- (a Frame) <----------------- (a port, the kernel)
//!        |         free          |   ^        receive           |
//!        |                retain |   | lend                     | complete
//!        |                       v   |                          v
//!        +---- release ------ Retained <------- the chunk's owner has it back
//! ```
//!
//! A retained chunk (a ready packet of a pre-copy store) makes the round Retained -> Held ->
//! Submitted -> Retained for ever; any other chunk goes back to the free list. The record is a byte a
//! chunk, so a descriptor that comes back twice, or that never went out, is noticed and ignored.
//!
//! Invariant: a chunk is in the free list exactly if its state is `Free`, and a `Frame` of it exists
//! exactly if its state is `Held`.

use crate::frame::{Frame, HEADROOM_LEN, SCRATCH_LEN};
use crate::memory::Memory;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// Why a pool could not be made.
#[derive(Debug, PartialEq, Eq)]
pub enum PoolError {
    /// The chunk size is not one that AF_XDP's aligned mode takes.
    ChunkSize(usize),
    /// The memory holds no whole chunk.
    TooSmall {
        /// Bytes handed in.
        size: usize,
    },
}

impl std::fmt::Display for PoolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ChunkSize(n) => write!(f, "frame size {n}: use 2048 or 4096 bytes"),
            Self::TooSmall { size } => write!(f, "{size} bytes hold no frame: hand the pool more memory"),
        }
    }
}

impl std::error::Error for PoolError {}

/// A place in the pool's memory, in bytes from its start: what an AF_XDP descriptor carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChunkAddr(pub u64);

/// A chunk that a store keeps, with a ready packet in it.
#[must_use = "a retained chunk stays out of the pool until it is released"]
#[derive(Debug)]
pub struct Retained {
    index: u32,
    start: u16,
    len: u16,
}

/// How many chunks are in which hands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Occupancy {
    /// In the free list.
    pub free_count: usize,
    /// In frames, or lost in dropped ones.
    pub held_count: usize,
    /// With a port.
    pub submitted_count: usize,
    /// Kept by stores, idle or under way.
    pub retained_count: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Free,
    Held,
    Submitted,
    Idle,
}

#[derive(Clone, Copy)]
struct ChunkState {
    place: Place,
    retained: bool,
}

/// A worker's frames. Not shared between threads: each worker has its own.
pub struct Pool {
    memory: ManuallyDrop<Box<dyn Memory>>,
    base: NonNull<u8>,
    chunk_size: usize,
    chunk_shift: u32,
    states: Vec<ChunkState>,
    free: Vec<u32>,
    retained_count: usize,
}

// SAFETY: `base` points into `memory`, which is Send and moves with the pool; the chunks' bytes are
// reached through frames only.
unsafe impl Send for Pool {}

impl Pool {
    /// Carves `memory` into chunks of `chunk_size` bytes (2048 or 4096).
    pub fn new(memory: Box<dyn Memory>, chunk_size: usize) -> Result<Self, PoolError> {
        if !matches!(chunk_size, 2048 | 4096) {
            return Err(PoolError::ChunkSize(chunk_size));
        }
        let chunk_count = (memory.size() / chunk_size).min(u32::MAX as usize);
        if chunk_count == 0 {
            return Err(PoolError::TooSmall { size: memory.size() });
        }
        Ok(Self {
            base: memory.base(),
            memory: ManuallyDrop::new(memory),
            chunk_size,
            chunk_shift: chunk_size.trailing_zeros(),
            states: vec![ChunkState { place: Place::Free, retained: false }; chunk_count],
            free: (0..chunk_count as u32).rev().collect(),
            retained_count: 0,
        })
    }

    /// The memory's first byte and length, to be registered as a UMEM.
    pub fn memory(&self) -> (NonNull<u8>, usize) {
        (self.base, self.memory.size())
    }

    /// Bytes in a chunk.
    pub const fn chunk_size(&self) -> usize {
        self.chunk_size
    }

    /// Chunks in the pool.
    pub fn chunk_count(&self) -> usize {
        self.states.len()
    }

    /// Chunks that [`Pool::alloc`] can still hand out.
    pub fn free_count(&self) -> usize {
        self.free.len()
    }

    /// Chunks that stores keep.
    pub const fn retained_count(&self) -> usize {
        self.retained_count
    }

    /// A count of all chunks by place; it walks the whole record, so not for the data path.
    pub fn occupancy(&self) -> Occupancy {
        let mut seen = Occupancy { retained_count: self.retained_count, ..Occupancy::default() };
        for state in self.states.iter().filter(|s| !s.retained) {
            match state.place {
                Place::Free => seen.free_count += 1,
                Place::Held => seen.held_count += 1,
                Place::Submitted => seen.submitted_count += 1,
                Place::Idle => {}
            }
        }
        seen
    }

    /// An empty frame whose data will start behind the full headroom.
    #[inline]
    pub fn alloc(&mut self) -> Option<Frame> {
        let index = self.free.pop()?;
        self.states[index as usize].place = Place::Held;
        Some(self.frame(index, (SCRATCH_LEN + HEADROOM_LEN) as u16, 0))
    }

    /// Takes a frame back: to the store that retained it, or to the free list. A frame of another
    /// pool is left alone and its chunk is lost to that pool.
    #[inline]
    pub fn free(&mut self, frame: Frame) {
        if self.owns(&frame) {
            self.put_back(frame.index());
        }
    }

    /// Hands a frame's chunk to a port. `None`, and the frame is lost, if it is not of this pool.
    #[inline]
    pub fn submit(&mut self, frame: Frame) -> Option<ChunkAddr> {
        if !self.owns(&frame) {
            return None;
        }
        self.states[frame.index() as usize].place = Place::Submitted;
        Some(ChunkAddr(((frame.index() as u64) << self.chunk_shift) + frame.start() as u64))
    }

    /// A port brings a chunk back with `len` bytes received at `addr`. `None` if that chunk was not
    /// with a port, or the bytes are not inside its data area.
    #[inline]
    pub fn receive(&mut self, addr: ChunkAddr, len: usize) -> Option<Frame> {
        let (index, start) = self.locate(addr)?;
        let fits = start >= SCRATCH_LEN && start + len <= self.chunk_size;
        let state = self.states.get_mut(index as usize)?;
        if state.place != Place::Submitted || !fits {
            return None;
        }
        state.place = Place::Held;
        Some(self.frame(index, start as u16, len as u16))
    }

    /// A port has sent the chunk at `addr`, or gives it up. False if it was not with a port.
    #[inline]
    pub fn complete(&mut self, addr: ChunkAddr) -> bool {
        let Some((index, _)) = self.locate(addr) else { return false };
        let was_out = self.states.get(index as usize).is_some_and(|s| s.place == Place::Submitted);
        if was_out {
            self.put_back(index);
        }
        was_out
    }

    /// Keeps a frame's chunk, data and all, for sending again and again.
    pub fn retain(&mut self, frame: Frame) -> Option<Retained> {
        if !self.owns(&frame) {
            return None;
        }
        let state = &mut self.states[frame.index() as usize];
        self.retained_count += usize::from(!state.retained);
        *state = ChunkState { place: Place::Idle, retained: true };
        Some(Retained { index: frame.index(), start: frame.start() as u16, len: frame.len() as u16 })
    }

    /// A retained chunk as a frame, with the data it had when it was retained. `None` while it is
    /// still under way to another peer.
    #[inline]
    pub fn lend(&mut self, kept: &Retained) -> Option<Frame> {
        let state = self.states.get_mut(kept.index as usize)?;
        if state.place != Place::Idle {
            return None;
        }
        state.place = Place::Held;
        Some(self.frame(kept.index, kept.start, kept.len))
    }

    /// Ends a retention: the chunk is free now, or as soon as it comes back.
    pub fn release(&mut self, kept: Retained) {
        let Some(state) = self.states.get_mut(kept.index as usize).filter(|s| s.retained) else { return };
        state.retained = false;
        self.retained_count -= 1;
        if state.place == Place::Idle {
            self.put_back(kept.index);
        }
    }

    fn put_back(&mut self, index: u32) {
        let state = &mut self.states[index as usize];
        if state.retained {
            state.place = Place::Idle;
        } else {
            state.place = Place::Free;
            self.free.push(index);
        }
    }

    #[inline]
    fn locate(&self, addr: ChunkAddr) -> Option<(u32, usize)> {
        let index = u32::try_from(addr.0 >> self.chunk_shift).ok()?;
        let start = (addr.0 as usize) & (self.chunk_size - 1);
        ((index as usize) < self.states.len()).then_some((index, start))
    }

    #[inline]
    fn owns(&self, frame: &Frame) -> bool {
        self.states.get(frame.index() as usize).is_some_and(|s| s.place == Place::Held)
            && self.chunk(frame.index()) == frame.chunk()
    }

    #[inline]
    fn chunk(&self, index: u32) -> NonNull<u8> {
        // SAFETY: callers pass an index below `states.len()`, and `new` made that many chunks of the
        // memory, so the offset stays inside it.
        unsafe { self.base.add((index as usize) << self.chunk_shift) }
    }

    #[inline]
    fn frame(&self, index: u32, start: u16, len: u16) -> Frame {
        // SAFETY: the caller has just moved this chunk's state to `Held`, so no other frame of it
        // exists, and has checked the bounds; a pool dropped before its frames leaks the memory.
        unsafe { Frame::from_parts(self.chunk(index), index, start, len, self.chunk_size as u16) }
    }
}

impl Drop for Pool {
    /// Frees the memory, unless a frame or a port may still reach it: then it is leaked.
    fn drop(&mut self) {
        let at_home = |s: &ChunkState| matches!(s.place, Place::Free | Place::Idle);
        if self.states.iter().all(at_home) {
            // SAFETY: `memory` is not used again, and no frame or port can reach it any more.
            unsafe { ManuallyDrop::drop(&mut self.memory) }
        }
    }
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
