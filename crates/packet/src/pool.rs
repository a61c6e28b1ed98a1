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

use crate::batch::Batch;
use crate::frame::{ChunkState, Extent, Frame, HEADROOM_LEN, Header, Place, SCRATCH_LEN};
use crate::memory::Memory;
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

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

/// The next pool's number. Four thousand million pools a process are enough.
static NEXT_ID: AtomicU32 = AtomicU32::new(0);

/// A worker's frames. Not shared between threads: each worker has its own.
pub struct Pool {
    memory: ManuallyDrop<Box<dyn Memory>>,
    base: NonNull<u8>,
    chunk_size: usize,
    /// The state of a frame of this pool that nobody retains.
    held: ChunkState,
    /// One a chunk. Frames point into it, so it never moves, and is leaked with the memory if need be.
    headers: ManuallyDrop<Box<[UnsafeCell<Header>]>>,
    free: Vec<NonNull<Header>>,
    retained_count: usize,
}

// SAFETY: `base` and the headers point into `memory`, which is Send and moves with the pool; the chunks' bytes, and the
// extents in the headers, are reached through frames only.
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
        let base = memory.base();
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let state = ChunkState::new(id, chunk_size.trailing_zeros() as u8);
        let header = |index: usize| {
            // SAFETY: `index` is below `chunk_count`, so the offset stays inside the memory.
            let chunk = unsafe { base.add(index * chunk_size) };
            UnsafeCell::new(Header::new(chunk, index as u32, state))
        };
        let headers: Box<[_]> = (0..chunk_count).map(header).collect();
        let free = headers.iter().rev().filter_map(|header| NonNull::new(header.get())).collect();
        Ok(Self {
            base,
            memory: ManuallyDrop::new(memory),
            chunk_size,
            held: state.at(Place::Held),
            headers: ManuallyDrop::new(headers),
            free,
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
        self.headers.len()
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
        for state in self.states().filter(|s| !s.is_retained()) {
            match state.place() {
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
        let header = self.free.pop()?;
        Some(self.take(header))
    }

    /// Adds `wanted` frames to `batch`, fewer if it has less room or the pool fewer free chunks. They have `len` bytes
    /// of data, whatever was there, or as many as a chunk holds.
    #[inline]
    pub fn alloc_batch(&mut self, wanted: usize, len: usize, batch: &mut Batch) {
        const START: usize = SCRATCH_LEN + HEADROOM_LEN;
        let extent = Extent { start: START as u16, len: len.min(self.chunk_size - START) as u16 };
        let count = wanted.min(batch.room()).min(self.free.len());
        let left = self.free.len() - count;
        for header in &self.free[left..] {
            // SAFETY: `header` is one of `headers` and free, so no frame of it exists.
            unsafe { hold(*header, self.held, extent) };
        }
        // SAFETY: they are held now, and leave the free list; the batch has room for them, as was asked above.
        unsafe { batch.extend_by(&self.free[left..]) };
        self.free.truncate(left);
    }

    /// Takes a frame back: to the store that retained it, or to the free list. A frame of another
    /// pool is left alone and its chunk is lost to that pool.
    #[inline]
    pub fn free(&mut self, mut frame: Frame) {
        if self.owns(&frame) {
            frame.cut_tail();
            self.put_back(frame.header_ptr());
        }
    }

    /// Takes all frames of a batch back.
    #[inline]
    pub fn free_batch(&mut self, batch: &mut Batch) {
        let is_plain = |frame: &Frame| self.state(frame.header_ptr()) == self.held && frame.tail().is_none();
        if !batch.iter().all(is_plain) {
            return batch.drain().for_each(|frame| self.free(frame));
        }
        let free = self.held.at(Place::Free);
        for frame in batch.iter() {
            *self.state_mut(frame.header_ptr()) = free;
        }
        self.free.extend_from_slice(batch.headers());
        batch.forget();
    }

    /// Hands a frame's chunk to a port. `None`, and the frame is lost, if it is not of this pool.
    #[inline]
    pub fn submit(&mut self, mut frame: Frame) -> Option<ChunkAddr> {
        if !self.owns(&frame) {
            return None;
        }
        frame.cut_tail();
        self.put_at(frame.header_ptr(), Place::Submitted);
        Some(ChunkAddr(((frame.index() as u64) << self.held.size_shift()) + frame.start() as u64))
    }

    /// A port brings a chunk back with `len` bytes received at `addr`. `None` if that chunk was not
    /// with a port, or the bytes are not inside its data area.
    #[inline]
    pub fn receive(&mut self, addr: ChunkAddr, len: usize) -> Option<Frame> {
        let (header, start) = self.locate(addr)?;
        let fits = start >= SCRATCH_LEN && start + len <= self.chunk_size;
        if self.state(header).place() != Place::Submitted || !fits {
            return None;
        }
        Some(self.hold(header, start as u16, len as u16))
    }

    /// A port has sent the chunk at `addr`, or gives it up. False if it was not with a port.
    #[inline]
    pub fn complete(&mut self, addr: ChunkAddr) -> bool {
        let Some((header, _)) = self.locate(addr) else { return false };
        let was_out = self.state(header).place() == Place::Submitted;
        if was_out {
            self.put_back(header);
        }
        was_out
    }

    /// Keeps a frame's chunk, data and all, for sending again and again.
    pub fn retain(&mut self, mut frame: Frame) -> Option<Retained> {
        if !self.owns(&frame) {
            return None;
        }
        frame.cut_tail();
        let state = self.state_mut(frame.header_ptr());
        let is_new = !state.is_retained();
        *state = state.at(Place::Idle).retained(true);
        self.retained_count += usize::from(is_new);
        Some(Retained { index: frame.index(), start: frame.start() as u16, len: frame.len() as u16 })
    }

    /// A retained chunk as a frame, with the data it had when it was retained. `None` while it is
    /// still under way to another peer.
    #[inline]
    pub fn lend(&mut self, kept: &Retained) -> Option<Frame> {
        let header = self.header(kept.index)?;
        if self.state(header).place() != Place::Idle {
            return None;
        }
        Some(self.hold(header, kept.start, kept.len))
    }

    /// Ends a retention: the chunk is free now, or as soon as it comes back.
    pub fn release(&mut self, kept: Retained) {
        let Some(header) = self.header(kept.index).filter(|header| self.state(*header).is_retained()) else {
            return;
        };
        let state = self.state_mut(header);
        *state = state.retained(false);
        self.retained_count -= 1;
        if self.state(header).place() == Place::Idle {
            self.put_back(header);
        }
    }

    #[inline]
    fn put_back(&mut self, header: NonNull<Header>) {
        if self.state(header).is_retained() {
            self.put_at(header, Place::Idle);
        } else {
            self.put_at(header, Place::Free);
            self.free.push(header);
        }
    }

    #[inline]
    fn put_at(&mut self, header: NonNull<Header>, place: Place) {
        let state = self.state_mut(header);
        *state = state.at(place);
    }

    #[inline]
    fn locate(&self, addr: ChunkAddr) -> Option<(NonNull<Header>, usize)> {
        let index = u32::try_from(addr.0 >> self.held.size_shift()).ok()?;
        let start = (addr.0 as usize) & (self.chunk_size - 1);
        Some((self.header(index)?, start))
    }

    #[inline]
    fn header(&self, index: u32) -> Option<NonNull<Header>> {
        NonNull::new(self.headers.get(index as usize)?.get())
    }

    #[inline]
    fn owns(&self, frame: &Frame) -> bool {
        let state = self.state(frame.header_ptr());
        state.pool() == self.held.pool() && state.place() == Place::Held
    }

    /// The state of a chunk, of this pool or of whom a frame is.
    #[inline]
    fn state(&self, header: NonNull<Header>) -> ChunkState {
        // SAFETY: `header` is one of `headers`, whose states only the pool touches, or that of a frame that we have: its pool
        // does not touch it before it has the frame back, and leaks the headers if it goes before.
        unsafe { (*header.as_ptr()).state }
    }

    #[inline]
    fn state_mut(&mut self, header: NonNull<Header>) -> &mut ChunkState {
        // SAFETY: as in `state`; `&mut self` makes the borrow exclusive.
        unsafe { &mut (*header.as_ptr()).state }
    }

    fn states(&self) -> impl Iterator<Item = ChunkState> {
        self.headers.iter().filter_map(|header| NonNull::new(header.get())).map(|header| self.state(header))
    }

    /// A frame of a chunk that is free.
    #[inline]
    fn take(&mut self, header: NonNull<Header>) -> Frame {
        self.hold(header, (SCRATCH_LEN + HEADROOM_LEN) as u16, 0)
    }

    /// A frame of a chunk that no frame is of.
    #[inline]
    fn hold(&mut self, header: NonNull<Header>, start: u16, len: u16) -> Frame {
        let state = self.state(header).at(Place::Held);
        // SAFETY: `header` is one of `headers`. Its chunk was not `Held` until now, so no frame of it exists; the caller has
        // checked the bounds. A pool dropped before its frames leaks both.
        unsafe {
            hold(header, state, Extent { start, len });
            Frame::of(header)
        }
    }
}

/// Makes a chunk ready to be a frame.
///
/// # Safety
/// `header` must live, no frame of it may exist, and `state` must be its pool's.
#[inline]
unsafe fn hold(header: NonNull<Header>, state: ChunkState, extent: Extent) {
    // SAFETY: the header lives and is nobody's, as the caller promised.
    unsafe {
        (*header.as_ptr()).state = state;
        (*header.as_ptr()).extent = extent;
    }
}

impl Drop for Pool {
    /// Frees the memory, unless a frame or a port may still reach it: then it is leaked.
    fn drop(&mut self) {
        let at_home = |s: ChunkState| matches!(s.place(), Place::Free | Place::Idle);
        if self.states().all(at_home) {
            // SAFETY: neither is used again, and no frame or port can reach them any more.
            unsafe {
                ManuallyDrop::drop(&mut self.memory);
                ManuallyDrop::drop(&mut self.headers);
            }
        }
    }
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
