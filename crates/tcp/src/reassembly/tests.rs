//! Reassembly against a model that keeps a place for each byte.
use super::*;
use proptest::prelude::*;

const LEN: usize = 120;

fn byte_at(offset: usize) -> u8 {
    (offset * 7 + 3) as u8
}

/// Segments of a stream in any order, cut anyhow, some of them again and again.
fn pieces() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop::collection::vec(
        (0..LEN, 1..30usize).prop_map(|(start, len)| (start, (start + len).min(LEN))),
        1..60,
    )
}

proptest! {
    #[test]
    fn bytes_come_out_once_and_in_order(base: u32, pieces in pieces(), run_count_max in 1..8usize) {
        let base = SeqNumber(base);
        let mut reassembly = Reassembly::default();
        let mut known = [false; LEN];
        let mut delivered = Vec::new();
        for (start, end) in pieces {
            let bytes: Vec<u8> = (start..end).map(byte_at).collect();
            let nxt = delivered.len();
            if start <= nxt {
                let fresh = &bytes[(nxt - start).min(bytes.len())..];
                delivered.extend_from_slice(fresh);
                let (next, _) = reassembly
                    .take_in_order(base + delivered.len() as u32, &mut |bytes| delivered.extend_from_slice(bytes));
                prop_assert_eq!(next, base + delivered.len() as u32);
            } else if reassembly.insert(base + start as u32, &bytes, run_count_max) {
                known[start..end].fill(true);
            }
            known[..delivered.len()].fill(false);
            let contiguous = known[delivered.len()..].iter().take_while(|known| **known).count();
            prop_assert_eq!(contiguous, 0, "the next bytes are known, but were not delivered");
            reassembly.check_invariants(base + delivered.len() as u32, base + LEN as u32);
            let held: usize = reassembly.runs.iter().map(|run| run.bytes.len()).sum();
            prop_assert_eq!(held, known.iter().filter(|known| **known).count());
            prop_assert!(reassembly.runs.len() <= run_count_max);
        }
        prop_assert!(delivered.iter().enumerate().all(|(offset, byte)| *byte == byte_at(offset)));
    }
}

fn seq(n: u32) -> SeqNumber {
    SeqNumber(n)
}

#[test]
fn the_latest_run_is_reported_first() {
    let mut reassembly = Reassembly::default();
    for start in [10, 30, 20, 40] {
        reassembly.insert(seq(start), b"abc", 8);
    }
    reassembly.insert(seq(33), b"d", 8);
    let starts: Vec<u32> = reassembly.blocks(3).as_slice().iter().map(|block| block.start.0).collect();
    assert_eq!(starts, [30, 40, 20]);
}

#[test]
fn a_duplicate_is_reported_once_and_first() {
    let mut reassembly = Reassembly::default();
    reassembly.insert(seq(10), b"abcdef", 8);
    reassembly.insert(seq(12), b"cd", 8);
    let blocks = reassembly.blocks(4);
    let ranges: Vec<_> = blocks.as_slice().iter().map(|block| (block.start.0, block.end.0)).collect();
    assert_eq!(ranges, [(12, 14), (10, 16)]);
    assert!(!reassembly.on_reported(&blocks));
    assert_eq!(reassembly.blocks(4).as_slice().len(), 1);
}

#[test]
fn a_fin_waits_for_the_bytes_before_it() {
    let mut reassembly = Reassembly::default();
    reassembly.insert(seq(10), b"ab", 8);
    reassembly.insert_fin(seq(12));
    assert_eq!(reassembly.take_in_order(seq(9), &mut |_| panic!("a gap")), (seq(9), false));
    let mut got = Vec::new();
    assert_eq!(reassembly.take_in_order(seq(10), &mut |bytes| got.extend_from_slice(bytes)), (seq(12), true));
    assert!(reassembly.is_empty());
}

#[test]
fn known_bytes_are_not_overwritten() {
    let mut reassembly = Reassembly::default();
    reassembly.insert(seq(10), b"abc", 8);
    reassembly.insert(seq(8), b"XXXXXXX", 8);
    let mut got = Vec::new();
    reassembly.take_in_order(seq(8), &mut |bytes| got.extend_from_slice(bytes));
    assert_eq!(got, b"XXabcXX");
}

#[test]
fn what_one_report_has_no_room_for_is_in_the_next() {
    let mut reassembly = Reassembly::default();
    for n in 1..=5 {
        reassembly.insert(seq(10 * n), b"abc", 8);
    }
    let starts =
        |blocks: &SackBlocks| blocks.as_slice().iter().map(|block| block.start.0).collect::<Vec<_>>();
    let first = reassembly.blocks(3);
    assert_eq!(starts(&first), [50, 40, 30]);
    assert!(reassembly.on_reported(&first));
    let second = reassembly.blocks(3);
    assert_eq!(starts(&second), [20, 10, 50]);
    assert!(!reassembly.on_reported(&second));
    reassembly.insert(seq(33), b"d", 8);
    assert_eq!(starts(&reassembly.blocks(3)), [30, 50, 40]);
}
