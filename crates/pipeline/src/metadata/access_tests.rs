//! Values in a frame: byte order, absence, and what lies beside them.
use super::*;
use proptest::prelude::*;
use tidegate_packet::{HeapMemory, Pool};

const ABSENT: [Place; 3] = [Place::Unwritten, Place::Unread, Place::NoRoom];

/// Calls `f` with a frame whose scratch area is all 0xee.
fn with_frame<R>(f: impl FnOnce(&mut Frame) -> R) -> R {
    let mut pool = Pool::new(Box::new(HeapMemory::new(2048)), 2048).unwrap();
    let mut frame = pool.alloc().unwrap();
    frame.scratch_mut().fill(0xee);
    let result = f(&mut frame);
    pool.free(frame);
    result
}

#[test]
fn a_number_is_big_endian() {
    with_frame(|frame| {
        let slot = Slot::<4>::new(Place::At(8));
        slot.write_number(frame, 0x0a00_0001);
        assert_eq!(frame.scratch()[8..12], [10, 0, 0, 1]);
        assert_eq!(slot.read(frame), [10, 0, 0, 1]);
        assert_eq!(slot.read_number(frame), 0x0a00_0001);
        Slot::<2>::new(Place::At(12)).write_number(frame, 443);
        assert_eq!(frame.scratch()[12..15], [1, 0xbb, 0xee]);
        Slot::<8>::new(Place::At(16)).write_number(frame, 1);
        assert_eq!(Slot::<8>::new(Place::At(16)).read_number(frame), 1);
        Slot::<1>::new(Place::At(127)).write_number(frame, 7);
        assert_eq!(Slot::<1>::new(Place::At(127)).read_number(frame), 7);
    });
}

#[test]
fn what_has_no_place_reads_as_zeros_and_writes_nothing() {
    with_frame(|frame| {
        for place in ABSENT {
            let slot = Slot::<6>::new(place);
            slot.write(frame, [1; 6]);
            assert_eq!(slot.read(frame), [0; 6]);
            let span = Span::new(place, 6);
            assert_eq!(span.bytes(frame), [0; 0]);
            assert_eq!(span.bytes_mut(frame), [0; 0]);
        }
        assert_eq!(frame.scratch(), &[0xee; SCRATCH_LEN]);
    });
}

#[test]
fn a_span_lends_exactly_its_bytes() {
    with_frame(|frame| {
        let span = Span::new(Place::At(96), 32);
        span.bytes_mut(frame).fill(1);
        assert_eq!(span.bytes(frame), [1; 32]);
        assert_eq!(frame.scratch()[..96], [0xee; 96]);
    });
}

proptest! {
    #[test]
    fn an_access_stays_in_its_bytes(offset: u8, value: [u8; 5], size: u8) {
        with_frame(|frame| {
            let slot = Slot::<5>::new(Place::At(offset));
            slot.write(frame, value);
            let fits = usize::from(offset) + 5 <= SCRATCH_LEN;
            assert_eq!(slot.read(frame), if fits { value } else { [0; 5] });
            let touched = |at: usize| fits && (usize::from(offset)..usize::from(offset) + 5).contains(&at);
            assert!((0..SCRATCH_LEN).all(|at| touched(at) || frame.scratch()[at] == 0xee));
            let span = Span::new(Place::At(offset), size).bytes(frame).len();
            let inside = usize::from(offset) + usize::from(size) <= SCRATCH_LEN;
            assert_eq!(span, if inside { usize::from(size) } else { 0 });
        });
    }
}
