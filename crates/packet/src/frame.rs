//! One packet: the sole handle to a chunk, and the part of it that is data.
//!
//! ```text
//!   Frame -> Header { start, len, .. | scratch } -> chunk [ headroom | data | tailroom ]
//!   8 bytes   one a chunk, in the pool
//! ```
//! A frame is as small as a pointer, so that batches move at little cost; what it says of its data lies in the
//! pool's table of headers, and so do the attributes that it carries beside: a module that reads only those touches no
//! packet.
//!
//! Invariant: `start + len` bytes from the chunk's origin are in the chunk, and no second `Frame` of the same chunk
//! exists (the pool sees to that), so slices handed out never alias.

use crate::header::{ChunkState, Extent, Header};
use crate::tail::Tail;
use std::ptr::NonNull;

/// Bytes of a frame's scratch area: metadata attributes, never sent.
pub const SCRATCH_LEN: usize = 128;
/// Bytes before the data of a fresh frame, for headers to grow into. It is the headroom that the kernel's XDP keeps
/// (XDP_PACKET_HEADROOM), so received frames have as many.
pub const HEADROOM_LEN: usize = 256;
/// Bytes by which chunks' origins differ at most. Chunks are powers of two apart, so that the same place of each would
/// share two sets of the first cache, which a batch overflows; with origins 0, 1 or 2 cache lines into the chunk they
/// share six.
pub const STAGGER_LEN_MAX: usize = 2 * LINE_LEN;
/// Bytes of the smallest chunk.
pub(crate) const CHUNK_LEN_MIN: usize = 2048;
/// Bytes of data that a fresh frame has room for, whatever its pool.
pub const FRESH_LEN_MAX: usize = CHUNK_LEN_MIN - STAGGER_LEN_MAX - HEADROOM_LEN;
/// Bytes of a cache line.
pub(crate) const LINE_LEN: usize = 64;

/// The owner of one chunk's bytes.
///
/// Dropping a frame does not return its chunk: give it to a port or to [`Pool::free`](crate::Pool::free).
#[must_use = "a frame that is dropped is lost to its pool; free it or send it"]
#[derive(Debug)]
#[repr(transparent)]
pub struct Frame {
    header: NonNull<Header>,
}

// SAFETY: a frame is the only handle to its chunk and to its header's extent, tail and scratch area; chunks are plain
// bytes of memory that `Memory` promises to be usable from whichever thread owns it.
unsafe impl Send for Frame {}

impl Frame {
    /// The handle to the chunk of `header`.
    ///
    /// # Safety
    /// The caller owes, until the pool has this frame back or for the rest of the program:
    /// 1. `header` stays where it is and alive, and so do the bytes of its chunk: initialised, and as many from its `origin`
    ///    on as its state's size says less [`STAGGER_LEN_MAX`].
    /// 2. No other frame of that chunk exists, and nobody else accesses those bytes or the header's extent, tail, scratch
    ///    area and state. `origin` and `index` are written by nobody.
    /// 3. Now, the header's `start + len` bytes from `origin` on are in the chunk; from now on this module sees to it.
    #[inline]
    pub(crate) unsafe fn of(header: NonNull<Header>) -> Self {
        Self { header }
    }

    #[inline]
    pub(crate) const fn header_ptr(&self) -> NonNull<Header> {
        self.header
    }

    #[inline]
    const fn extent(&self) -> Extent {
        // SAFETY: the header lives (`of`, 1) and its extent is this frame's alone (`of`, 2); `&self` lets nobody write it.
        unsafe { (*self.header.as_ptr()).extent }
    }

    /// Says what of the chunk is data. Whoever calls it has checked that `start + len` bytes are in the chunk, on which
    /// every slice that is handed out relies.
    #[inline]
    const fn set_extent(&mut self, start: usize, len: usize) {
        // SAFETY: the header lives (`of`, 1) and its extent is this frame's alone (`of`, 2); `&mut self` makes the access
        // exclusive.
        unsafe { (*self.header.as_ptr()).extent = Extent::new(start, len) };
    }

    #[inline]
    const fn origin(&self) -> NonNull<u8> {
        // SAFETY: the header lives (`of`, 1); nobody writes this field (`of`, 2).
        unsafe { (*self.header.as_ptr()).origin }
    }

    #[inline]
    const fn tail_place(&self) -> &Option<Box<Tail>> {
        // SAFETY: the header lives (`of`, 1) and its tail is this frame's alone (`of`, 2), so the borrow may last as long as
        // that of the frame.
        unsafe { &(*self.header.as_ptr()).tail }
    }

    #[inline]
    fn tail_place_mut(&mut self) -> &mut Option<Box<Tail>> {
        // SAFETY: as in `tail_place`, and `&mut self` makes the borrow exclusive.
        unsafe { &mut (*self.header.as_ptr()).tail }
    }

    #[inline]
    fn state(&self) -> ChunkState {
        // SAFETY: the header lives (`of`, 1), and whoever has the frame is the only one to write its state (`of`, 2).
        unsafe { (*self.header.as_ptr()).state() }
    }

    /// How many bytes there are from the origin on in every chunk. Received data may reach further.
    #[inline]
    fn limit(&self) -> usize {
        (1 << self.state().size_shift()) - STAGGER_LEN_MAX
    }

    fn set_tail(&mut self, tail: Option<Box<Tail>>) {
        let state = self.state().tailed(tail.is_some());
        *self.tail_place_mut() = tail;
        // SAFETY: as in `state`, and `&mut self` makes the access exclusive.
        unsafe { (*self.header.as_ptr()).set_state(state) };
    }

    /// Lets the tail go, if there is one.
    #[inline]
    pub(crate) fn cut_tail(&mut self) {
        if self.state().is_tailed() {
            self.set_tail(None);
        }
    }

    /// The chunk's number in its pool.
    #[inline]
    pub const fn index(&self) -> u32 {
        // SAFETY: the header lives (`of`, 1); nobody writes this field (`of`, 2).
        unsafe { (*self.header.as_ptr()).index }
    }

    /// Where the data starts, in bytes from the chunk's origin.
    #[inline]
    pub const fn start(&self) -> usize {
        self.extent().start()
    }

    /// How many bytes of data there are.
    #[inline]
    pub const fn len(&self) -> usize {
        self.extent().len()
    }

    /// Whether there is no data.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.extent().len() == 0
    }

    /// Free bytes before the data.
    pub const fn headroom(&self) -> usize {
        self.start()
    }

    /// Free bytes after the data.
    pub fn tailroom(&self) -> usize {
        self.limit().saturating_sub(self.start() + self.len())
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
        self.set_tail(Some(Box::new(tail)));
    }

    /// How many bytes there are with the tail.
    #[inline]
    pub fn len_with_tail(&self) -> usize {
        self.len() + self.tail().map_or(0, Tail::len)
    }

    /// The data.
    #[inline]
    pub fn data(&self) -> &[u8] {
        // SAFETY: `start + len` bytes from the origin on are in the chunk (this module's invariant), initialised and alive
        // (`of`, 1); they are this frame's alone (`of`, 2), and `&self` lets nobody write them.
        unsafe { std::slice::from_raw_parts(self.origin().as_ptr().add(self.start()), self.len()) }
    }

    /// The data, to change.
    #[inline]
    pub fn data_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `data`, and `&mut self` makes the borrow exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.origin().as_ptr().add(self.start()), self.len()) }
    }

    /// The last `n` bytes before the data, whatever was left there. `None` if the headroom is smaller.
    #[inline]
    pub fn before(&self, n: usize) -> Option<&[u8]> {
        if n > self.headroom() {
            return None;
        }
        // SAFETY: the headroom is the chunk's bytes from its origin up to `start`, of which there are `n`, as was just asked;
        // they are alive, initialised and this frame's alone (`of`, 1 and 2).
        Some(unsafe { std::slice::from_raw_parts(self.origin().as_ptr().add(self.start() - n), n) })
    }

    /// The scratch area, where the pipeline's metadata attributes live.
    #[inline]
    pub fn scratch(&self) -> &[u8; SCRATCH_LEN] {
        // SAFETY: the header lives (`of`, 1) and its scratch area is this frame's alone (`of`, 2), so the borrow may last as
        // long as that of the frame.
        unsafe { &(*self.header.as_ptr()).scratch }
    }

    /// The scratch area, to change.
    #[inline]
    pub fn scratch_mut(&mut self) -> &mut [u8; SCRATCH_LEN] {
        // SAFETY: as in `scratch`, and `&mut self` makes the borrow exclusive.
        unsafe { &mut (*self.header.as_ptr()).scratch }
    }

    /// Takes `n` bytes of headroom in front of the data and returns them, to be written. `None`, with
    /// nothing changed, if there is not so much headroom.
    #[inline]
    pub fn push_front(&mut self, n: usize) -> Option<&mut [u8]> {
        if n > self.headroom() {
            return None;
        }
        self.set_extent(self.start() - n, self.len() + n);
        self.data_mut().get_mut(..n)
    }

    /// Gives the first `n` bytes of data to the headroom. False, with nothing changed, if there are
    /// fewer.
    #[inline]
    pub fn pull_front(&mut self, n: usize) -> bool {
        let fits = n <= self.len();
        if fits {
            self.set_extent(self.start() + n, self.len() - n);
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
        self.set_extent(self.start(), old_len + n);
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
            self.set_extent(self.start(), len);
        }
    }

    /// Makes the data `len` bytes behind the full headroom, whatever is there, and returns them, to be written;
    /// [`FRESH_LEN_MAX`] if `len` is more.
    #[inline]
    pub fn renew(&mut self, len: usize) -> &mut [u8] {
        let len = len.min(FRESH_LEN_MAX);
        let fresh = Extent::new(HEADROOM_LEN, len);
        // To look is cheaper than to write.
        if self.extent() != fresh {
            self.set_extent(HEADROOM_LEN, len);
        }
        // SAFETY: `len` is at most what the smallest chunk has behind the headroom, and no chunk is smaller than
        // CHUNK_LEN_MIN; the bytes are alive, initialised and this frame's alone (`of`, 1 and 2).
        unsafe { std::slice::from_raw_parts_mut(self.origin().as_ptr().add(HEADROOM_LEN), len) }
    }

    /// Makes the frame empty, with the data to come at `start` from the chunk's origin, or at its end if that is further.
    pub fn reset(&mut self, start: usize) {
        self.set_extent(start.min(self.limit()), 0);
    }
}
