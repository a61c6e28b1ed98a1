//! A field of a frame as a number, read by one load of eight bytes, and written by stores of its own size.
//!
//! ```text
//!   offset 3, size 3           offset 12, size 2
//!   0     3   6 8              6           12  14
//!   | | | |#|#|#| |            | | | | | | |#|#|        # the field, | the window: it ends where the field does,
//!   shift 16 bits              shift 0                    or starts where the frame does
//! ```
//! Invariant: the field lies in its window, and the window in every frame that holds the field and has eight bytes.

use crate::parameter::{FRAME_LEN_MAX, ParameterError, in_range};
use tidegate_packet::Batch;

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

    /// Gives the field in every frame of a batch a value that fits, drawn for each; frames that end earlier stay as they are.
    /// No byte is read, so that nothing waits for what was written to a frame that lies alike in its page.
    #[inline]
    pub(crate) fn write_each(&self, batch: &mut Batch, value: impl FnMut() -> u64) {
        match self.size {
            1 => self.put_each::<1>(batch, value),
            2 => self.put_each::<2>(batch, value),
            3 => self.put_each::<3>(batch, value),
            4 => self.put_each::<4>(batch, value),
            5 => self.put_each::<5>(batch, value),
            6 => self.put_each::<6>(batch, value),
            7 => self.put_each::<7>(batch, value),
            _ => self.put_each::<WORD_LEN>(batch, value),
        }
    }

    #[inline]
    fn put_each<const N: usize>(&self, batch: &mut Batch, mut value: impl FnMut() -> u64) {
        let offset = usize::from(self.offset);
        for frame in batch.iter_mut() {
            let bytes = value().to_be_bytes();
            let place = frame.data_mut().get_mut(offset..offset + N);
            if let (Some(place), Some(bytes)) = (place, bytes.last_chunk::<N>()) {
                place.copy_from_slice(bytes);
            }
        }
    }

    /// In a frame of fewer than eight bytes.
    #[cold]
    fn read_bytes(&self, data: &[u8]) -> Option<u64> {
        let offset = usize::from(self.offset);
        let bytes = data.get(offset..offset + usize::from(self.size))?;
        Some(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
