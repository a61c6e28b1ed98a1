//! The bytes in front of a body, written once, with holes for what changes from response to response.
//!
//! ```text
//!   HTTP/1.1 200 OK\r\nDate: [29 bytes]\r\nConnection: [10 bytes]\r\nContent-Length: 300\r\n\r\n
//!                            ^ Slot::Date              ^ Slot::Connection
//! ```
//!
//! Not HTTP: which fields there are, and in which order, is the writer's business.
//!
//! Invariant: a slot's bytes are zero in the template and lie wholly inside it, so a slot's value adds to
//! the template's sum and nothing has to be taken away first.

use crate::stamp::{CONNECTION_LEN, DATE_LEN, Fill, Text};
use tidegate_base::Sum;

/// What goes into a hole.
#[derive(Clone, Copy, Debug)]
enum Slot {
    Date,
    Connection,
}

/// A hole in the template, `at` bytes from its start.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: usize,
    slot: Slot,
}

/// A finished head.
#[derive(Clone, Debug)]
pub struct HeadTemplate {
    bytes: Box<[u8]>,
    places: Box<[Place]>,
}

impl HeadTemplate {
    /// How many bytes it has, slots included.
    pub const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it has none.
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes, with zeros in the slots.
    pub const fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Copies the template's bytes from `offset` on to the front of `out`; returns how many those were.
    #[inline]
    pub(crate) fn copy_to(&self, offset: u64, out: &mut [u8]) -> usize {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.bytes.len());
        let rest = &self.bytes[start..];
        let len = rest.len().min(out.len());
        out[..len].copy_from_slice(&rest[..len]);
        len
    }

    /// Fills the slots' parts that lie in `window`, the response's bytes from `offset` on; returns what they
    /// add to its sum.
    #[inline]
    pub(crate) fn fill(&self, offset: u64, window: &mut [u8], fill: &Fill<'_>) -> Sum {
        let Ok(offset) = usize::try_from(offset) else { return Sum::ZERO };
        self.places.iter().fold(Sum::ZERO, |sum, place| {
            sum + match place.slot {
                Slot::Date => put(fill.date, place.at, offset, window),
                Slot::Connection => put(fill.connection, place.at, offset, window),
            }
        })
    }
}

impl Slot {
    const fn len(self) -> usize {
        match self {
            Self::Date => DATE_LEN,
            Self::Connection => CONNECTION_LEN,
        }
    }
}

/// Puts the text at `at` of the response into the window that starts at `offset` of it, as far as it lies
/// there; returns what that adds to the window's sum.
#[inline]
fn put<const LEN: usize>(text: &Text<LEN>, at: usize, offset: usize, window: &mut [u8]) -> Sum {
    let start = at.wrapping_sub(offset);
    match window.get_mut(start..).and_then(|rest| rest.first_chunk_mut()) {
        Some(place) => {
            *place = text.bytes;
            text.sum.at_offset(start)
        }
        None => put_part(&text.bytes, at, offset, window),
    }
}

/// As [`put`], for a window that cuts the text.
#[cold]
fn put_part(text: &[u8], at: usize, offset: usize, window: &mut [u8]) -> Sum {
    let start = at.max(offset);
    let end = (at + text.len()).min(offset.saturating_add(window.len()));
    if start >= end {
        return Sum::ZERO;
    }
    let part = &text[start - at..end - at];
    window[start - offset..end - offset].copy_from_slice(part);
    Sum::of(part).at_offset(start - offset)
}

/// A head under construction.
#[derive(Default)]
pub struct HeadWriter {
    bytes: Vec<u8>,
    places: Vec<Place>,
}

impl HeadWriter {
    /// An empty head.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends bytes that are the same in every response.
    pub fn text(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.bytes.extend_from_slice(bytes.as_ref());
        self
    }

    /// Appends the slot of an IMF-fixdate: when the response was made (RFC 9110 section 6.6.1).
    pub fn date(&mut self) -> &mut Self {
        self.slot(Slot::Date)
    }

    /// Appends the slot of `keep-alive` or `close` (RFC 9112 section 9.6).
    pub fn connection(&mut self) -> &mut Self {
        self.slot(Slot::Connection)
    }

    /// The head as written so far; the writer is empty afterwards.
    pub fn finish(&mut self) -> HeadTemplate {
        let Self { bytes, places } = std::mem::take(self);
        HeadTemplate { bytes: bytes.into_boxed_slice(), places: places.into_boxed_slice() }
    }

    fn slot(&mut self, slot: Slot) -> &mut Self {
        let place = Place { at: self.bytes.len(), slot };
        self.bytes.resize(place.at + slot.len(), 0);
        self.places.push(place);
        self
    }
}
