//! One packet: the sole handle to a chunk, and the part of it that is data.
//!
//! Invariant: `SCRATCH_LEN <= start` and `start + len <= limit <= chunk size`, and no second `Frame`
//! of the same chunk exists (the pool sees to that), so slices handed out never alias.

use crate::tail::Tail;
use std::ptr::NonNull;

/// Bytes at the head of each chunk for metadata attributes, never sent.
pub const SCRATCH_LEN: usize = 128;
/// Bytes between the scratch area and the data of a fresh frame, for headers to grow into. It is the
/// headroom that the kernel's XDP keeps (XDP_PACKET_HEADROOM), so received frames have the same.
pub const HEADROOM_LEN: usize = 256;

/// The owner of one chunk's bytes.
///
/// Dropping a frame does not return its chunk: give it to a port or to [`Pool::free`](crate::Pool::free).
#[must_use = "a frame that is dropped is lost to its pool; free it or send it"]
#[derive(Debug)]
pub struct Frame {
    chunk: NonNull<u8>,
    index: u32,
    start: u16,
    len: u16,
    limit: u16,
    /// In a box, because few frames have one and all are moved about.
    tail: Option<Box<Tail>>,
}

// SAFETY: a frame is the only handle to its chunk, and chunks are plain bytes of memory that `Memory`
// promises to be usable from whichever thread owns it.
unsafe impl Send for Frame {}

impl Frame {
    /// A handle to chunk `index` at `chunk`, which is `limit` bytes long.
    ///
    /// # Safety
    /// `chunk` must point to `limit` bytes that live for the rest of the program or until the pool
    /// has this frame back, no other frame of that chunk may exist, and the bounds in this module's
    /// invariant must hold.
    pub(crate) unsafe fn from_parts(
        chunk: NonNull<u8>,
        index: u32,
        start: u16,
        len: u16,
        limit: u16,
    ) -> Self {
        debug_assert!(usize::from(start) >= SCRATCH_LEN && start + len <= limit);
        Self { chunk, index, start, len, limit, tail: None }
    }

    /// The chunk's number in its pool.
    pub const fn index(&self) -> u32 {
        self.index
    }

    pub(crate) const fn chunk(&self) -> NonNull<u8> {
        self.chunk
    }

    /// Where the data starts, in bytes from the chunk's start.
    pub const fn start(&self) -> usize {
        self.start as usize
    }

    /// How many bytes of data there are.
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is no data.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Free bytes before the data.
    pub const fn headroom(&self) -> usize {
        self.start as usize - SCRATCH_LEN
    }

    /// Free bytes after the data.
    pub const fn tailroom(&self) -> usize {
        self.limit as usize - self.start as usize - self.len as usize
    }

    /// What follows the data on the wire, if it goes to a port that takes such frames.
    #[inline]
    pub fn tail(&self) -> Option<&Tail> {
        self.tail.as_deref()
    }

    /// The tail, to say how it is cut.
    #[inline]
    pub fn tail_mut(&mut self) -> Option<&mut Tail> {
        self.tail.as_deref_mut()
    }

    /// Has `tail` follow the data.
    pub fn append(&mut self, tail: Tail) {
        self.tail = Some(Box::new(tail));
    }

    /// How many bytes there are with the tail.
    #[inline]
    pub fn len_with_tail(&self) -> usize {
        self.len() + self.tail().map_or(0, Tail::len)
    }

    /// The data.
    #[inline]
    pub fn data(&self) -> &[u8] {
        // SAFETY: the invariant keeps `start + len` inside the chunk, and this frame is its only owner.
        unsafe { std::slice::from_raw_parts(self.chunk.as_ptr().add(self.start()), self.len()) }
    }

    /// The data, to change.
    #[inline]
    pub fn data_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `data`; `&mut self` makes the borrow exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.chunk.as_ptr().add(self.start()), self.len()) }
    }

    /// The last `n` bytes before the data, whatever was left there. `None` if the headroom is smaller.
    #[inline]
    pub fn before(&self, n: usize) -> Option<&[u8]> {
        if n > self.headroom() {
            return None;
        }
        // SAFETY: the headroom is the chunk's bytes from SCRATCH_LEN up to `start`, and this frame is its only
        // owner.
        Some(unsafe { std::slice::from_raw_parts(self.chunk.as_ptr().add(self.start() - n), n) })
    }

    /// The scratch area, where the pipeline's metadata attributes live.
    pub fn scratch(&self) -> &[u8; SCRATCH_LEN] {
        // SAFETY: each chunk is longer than SCRATCH_LEN, and the data never reaches into it.
        unsafe { &*self.chunk.as_ptr().cast() }
    }

    /// The scratch area, to change.
    pub fn scratch_mut(&mut self) -> &mut [u8; SCRATCH_LEN] {
        // SAFETY: as in `scratch`; `&mut self` makes the borrow exclusive.
        unsafe { &mut *self.chunk.as_ptr().cast() }
    }

    /// Takes `n` bytes of headroom in front of the data and returns them, to be written. `None`, with
    /// nothing changed, if there is not so much headroom.
    #[inline]
    pub fn push_front(&mut self, n: usize) -> Option<&mut [u8]> {
        if n > self.headroom() {
            return None;
        }
        self.start -= n as u16;
        self.len += n as u16;
        self.data_mut().get_mut(..n)
    }

    /// Gives the first `n` bytes of data to the headroom. False, with nothing changed, if there are
    /// fewer.
    #[inline]
    pub fn pull_front(&mut self, n: usize) -> bool {
        let fits = n <= self.len();
        if fits {
            self.start += n as u16;
            self.len -= n as u16;
        }
        fits
    }

    /// Takes `n` bytes of tailroom behind the data and returns them, to be written. `None`, with
    /// nothing changed, if there is not so much tailroom.
    #[inline]
    pub fn push_back(&mut self, n: usize) -> Option<&mut [u8]> {
        if n > self.tailroom() {
            return None;
        }
        let old_len = self.len();
        self.len += n as u16;
        self.data_mut().get_mut(old_len..)
    }

    /// Appends `bytes`. False, with nothing changed, if they do not fit.
    #[inline]
    pub fn extend(&mut self, bytes: &[u8]) -> bool {
        self.push_back(bytes.len()).map(|room| room.copy_from_slice(bytes)).is_some()
    }

    /// Cuts the data to `len` bytes; a longer `len` changes nothing.
    pub fn truncate(&mut self, len: usize) {
        if len < self.len() {
            self.len = len as u16;
        }
    }

    /// Makes the frame empty, with the data to come at `start` of the chunk, clamped to what the
    /// layout allows.
    pub fn reset(&mut self, start: usize) {
        self.start = start.clamp(SCRATCH_LEN, self.limit as usize) as u16;
        self.len = 0;
    }
}
