//! A time in a frame's data: a marker, so that a frame without a time is known for one, and nanoseconds.
//!
//! ```text
//!   offset     +4                      +12
//!   | 54c5be55 | nanoseconds, 64 bits  |        both in the byte order of BESS's machines: little-endian
//! ```

use tidegate_packet::Frame;

/// Bytes of a marker with its time.
pub(crate) const STAMP_LEN: usize = 12;

const MARKER: u32 = 0x54c5_be55;

/// Puts a time at `offset`; a frame that ends earlier grows. False, with nothing changed, if it cannot.
#[inline]
pub(crate) fn write_stamp(frame: &mut Frame, offset: usize, ns: u64) -> bool {
    let missing = (offset + STAMP_LEN).saturating_sub(frame.len());
    if missing > 0 {
        let Some(grown) = frame.push_back(missing) else { return false };
        grown.fill(0);
    }
    let Some(bytes) = frame.data_mut().get_mut(offset..).and_then(|rest| rest.first_chunk_mut::<STAMP_LEN>())
    else {
        return false;
    };
    bytes[..4].copy_from_slice(&MARKER.to_le_bytes());
    bytes[4..].copy_from_slice(&ns.to_le_bytes());
    true
}

/// The time at `offset`, if there is one. For whoever measures what a frame met on its way.
#[inline]
pub fn read_stamp(data: &[u8], offset: usize) -> Option<u64> {
    let [a, b, c, d, time @ ..] = data.get(offset..)?.first_chunk::<STAMP_LEN>()?;
    (u32::from_le_bytes([*a, *b, *c, *d]) == MARKER).then_some(u64::from_le_bytes(*time))
}
