//! Who owns which chunk.
//!
//! ```text
//!     at home:    alloc                       submit
//!        +-------------------> a Frame --------------------> Submitted
//!    free list <---------------  |   ^  <------------------ (a port, the kernel)
//!        |         free          |   |        receive           |
//!        |                retain |   | lend                     | complete
//!        |                       v   |                          v
//!        +---- release ------ Retained <------- the chunk's owner has it back
//! ```
//!
//! A retained chunk (a ready packet of a pre-copy store) makes the round Retained -> Frame ->
//! Submitted -> Retained for ever; any other chunk goes back to the free list. The record is a word a
//! chunk, so a descriptor that comes back twice, or that never went out, is noticed and ignored. Between the free list
//! and a frame a chunk passes without a record, which would only repeat where its one handle is.
//!
//! Invariant: a chunk whose state is `Home` is once in the free list or has one `Frame`; any other is and has neither.

use crate::batch::{BATCH_LEN_MAX, Batch};
use crate::frame::{CHUNK_LEN_MIN, Frame, HEADROOM_LEN, LINE_LEN, STAGGER_LEN_MAX};
use crate::free_list::FreeList;
use crate::header::{ChunkState, Extent, Header, Place};
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
    /// The state of a chunk at home in this pool that nobody retains.
    home: ChunkState,
    /// One a chunk. Frames point into it, so it never moves, and is leaked with the memory if need be.
    headers: ManuallyDrop<Box<[UnsafeCell<Header>]>>,
    free: FreeList,
    retained_count: usize,
}

// SAFETY: `base` and the headers point into `memory`, which is Send and moves with the pool; the chunks' bytes, and the
// extents in the headers, are reached through frames only.
unsafe impl Send for Pool {}

impl Pool {
    /// Carves `memory` into chunks of `chunk_size` bytes (2048 or 4096).
    pub fn new(memory: Box<dyn Memory>, chunk_size: usize) -> Result<Self, PoolError> {
        if !matches!(chunk_size, CHUNK_LEN_MIN | 4096) {
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
            let origin = unsafe { base.add(index * chunk_size + stagger_of(index, chunk_size)) };
            UnsafeCell::new(Header::new(origin, index as u32, state))
        };
        let headers: Box<[_]> = (0..chunk_count).map(header).collect();
        let free = FreeList::new(headers.iter().rev().filter_map(|header| NonNull::new(header.get())));
        Ok(Self {
            base,
            memory: ManuallyDrop::new(memory),
            chunk_size,
            home: state,
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
                Place::Home => seen.held_count += 1,
                Place::Submitted => seen.submitted_count += 1,
                Place::Idle => {}
            }
        }
        seen.free_count = self.free.len();
        seen.held_count -= seen.free_count;
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
        let len = len.min(self.chunk_size - STAGGER_LEN_MAX - HEADROOM_LEN);
        let extent = Extent::new(HEADROOM_LEN, len);
        let headers = self.free.pop_many(wanted.min(batch.room()));
        // SAFETY: each is one of `headers` and has left the free list, so no frame of it exists; `extent` is in every chunk.
        for_each(headers, |header| unsafe { (*header.as_ptr()).extent = extent });
        // SAFETY: as above; the batch has room for them, as was asked.
        unsafe { batch.extend_by(headers) };
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
        let mut are_plain = true;
        for_each(batch.headers(), |header| are_plain &= self.state(header) == self.home);
        if !are_plain {
            return batch.drain().for_each(|frame| self.free(frame));
        }
        self.free.push_many(batch.headers());
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
        Some(ChunkAddr((self.offset(frame.header_ptr()) + frame.start()) as u64))
    }

    /// A port brings a chunk back with `len` bytes received at `addr`. `None` if that chunk was not
    /// with a port, or the bytes are not all between its origin and its end.
    #[inline]
    pub fn receive(&mut self, addr: ChunkAddr, len: usize) -> Option<Frame> {
        let header = self.locate(addr)?;
        let start = (addr.0 as usize).checked_sub(self.offset(header))?;
        let fits = (addr.0 as usize & (self.chunk_size - 1)) + len <= self.chunk_size;
        if self.state(header).place() != Place::Submitted || !fits {
            return None;
        }
        self.put_at(header, Place::Home);
        Some(self.hold(header, start, len))
    }

    /// A port has sent the chunk at `addr`, or gives it up. False if it was not with a port.
    #[inline]
    pub fn complete(&mut self, addr: ChunkAddr) -> bool {
        let Some(header) = self.locate(addr) else { return false };
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
        let state = self.state(frame.header_ptr());
        let is_new = !state.is_retained();
        self.set_state(frame.header_ptr(), state.at(Place::Idle).retained(true));
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
        self.put_at(header, Place::Home);
        Some(self.hold(header, kept.start.into(), kept.len.into()))
    }

    /// Ends a retention: the chunk is free now, or as soon as it comes back.
    pub fn release(&mut self, kept: Retained) {
        let Some(header) = self.header(kept.index).filter(|header| self.state(*header).is_retained()) else {
            return;
        };
        self.set_state(header, self.state(header).retained(false));
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
            self.put_at(header, Place::Home);
            self.free.push(header);
        }
    }

    #[inline]
    fn put_at(&mut self, header: NonNull<Header>, place: Place) {
        self.set_state(header, self.state(header).at(place));
    }

    /// The chunk in which `addr` is.
    #[inline]
    fn locate(&self, addr: ChunkAddr) -> Option<NonNull<Header>> {
        self.header(u32::try_from(addr.0 >> self.home.size_shift()).ok()?)
    }

    /// Where a chunk's origin is, in bytes from the start of the memory.
    #[inline]
    fn offset(&self, header: NonNull<Header>) -> usize {
        // SAFETY: as in `state`; nobody writes this field.
        let origin = unsafe { (*header.as_ptr()).origin };
        origin.addr().get() - self.base.addr().get()
    }

    #[inline]
    fn header(&self, index: u32) -> Option<NonNull<Header>> {
        NonNull::new(self.headers.get(index as usize)?.get())
    }

    #[inline]
    fn owns(&self, frame: &Frame) -> bool {
        self.state(frame.header_ptr()).pool() == self.home.pool()
    }

    /// The state of a chunk, of this pool or of whom a frame is.
    #[inline]
    fn state(&self, header: NonNull<Header>) -> ChunkState {
        // SAFETY: `header` is one of `headers`, or that of a frame that we have: its pool leaks the headers if it goes first.
        unsafe { (*header.as_ptr()).state() }
    }

    /// Of a chunk of this pool that is out of all other hands.
    #[inline]
    fn set_state(&mut self, header: NonNull<Header>, state: ChunkState) {
        // SAFETY: as in `state`.
        unsafe { (*header.as_ptr()).set_state(state) };
    }

    fn states(&self) -> impl Iterator<Item = ChunkState> {
        self.headers.iter().filter_map(|header| NonNull::new(header.get())).map(|header| self.state(header))
    }

    /// A frame of a chunk that is free.
    #[inline]
    fn take(&mut self, header: NonNull<Header>) -> Frame {
        self.hold(header, HEADROOM_LEN, 0)
    }

    /// The frame of a chunk that has left the free list, or was not at home until now.
    #[inline]
    fn hold(&mut self, header: NonNull<Header>, start: usize, len: usize) -> Frame {
        // SAFETY: `header` is one of `headers`, and no frame of it exists; the caller has checked the bounds. A pool dropped before its frames leaks both.
        unsafe {
            (*header.as_ptr()).extent = Extent::new(start, len);
            Frame::of(header)
        }
    }
}

/// Does something with each. Of a full batch the compiler knows how many there are, and needs no loop.
#[inline]
fn for_each(headers: &[NonNull<Header>], mut f: impl FnMut(NonNull<Header>)) {
    match <&[NonNull<Header>; BATCH_LEN_MAX]>::try_from(headers) {
        Ok(full) => full.iter().for_each(|header| f(*header)),
        Err(_) => headers.iter().for_each(|header| f(*header)),
    }
}

/// How far a chunk's origin is behind its start: what lies a multiple of 4 KiB further is in the same set of a first
/// cache of 64 sets, so the next such chunk gets another line.
const fn stagger_of(index: usize, chunk_size: usize) -> usize {
    const LINE_COUNT: usize = STAGGER_LEN_MAX / LINE_LEN + 1;
    index * chunk_size / 4096 % LINE_COUNT * LINE_LEN
}

impl Drop for Pool {
    /// Frees the memory, unless a frame or a port may still reach it: then it is leaked.
    fn drop(&mut self) {
        let idle_count = self.states().filter(|state| state.place() == Place::Idle).count();
        if self.free.len() + idle_count == self.headers.len() {
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
