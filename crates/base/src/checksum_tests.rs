//! Every shortcut against the plainest reading of RFC 1071.
use super::{Sum, update};
use proptest::prelude::*;

/// RFC 1071 section 1, word by word.
fn naive(bytes: &[u8]) -> u16 {
    let mut sum: u64 = 0;
    for pair in bytes.chunks(2) {
        sum += u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |b| u64::from(*b));
    }
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

/// Ones' complement has two zeros; both mean the same.
fn canonical(folded: u16) -> u16 {
    if folded == 0xffff { 0 } else { folded }
}

proptest! {
    #[test]
    fn sum_is_the_naive_sum(bytes in proptest::collection::vec(any::<u8>(), 0..4096)) {
        prop_assert_eq!(canonical(Sum::of(&bytes).fold()), canonical(naive(&bytes)));
    }

    #[test]
    fn parts_add_up_at_any_cut(bytes in proptest::collection::vec(any::<u8>(), 0..600), cut: prop::sample::Index) {
        let cut = cut.index(bytes.len() + 1);
        let (a, b) = bytes.split_at(cut);
        let sum = Sum::of(a) + Sum::of(b).at_offset(cut);
        prop_assert_eq!(canonical(sum.fold()), canonical(naive(&bytes)));
    }

    #[test]
    fn a_part_can_be_taken_out(a in proptest::collection::vec(any::<u8>(), 0..64), b in proptest::collection::vec(any::<u8>(), 0..64)) {
        let whole = Sum::of(&a) + Sum::of(&b);
        prop_assert_eq!(canonical(whole.without(Sum::of(&b)).fold()), canonical(Sum::of(&a).fold()));
    }

    #[test]
    fn incremental_update_is_a_full_sum(mut bytes in proptest::collection::vec(any::<u8>(), 20..60), at in 0usize..9, new: u16) {
        bytes.truncate(bytes.len() & !1);
        let check = Sum::of(&bytes).finish();
        let old = u16::from_be_bytes([bytes[at * 2], bytes[at * 2 + 1]]);
        bytes[at * 2..at * 2 + 2].copy_from_slice(&new.to_be_bytes());
        prop_assert_eq!(canonical(update(check, old, new)), canonical(Sum::of(&bytes).finish()));
    }

    #[test]
    fn words_sum_as_their_bytes(a: u16, b: u32) {
        prop_assert_eq!(Sum::of_u16(a).fold(), naive(&a.to_be_bytes()));
        prop_assert_eq!(canonical(Sum::of_u32(b).fold()), canonical(naive(&b.to_be_bytes())));
    }

    #[test]
    fn a_packet_with_its_checksum_is_valid(mut bytes in proptest::collection::vec(any::<u8>(), 2..80)) {
        bytes[0] = 0;
        bytes[1] = 0;
        let check = Sum::of(&bytes).finish();
        bytes[..2].copy_from_slice(&check.to_be_bytes());
        prop_assert!(Sum::of(&bytes).is_valid());
    }

    #[test]
    fn many_large_sums_do_not_overflow(n in 1usize..200_000) {
        let mut sum = Sum::ZERO;
        for _ in 0..n { sum += Sum(u32::MAX); }
        prop_assert_eq!(canonical(sum.fold()), 0);
    }
}

#[test]
fn rfc1071_example() {
    let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    assert_eq!(Sum::of(&bytes).fold(), 0xddf2);
}
