//! Reading and writing attributes in a frame's scratch area.
//!
//! A module makes a [`Slot`] of each [`Place`] when it is given one, and uses that for each frame. An attribute without
//! a place reads as zeros, and what is written to it is gone: the one comparison that keeps an access inside the
//! scratch area sees to that too. Numbers are big-endian, as BESS writes them, so that a match on bytes finds an address
//! or a port as it stands in a header.

use super::attribute::Place;
use tidegate_packet::{Frame, SCRATCH_LEN};

/// An offset behind the scratch area, for what has no place.
const NOWHERE: u8 = SCRATCH_LEN as u8;

/// An attribute of `N` bytes, which is the size that the module declares it with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot<const N: usize> {
    offset: u8,
}

impl<const N: usize> Slot<N> {
    /// The slot at `place`.
    pub const fn new(place: Place) -> Self {
        match place {
            Place::At(offset) => Self { offset },
            Place::Unwritten | Place::Unread | Place::NoRoom => Self { offset: NOWHERE },
        }
    }

    /// The value that `frame` carries.
    #[inline]
    pub fn read(self, frame: &Frame) -> [u8; N] {
        let start = usize::from(self.offset);
        let bytes = frame.scratch().get(start..start + N);
        bytes.and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; N])
    }

    /// Gives `frame` a value.
    #[inline]
    pub fn write(self, frame: &mut Frame, value: [u8; N]) {
        let start = usize::from(self.offset);
        if let Some(bytes) = frame.scratch_mut().get_mut(start..start + N) {
            bytes.copy_from_slice(&value);
        }
    }
}

macro_rules! number {
    ($size:literal, $number:ty) => {
        impl Slot<$size> {
            /// The value that `frame` carries, as a number.
            #[inline]
            pub fn read_number(self, frame: &Frame) -> $number {
                <$number>::from_be_bytes(self.read(frame))
            }

            /// Gives `frame` a number.
            #[inline]
            pub fn write_number(self, frame: &mut Frame, value: $number) {
                self.write(frame, value.to_be_bytes());
            }
        }
    };
}

number!(1, u8);
number!(2, u16);
number!(4, u32);
number!(8, u64);

/// An attribute whose size is known only when the module is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    offset: u8,
    size: u8,
}

impl Span {
    /// The span of `size` bytes at `place`; empty, if that is nowhere or reaches out of the scratch area.
    pub fn new(place: Place, size: u8) -> Self {
        let fits = |offset: &u8| usize::from(*offset) + usize::from(size) <= SCRATCH_LEN;
        match place.offset().filter(fits) {
            Some(offset) => Self { offset, size },
            None => Self { offset: 0, size: 0 },
        }
    }

    /// The value that `frame` carries; no bytes if the attribute has no place.
    #[inline]
    pub fn bytes(self, frame: &Frame) -> &[u8] {
        let start = usize::from(self.offset);
        frame.scratch().get(start..start + usize::from(self.size)).unwrap_or_default()
    }

    /// The value, to change.
    #[inline]
    pub fn bytes_mut(self, frame: &mut Frame) -> &mut [u8] {
        let start = usize::from(self.offset);
        frame.scratch_mut().get_mut(start..start + usize::from(self.size)).unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
