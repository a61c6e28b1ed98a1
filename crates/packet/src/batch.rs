//! Up to 32 frames that travel together, so that each step's fixed cost is paid once a batch.

use crate::frame::Frame;
use crate::header::Header;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// The most frames a batch holds: the paper's gain levels off there (Sandstorm, figure 8b).
pub const BATCH_LEN_MAX: usize = 32;

/// Frames moved, never copied, in order. A batch is a handle as small as a pointer, so two of them are swapped at no cost.
pub struct Batch(Box<Content>);

/// Invariant: `len <= BATCH_LEN_MAX`, and the first `len` places hold frames.
#[repr(C, align(64))]
struct Content {
    places: [MaybeUninit<Frame>; BATCH_LEN_MAX],
    len: usize,
    len_max: usize,
}

impl Batch {
    /// An empty batch. It allocates: keep one where it is needed again and again.
    pub fn new() -> Self {
        Self::with_len_max(BATCH_LEN_MAX)
    }

    /// An empty batch that takes at most `len_max` frames, 32 if that is fewer.
    pub fn with_len_max(len_max: usize) -> Self {
        let places = [const { MaybeUninit::uninit() }; BATCH_LEN_MAX];
        Self(Box::new(Content { places, len: 0, len_max: len_max.min(BATCH_LEN_MAX) }))
    }

    /// Has it take at most `len_max` frames from now on, 32 if that is fewer.
    pub fn set_len_max(&mut self, len_max: usize) {
        self.0.len_max = len_max.min(BATCH_LEN_MAX);
    }

    /// How many frames it holds.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// Whether it holds none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// How many more it can take.
    #[inline]
    pub fn room(&self) -> usize {
        self.0.len_max.saturating_sub(self.0.len)
    }

    /// Appends a frame, or gives it back if the batch is full.
    #[inline]
    pub fn push(&mut self, frame: Frame) -> Result<(), Frame> {
        let Content { places, len, len_max } = &mut *self.0;
        match places.get_mut(*len) {
            Some(place) if *len < *len_max => {
                place.write(frame);
                *len += 1;
                Ok(())
            }
            _ => Err(frame),
        }
    }

    /// Appends the frames of these chunks, of which there are no more than [`room`](Self::room).
    ///
    /// # Safety
    /// For each the caller owes what [`Frame::of`] asks for; the same header must not be there twice.
    #[inline]
    pub(crate) unsafe fn extend_by(&mut self, headers: &[NonNull<Header>]) {
        let end = self.len() + headers.len();
        let Some(places) = self.0.places.get_mut(self.0.len..end) else { return };
        // SAFETY: there are as many places, and they are this batch's, which is borrowed exclusively, so `headers` is elsewhere.
        // A frame is its header's pointer and nothing else (`repr(transparent)`): with what the caller owes, these are frames.
        unsafe { copy_headers(headers, places.as_mut_ptr().cast()) };
        self.0.len = end;
    }

    /// Moves as many of `other`'s frames, in order, as fit.
    #[inline]
    pub fn append(&mut self, other: &mut Self) {
        let frames = other.front(self.room());
        let headers = &frames.batch.headers()[..frames.count];
        // SAFETY: each was a frame of `other`, for which `Frame::of` was owed what it asks. `frames` never reads them, and takes
        // them out of `other` when it goes, so that each is a frame once.
        unsafe { self.extend_by(headers) };
    }

    /// Takes all frames out, in order.
    #[inline]
    pub fn drain(&mut self) -> impl ExactSizeIterator<Item = Frame> + '_ {
        self.drain_front(BATCH_LEN_MAX)
    }

    /// Takes the first `n` frames out, or all if there are fewer.
    #[inline]
    pub fn drain_front(&mut self, n: usize) -> impl ExactSizeIterator<Item = Frame> + '_ {
        self.front(n)
    }

    #[inline]
    fn front(&mut self, n: usize) -> Drain<'_> {
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
        // SAFETY: the first `len` places hold frames (the content's invariant), `MaybeUninit<T>` is laid out as `T` is, and
        // `&mut self` makes the borrow exclusive.
        let frames =
            unsafe { std::slice::from_raw_parts_mut(self.0.places.as_mut_ptr().cast::<Frame>(), self.len()) };
        frames.iter_mut()
    }

    /// The frames in order.
    #[inline]
    pub fn as_slice(&self) -> &[Frame] {
        // SAFETY: the first `len` places hold frames (the content's invariant), `MaybeUninit<T>` is laid out as `T` is, and
        // `&self` lets nobody write them.
        unsafe { std::slice::from_raw_parts(self.0.places.as_ptr().cast(), self.len()) }
    }

    /// The chunks of its frames.
    #[inline]
    pub(crate) fn headers(&self) -> &[NonNull<Header>] {
        let frames = self.as_slice();
        // SAFETY: a frame is its header's pointer and nothing else (`repr(transparent)`), and pointers may be copied: what makes
        // a frame of one again owes what `Frame::of` asks.
        unsafe { std::slice::from_raw_parts(frames.as_ptr().cast(), frames.len()) }
    }

    /// The frame in a place.
    ///
    /// # Safety
    /// `at` must be below `len` when the frames were last counted, so that the place holds a frame; and the caller must see to
    /// it that the place is neither read nor borrowed again before another frame is put there, by [`forget`](Self::forget) at the
    /// latest.
    #[inline]
    pub(crate) unsafe fn read(&self, at: usize) -> Frame {
        // SAFETY: the place holds a frame, and this is the only time that it is taken out: both the caller owes.
        unsafe { self.0.places[at].assume_init_read() }
    }

    /// Lets go of all its frames, which others have by now.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.0.len = 0;
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
        let place = self.batch.0.places.get(self.at).filter(|_| self.at < self.count)?;
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
        self.batch.0.len = 0;
        if left > 0 {
            let places = self.batch.0.places.as_mut_ptr();
            // SAFETY: both ranges are inside the array, since `count + left` was its length, which is the array's at most; they may
            // overlap, as `copy` allows. The frames in front were taken out, and `len` says that nobody is in the places behind.
            unsafe { std::ptr::copy(places.add(self.count), places, left) };
            self.batch.0.len = left;
        }
    }
}

/// Copies `from` to `to`. The halves of a full batch, whose length the compiler knows, are copied without a call.
///
/// # Safety
/// `to` must be aligned and valid for writes of `from.len()` pointers, which nobody else accesses meanwhile, `from` included.
#[inline]
pub(crate) unsafe fn copy_headers(from: &[NonNull<Header>], to: *mut NonNull<Header>) {
    const HALF: usize = BATCH_LEN_MAX / 2;
    let start = from.as_ptr();
    // SAFETY: there are `from.len()` on both sides, which do not overlap, as the caller owes; the two halves of a full one are
    // within those bounds, since BATCH_LEN_MAX is even.
    unsafe {
        if from.len() == BATCH_LEN_MAX {
            std::ptr::copy_nonoverlapping(start, to, HALF);
            std::ptr::copy_nonoverlapping(start.add(HALF), to.add(HALF), HALF);
        } else {
            std::ptr::copy_nonoverlapping(start, to, from.len());
        }
    }
}

impl Default for Batch {
    fn default() -> Self {
        Self::new()
    }
}
