//! One packet: the sole handle to a chunk, and the part of it that is data.
//!
//! ```text
//!   Frame -> Header { start, len, .. } -> chunk [ scratch | headroom | data | tailroom ]
//!   8 bytes   one a chunk, in the pool
//! ```
//! A frame is as small as a pointer, so that batches move at little cost; what it says of its data lies in the
//! pool's table of headers.
//!
//! Invariant: `SCRATCH_LEN <= start` and `start + len <= chunk size`, and no second `Frame`
//! of the same chunk exists (the pool sees to that), so slices handed out never alias.

use crate::tail::Tail;
use std::ptr::NonNull;

/// Bytes at the head of each chunk for metadata attributes, never sent.
pub const SCRATCH_LEN: usize = 128;
/// Bytes between the scratch area and the data of a fresh frame, for headers to grow into. It is the
/// headroom that the kernel's XDP keeps (XDP_PACKET_HEADROOM), so received frames have the same.
pub const HEADROOM_LEN: usize = 256;

/// What is known of one chunk. The extent and the tail belong to whoever has the frame; the rest to the pool.
#[derive(Debug)]
pub(crate) struct Header {
    chunk: NonNull<u8>,
    /// In a box, because few frames have one.
    tail: Option<Box<Tail>>,
    pub(crate) state: ChunkState,
    index: u32,
    pub(crate) extent: Extent,
}

/// Which part of a chunk is data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) start: u16,
    pub(crate) len: u16,
}

/// In whose hands a chunk is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Place {
    Free,
    Held,
    Submitted,
    Idle,
}

/// What a pool knows of a chunk, as one word, so that all of it is compared at once.
///
/// ```text
///   63      32 31     24 23      16 15      8 7      0
///   | pool    | (zero)  | retained | size   | place  |
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ChunkState(u64);

impl ChunkState {
    /// Of a free chunk of the pool with that number; its size is a power of two.
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
            0 => Place::Free,
            1 => Place::Held,
            2 => Place::Submitted,
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

    #[inline]
    pub(crate) const fn size_shift(self) -> u32 {
        (self.0 >> 8) as u8 as u32
    }
}

const RETAINED: u64 = 1 << 16;

impl Header {
    /// Of the chunk `index` at `chunk`, in the state `state`.
    pub(crate) const fn new(chunk: NonNull<u8>, index: u32, state: ChunkState) -> Self {
        Self { chunk, tail: None, state, index, extent: Extent { start: SCRATCH_LEN as u16, len: 0 } }
    }
}

/// The owner of one chunk's bytes.
///
/// Dropping a frame does not return its chunk: give it to a port or to [`Pool::free`](crate::Pool::free).
#[must_use = "a frame that is dropped is lost to its pool; free it or send it"]
#[derive(Debug)]
#[repr(transparent)]
pub struct Frame {
    header: NonNull<Header>,
}

// SAFETY: a frame is the only handle to its chunk and to its header's extent and tail; chunks are plain bytes of memory
// that `Memory` promises to be usable from whichever thread owns it.
unsafe impl Send for Frame {}

impl Frame {
    /// The handle to the chunk of `header`.
    ///
    /// # Safety
    /// `header` must live for the rest of the program or until the pool has this frame back, no other frame of that
    /// chunk may exist, its chunk must have the bytes that its state says, which live as long, and the bounds in this module's invariant
    /// must hold.
    #[inline]
    pub(crate) unsafe fn of(header: NonNull<Header>) -> Self {
        Self { header }
    }

    #[inline]
    pub(crate) const fn header_ptr(&self) -> NonNull<Header> {
        self.header
    }

    #[inline]
    const fn extent(&self) -> &Extent {
        // SAFETY: `of` was promised a header that lives, and its extent is this frame's alone.
        unsafe { &(*self.header.as_ptr()).extent }
    }

    #[inline]
    fn extent_mut(&mut self) -> &mut Extent {
        // SAFETY: as in `extent`; `&mut self` makes the borrow exclusive.
        unsafe { &mut (*self.header.as_ptr()).extent }
    }

    #[inline]
    const fn chunk(&self) -> NonNull<u8> {
        // SAFETY: `of` was promised a header that lives; nobody writes this field.
        unsafe { (*self.header.as_ptr()).chunk }
    }

    #[inline]
    const fn tail_place(&self) -> &Option<Box<Tail>> {
        // SAFETY: as in `extent`: the tail is this frame's alone.
        unsafe { &(*self.header.as_ptr()).tail }
    }

    #[inline]
    fn tail_place_mut(&mut self) -> &mut Option<Box<Tail>> {
        // SAFETY: as in `tail_place`; `&mut self` makes the borrow exclusive.
        unsafe { &mut (*self.header.as_ptr()).tail }
    }

    /// The chunk's size.
    #[inline]
    const fn limit(&self) -> usize {
        // SAFETY: `of` was promised a header that lives; nobody writes this field.
        1 << unsafe { (*self.header.as_ptr()).state.size_shift() }
    }

    /// Lets the tail go, if there is one.
    #[inline]
    pub(crate) fn cut_tail(&mut self) {
        if self.tail_place().is_some() {
            *self.tail_place_mut() = None;
        }
    }

    /// The chunk's number in its pool.
    #[inline]
    pub const fn index(&self) -> u32 {
        // SAFETY: as in `chunk`.
        unsafe { (*self.header.as_ptr()).index }
    }

    /// Where the data starts, in bytes from the chunk's start.
    #[inline]
    pub const fn start(&self) -> usize {
        self.extent().start as usize
    }

    /// How many bytes of data there are.
    #[inline]
    pub const fn len(&self) -> usize {
        self.extent().len as usize
    }

    /// Whether there is no data.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.extent().len == 0
    }

    /// Free bytes before the data.
    pub const fn headroom(&self) -> usize {
        self.start() - SCRATCH_LEN
    }

    /// Free bytes after the data.
    pub const fn tailroom(&self) -> usize {
        self.limit() - self.start() - self.len()
    }

    /// What follows the data on the wire, if it goes to a port that takes such frames.
    #[inline]
    pub fn tail(&self) -> Option<&Tail> {
        self.tail_place().as_deref()
    }

    /// The tail, to say how it is cut.
    #[inline]
    pub fn tail_mut(&mut self) -> Option<&mut Tail> {
        self.tail_place_mut().as_deref_mut()
    }

    /// Has `tail` follow the data.
    pub fn append(&mut self, tail: Tail) {
        *self.tail_place_mut() = Some(Box::new(tail));
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
        unsafe { std::slice::from_raw_parts(self.chunk().as_ptr().add(self.start()), self.len()) }
    }

    /// The data, to change.
    #[inline]
    pub fn data_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `data`; `&mut self` makes the borrow exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.chunk().as_ptr().add(self.start()), self.len()) }
    }

    /// The last `n` bytes before the data, whatever was left there. `None` if the headroom is smaller.
    #[inline]
    pub fn before(&self, n: usize) -> Option<&[u8]> {
        if n > self.headroom() {
            return None;
        }
        // SAFETY: the headroom is the chunk's bytes from SCRATCH_LEN up to `start`, and this frame is its only
        // owner.
        Some(unsafe { std::slice::from_raw_parts(self.chunk().as_ptr().add(self.start() - n), n) })
    }

    /// The scratch area, where the pipeline's metadata attributes live.
    #[inline]
    pub fn scratch(&self) -> &[u8; SCRATCH_LEN] {
        // SAFETY: each chunk is longer than SCRATCH_LEN, and the data never reaches into it.
        unsafe { &*self.chunk().as_ptr().cast() }
    }

    /// The scratch area, to change.
    #[inline]
    pub fn scratch_mut(&mut self) -> &mut [u8; SCRATCH_LEN] {
        // SAFETY: as in `scratch`; `&mut self` makes the borrow exclusive.
        unsafe { &mut *self.chunk().as_ptr().cast() }
    }

    /// Takes `n` bytes of headroom in front of the data and returns them, to be written. `None`, with
    /// nothing changed, if there is not so much headroom.
    #[inline]
    pub fn push_front(&mut self, n: usize) -> Option<&mut [u8]> {
        if n > self.headroom() {
            return None;
        }
        let extent = self.extent_mut();
        extent.start -= n as u16;
        extent.len += n as u16;
        self.data_mut().get_mut(..n)
    }

    /// Gives the first `n` bytes of data to the headroom. False, with nothing changed, if there are
    /// fewer.
    #[inline]
    pub fn pull_front(&mut self, n: usize) -> bool {
        let fits = n <= self.len();
        if fits {
            let extent = self.extent_mut();
            extent.start += n as u16;
            extent.len -= n as u16;
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
        self.extent_mut().len += n as u16;
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
            self.extent_mut().len = len as u16;
        }
    }

    /// Makes the data the `len` bytes at `start` of the chunk, whatever is there, and returns them, to be written. `None`,
    /// with nothing changed, if they are not all behind the scratch area and in the chunk.
    #[inline]
    pub fn replace(&mut self, start: usize, len: usize) -> Option<&mut [u8]> {
        if start < SCRATCH_LEN || start.saturating_add(len) > self.limit() {
            return None;
        }
        *self.extent_mut() = Extent { start: start as u16, len: len as u16 };
        Some(self.data_mut())
    }

    /// Makes the frame empty, with the data to come at `start` of the chunk, clamped to what the
    /// layout allows.
    pub fn reset(&mut self, start: usize) {
        let start = start.clamp(SCRATCH_LEN, self.limit()) as u16;
        *self.extent_mut() = Extent { start, len: 0 };
    }
}
