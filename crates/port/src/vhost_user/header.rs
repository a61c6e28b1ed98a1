//! What comes before each frame on a virtio-net ring: what is left to do for it (virtio 1.3 section 5.1.6).
//!
//! ```text
//!   flags (u8) gso_type (u8) header_len gso_size csum_start csum_offset (u16 each) [num_buffers (u16)]
//! ```
//! The last field is there if buffers may be merged, or the driver is a modern one. Little-endian, as both sides' machine is.

use tidegate_base::checksum::Sum;

/// Bytes with the number of buffers, and without.
pub(super) const HEADER_LEN_MAX: usize = 12;
const HEADER_LEN_MIN: usize = 10;
/// The checksum is a sum over the pseudo header only.
const FLAG_NEEDS_CHECKSUM: u8 = 1;

/// A header's bytes under this set of features.
pub(super) const fn header_len(is_modern: bool, is_merging: bool) -> usize {
    if is_modern || is_merging { HEADER_LEN_MAX } else { HEADER_LEN_MIN }
}

/// The header of a frame that nothing is left to do for, in `buffer_count` buffers.
pub(super) fn emit(buffer_count: u16) -> [u8; HEADER_LEN_MAX] {
    let mut bytes = [0; HEADER_LEN_MAX];
    bytes[HEADER_LEN_MIN..].copy_from_slice(&buffer_count.to_le_bytes());
    bytes
}

/// A frame that cannot be made whole: it is to be cut into segments, which was not agreed, or its checksum is outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadHeader;

/// Does what the header says is left to do. Partial checksums are completed if that was agreed.
#[inline]
pub(super) fn finish(
    header: &[u8; HEADER_LEN_MAX],
    frame: &mut [u8],
    may_be_partial: bool,
) -> Result<(), BadHeader> {
    let [flags, gso_type, ..] = *header;
    if gso_type != 0 {
        return Err(BadHeader);
    }
    if flags & FLAG_NEEDS_CHECKSUM == 0 {
        return Ok(());
    }
    if !may_be_partial {
        return Err(BadHeader);
    }
    let number = |at: usize| usize::from(u16::from_le_bytes([header[at], header[at + 1]]));
    complete(frame, number(6), number(8))
}

/// Completes the checksum `offset` bytes behind `start`, over all from `start` on.
fn complete(frame: &mut [u8], start: usize, offset: usize) -> Result<(), BadHeader> {
    let covered = frame.get_mut(start..).ok_or(BadHeader)?;
    let checksum = Sum::of(covered).finish_udp();
    let field = covered.get_mut(offset..).and_then(|rest| rest.first_chunk_mut()).ok_or(BadHeader)?;
    *field = checksum.to_be_bytes();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header(flags: u8, gso_type: u8, start: u16, offset: u16) -> [u8; HEADER_LEN_MAX] {
        let mut bytes = emit(1);
        (bytes[0], bytes[1]) = (flags, gso_type);
        bytes[6..8].copy_from_slice(&start.to_le_bytes());
        bytes[8..10].copy_from_slice(&offset.to_le_bytes());
        bytes
    }

    #[test]
    fn a_complete_frame_is_left_as_it_is_and_a_large_one_refused() {
        let mut frame = *b"complete";
        assert_eq!(finish(&header(0, 0, 99, 99), &mut frame, false), Ok(()));
        assert_eq!(frame, *b"complete");
        assert_eq!(finish(&header(0, 1, 0, 0), &mut frame, true), Err(BadHeader));
        assert_eq!(finish(&header(FLAG_NEEDS_CHECKSUM, 0, 0, 0), &mut frame, false), Err(BadHeader));
    }

    proptest! {
        #[test]
        fn checksums_come_out_as_when_they_are_summed_whole(
            mut frame in proptest::collection::vec(any::<u8>(), 2..200),
            start: prop::sample::Index,
            offset: prop::sample::Index,
        ) {
            let start = start.index(frame.len() - 1);
            let offset = offset.index((frame.len() - start).max(2) - 1) & !1;
            prop_assume!(start + offset + 2 <= frame.len());
            let pseudo = u16::from_be_bytes([frame[start + offset], frame[start + offset + 1]]);
            finish(&header(FLAG_NEEDS_CHECKSUM, 0, start as u16, offset as u16), &mut frame, true).unwrap();
            // What stood in the field is the pseudo header's sum: as who receives the frame adds it.
            prop_assert!((Sum::of(&frame[start..]) + Sum::of_u16(pseudo)).is_valid());
            prop_assert_ne!(&frame[start + offset..][..2], [0, 0]);
        }

        #[test]
        fn places_outside_are_refused(len in 0_usize..80, start: u16, offset: u16) {
            let mut frame = vec![1; len];
            let is_inside = usize::from(start) + usize::from(offset) + 2 <= len;
            let finished = finish(&header(FLAG_NEEDS_CHECKSUM, 0, start, offset), &mut frame, true);
            prop_assert_eq!(finished.is_ok(), is_inside);
        }
    }
}
