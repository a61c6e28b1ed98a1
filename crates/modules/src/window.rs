//! A field of a frame as a number, read and written by one load and one store of eight bytes.
//!
//! ```text
//!   offset 3, size 3           offset 12, size 2
//!   0     3   6 8              6           12  14
//!   | | | |#|#|#| |            | | | | | | |#|#|        # the field, | the window: it ends where the field does,
//!   shift 16 bits              shift 0                    or starts where the frame does
//! ```
//! Invariant: the field lies in its window, and the window in every frame that holds the field and has eight bytes.

use crate::parameter::{FRAME_LEN_MAX, ParameterError, in_range};

const WORD_LEN: usize = 8;

/// A field of one to eight bytes, big-endian, at a fixed offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    start: u16,
    offset: u16,
    size: u8,
    shift: u8,
    /// The field's bits, before the shift.
    mask: u64,
}

impl Window {
    /// The field of `size` bytes at `offset`.
    pub(crate) fn new(offset: u64, size: u64) -> Result<Self, ParameterError> {
        in_range("a field's size in bytes", size, 1..=WORD_LEN as u64)?;
        if offset.saturating_add(size) > FRAME_LEN_MAX as u64 {
            return Err(ParameterError::BeyondFrame { offset, size });
        }
        let end = (offset + size) as usize;
        let start = end.saturating_sub(WORD_LEN);
        Ok(Self {
            start: start as u16,
            offset: offset as u16,
            size: size as u8,
            shift: ((start + WORD_LEN - end) * 8) as u8,
            mask: u64::MAX >> (64 - size * 8),
        })
    }

    /// The largest value of the field.
    pub(crate) const fn value_max(&self) -> u64 {
        self.mask
    }

    /// Where the field is: its offset and its size.
    pub(crate) const fn extent(&self) -> (usize, usize) {
        (self.offset as usize, self.size as usize)
    }

    /// `value`, if it fits.
    pub(crate) fn fit(&self, value: u64) -> Result<u64, ParameterError> {
        let size = usize::from(self.size);
        if value > self.mask { Err(ParameterError::TooLarge { value, size }) } else { Ok(value) }
    }

    /// The field's value in `data`; `None` if it ends earlier.
    #[inline]
    pub(crate) fn read(&self, data: &[u8]) -> Option<u64> {
        let start = usize::from(self.start);
        match data.get(start..start + WORD_LEN).and_then(|bytes| bytes.first_chunk()) {
            Some(word) => Some(u64::from_be_bytes(*word) >> self.shift & self.mask),
            None => self.read_bytes(data),
        }
    }

    /// Gives the field in `data` a value that fits; nothing happens if the frame ends earlier.
    #[inline]
    pub(crate) fn write(&self, data: &mut [u8], value: u64) {
        let start = usize::from(self.start);
        match data.get_mut(start..start + WORD_LEN).and_then(|bytes| bytes.first_chunk_mut()) {
            Some(word) => {
                let rest = u64::from_be_bytes(*word) & !(self.mask << self.shift);
                *word = (rest | value << self.shift).to_be_bytes();
            }
            None => self.write_bytes(data, value),
        }
    }

    /// In a frame of fewer than eight bytes.
    #[cold]
    fn read_bytes(&self, data: &[u8]) -> Option<u64> {
        let offset = usize::from(self.offset);
        let bytes = data.get(offset..offset + usize::from(self.size))?;
        Some(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    #[cold]
    fn write_bytes(&self, data: &mut [u8], value: u64) {
        let (offset, size) = (usize::from(self.offset), usize::from(self.size));
        if let Some(bytes) = data.get_mut(offset..offset + size) {
            bytes.copy_from_slice(&value.to_be_bytes()[WORD_LEN - size..]);
        }
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
