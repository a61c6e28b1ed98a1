//! Up to 32 frames that travel together, so that each step's fixed cost is paid once a batch.

use crate::frame::{Frame, Header};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// The most frames a batch holds: the paper's gain levels off there (Sandstorm, figure 8b).
pub const BATCH_LEN_MAX: usize = 32;

/// Frames moved, never copied, in order. A batch is a handle, so two of them are swapped at no cost.
///
/// Invariant: `len <= BATCH_LEN_MAX`, and the first `len` places hold frames.
pub struct Batch {
    places: Box<[MaybeUninit<Frame>; BATCH_LEN_MAX]>,
    len: u32,
    len_max: u32,
}

impl Batch {
    /// An empty batch. It allocates: keep one where it is needed again and again.
    pub fn new() -> Self {
        Self::with_len_max(BATCH_LEN_MAX)
    }

    /// An empty batch that takes at most `len_max` frames, 32 if that is fewer.
    pub fn with_len_max(len_max: usize) -> Self {
        let places = Box::new([const { MaybeUninit::uninit() }; BATCH_LEN_MAX]);
        Self { places, len: 0, len_max: len_max.min(BATCH_LEN_MAX) as u32 }
    }

    /// Has it take at most `len_max` frames from now on, 32 if that is fewer.
    pub fn set_len_max(&mut self, len_max: usize) {
        self.len_max = len_max.min(BATCH_LEN_MAX) as u32;
    }

    /// How many frames it holds.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether it holds none.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many more it can take.
    #[inline]
    pub const fn room(&self) -> usize {
        self.len_max.saturating_sub(self.len) as usize
    }

    /// Appends a frame, or gives it back if the batch is full.
    #[inline]
    pub fn push(&mut self, frame: Frame) -> Result<(), Frame> {
        let len = self.len();
        match self.places.get_mut(len) {
            Some(place) if self.len < self.len_max => {
                place.write(frame);
                self.len += 1;
                Ok(())
            }
            _ => Err(frame),
        }
    }

    /// Appends the frames of these chunks, of which there are no more than [`room`](Self::room).
    ///
    /// # Safety
    /// For each what [`Frame::of`] asks for must hold.
    #[inline]
    pub(crate) unsafe fn extend_by(&mut self, headers: &[NonNull<Header>]) {
        let end = self.len() + headers.len();
        let Some(places) = self.places.get_mut(self.len as usize..end) else { return };
        // SAFETY: both are as long; a frame is its header's pointer and nothing else, and the caller promised the rest.
        unsafe { std::ptr::copy_nonoverlapping(headers.as_ptr(), places.as_mut_ptr().cast(), headers.len()) };
        self.len = end as u32;
    }

    /// Moves as many of `other`'s frames, in order, as fit.
    #[inline]
    pub fn append(&mut self, other: &mut Self) {
        for frame in other.drain_front(self.room()) {
            // There is room, as was asked above.
            let _ = self.push(frame);
        }
    }

    /// Takes all frames out, in order.
    #[inline]
    pub fn drain(&mut self) -> impl ExactSizeIterator<Item = Frame> + '_ {
        self.drain_front(BATCH_LEN_MAX)
    }

    /// Takes the first `n` frames out, or all if there are fewer.
    #[inline]
    pub fn drain_front(&mut self, n: usize) -> impl ExactSizeIterator<Item = Frame> + '_ {
        let count = n.min(self.len());
        Drain { batch: self, at: 0, count }
    }

    /// The frames in order.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Frame> {
        self.as_slice().iter()
    }

    /// The frames in order, to change.
    #[inline]
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut Frame> {
        // SAFETY: the first `len` places hold frames, and `MaybeUninit<T>` is laid out as `T` is.
        let frames =
            unsafe { std::slice::from_raw_parts_mut(self.places.as_mut_ptr().cast::<Frame>(), self.len()) };
        frames.iter_mut()
    }

    /// The frames in order.
    #[inline]
    pub fn as_slice(&self) -> &[Frame] {
        // SAFETY: the first `len` places hold frames, and `MaybeUninit<T>` is laid out as `T` is.
        unsafe { std::slice::from_raw_parts(self.places.as_ptr().cast(), self.len()) }
    }

    /// The chunks of its frames.
    #[inline]
    pub(crate) fn headers(&self) -> &[NonNull<Header>] {
        let frames = self.as_slice();
        // SAFETY: a frame is its header's pointer and nothing else.
        unsafe { std::slice::from_raw_parts(frames.as_ptr().cast(), frames.len()) }
    }

    /// Lets go of frames whose chunks are back in the pool.
    #[inline]
    pub(crate) const fn forget(&mut self) {
        self.len = 0;
    }

    /// All bytes of data in it.
    #[inline]
    pub fn byte_count(&self) -> usize {
        self.iter().map(Frame::len).sum()
    }
}

/// The first frames of a batch on their way out. Those that are not asked for are lost to their pool.
struct Drain<'a> {
    batch: &'a mut Batch,
    at: usize,
    count: usize,
}

impl Iterator for Drain<'_> {
    type Item = Frame;

    #[inline]
    fn next(&mut self) -> Option<Frame> {
        let place = self.batch.places.get(self.at).filter(|_| self.at < self.count)?;
        self.at += 1;
        // SAFETY: `count` is not above `len`, so the place holds a frame; each is read once, since `at` rises and the
        // rest move down when this goes.
        Some(unsafe { place.assume_init_read() })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count - self.at, Some(self.count - self.at))
    }
}

impl ExactSizeIterator for Drain<'_> {}

impl Drop for Drain<'_> {
    /// The frames behind move to the front.
    #[inline]
    fn drop(&mut self) {
        let left = self.batch.len() - self.count;
        self.batch.len = 0;
        if left > 0 {
            let places = self.batch.places.as_mut_ptr();
            // SAFETY: both ranges are inside the array, since `count + left` was its length.
            unsafe { std::ptr::copy(places.add(self.count), places, left) };
            self.batch.len = left as u32;
        }
    }
}

impl Default for Batch {
    fn default() -> Self {
        Self::new()
    }
}
