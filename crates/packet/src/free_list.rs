//! The chunks that nobody has: a stack, so that what came back last, and is still near, goes out first.

use crate::batch::copy_headers;
use crate::header::Header;
use std::ptr::NonNull;

/// Headers of free chunks, at most as many as the pool has.
pub(crate) struct FreeList {
    places: Box<[NonNull<Header>]>,
    len: usize,
}

impl FreeList {
    /// All of these are free; the last goes out first.
    pub(crate) fn new(headers: impl Iterator<Item = NonNull<Header>>) -> Self {
        let places: Box<[_]> = headers.collect();
        Self { len: places.len(), places }
    }

    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<NonNull<Header>> {
        let at = self.len.checked_sub(1)?;
        self.len = at;
        Some(self.places[at])
    }

    #[inline]
    pub(crate) fn push(&mut self, header: NonNull<Header>) {
        if let Some(place) = self.places.get_mut(self.len) {
            *place = header;
            self.len += 1;
        }
    }

    /// Takes `count` off, all if there are fewer.
    #[inline]
    pub(crate) fn pop_many(&mut self, count: usize) -> &[NonNull<Header>] {
        let end = self.len;
        self.len -= count.min(end);
        &self.places[self.len..end]
    }

    #[inline]
    pub(crate) fn push_many(&mut self, headers: &[NonNull<Header>]) {
        let Some(places) = self.places.get_mut(self.len..self.len + headers.len()) else { return };
        // SAFETY: there are as many places as headers, in the list and nowhere else.
        unsafe { copy_headers(headers, places.as_mut_ptr()) };
        self.len += headers.len();
    }
}
