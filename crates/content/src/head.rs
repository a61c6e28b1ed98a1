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

use crate::stamp::{CONNECTION_LEN, DATE_LEN, Stamp};
use std::ops::Range;
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

/// What the holes of one response are filled with.
pub(crate) struct Fill<'a> {
    date: &'a [u8; DATE_LEN],
    connection: &'a [u8; CONNECTION_LEN],
}

impl<'a> Fill<'a> {
    pub(crate) fn new(date: &'a [u8; DATE_LEN], stamp: Stamp) -> Self {
        Self { date, connection: stamp.connection() }
    }

    fn text(&self, slot: Slot) -> &[u8] {
        match slot {
            Slot::Date => self.date,
            Slot::Connection => self.connection,
        }
    }
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

    /// Fills the slots' parts that lie in `window`, the response's bytes from `offset` on.
    #[inline]
    pub(crate) fn patch(&self, offset: u64, window: &mut [u8], fill: &Fill<'_>) {
        for place in &self.places {
            if let Some((part, at)) = place.within(offset, window.len()) {
                let text = &fill.text(place.slot)[part];
                window[at..at + text.len()].copy_from_slice(text);
            }
        }
    }

    /// What the filled slots add to the sum of the `len` bytes from `offset` on.
    #[inline]
    pub(crate) fn slot_sum(&self, offset: u64, len: usize, fill: &Fill<'_>) -> Sum {
        let in_window = self.places.iter().filter_map(|place| {
            let (part, at) = place.within(offset, len)?;
            Some(Sum::of(&fill.text(place.slot)[part]).at_offset(at))
        });
        in_window.fold(Sum::ZERO, |sum, part| sum + part)
    }
}

impl Place {
    const fn len(self) -> usize {
        match self.slot {
            Slot::Date => DATE_LEN,
            Slot::Connection => CONNECTION_LEN,
        }
    }

    /// Which part of the slot's value lies in the `len` bytes from `offset` on, and where in them.
    #[inline]
    fn within(self, offset: u64, len: usize) -> Option<(Range<usize>, usize)> {
        let offset = usize::try_from(offset).ok()?;
        let start = self.at.max(offset);
        let end = (self.at + self.len()).min(offset.saturating_add(len));
        (start < end).then(|| (start - self.at..end - self.at, start - offset))
    }
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
        self.bytes.resize(place.at + place.len(), 0);
        self.places.push(place);
        self
    }
}
