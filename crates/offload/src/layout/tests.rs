//! Words and bytes, and the numbers that the kernel has.

use std::collections::BTreeMap;

use super::*;
use crate::rule::{
    COPY_COUNT_MAX, GROUP_COUNT, REGION_COUNT_MAX, REPLY_LEN_MAX, REQUEST_LEN_MAX, TARGET_COUNT_MAX,
};

#[test]
fn every_byte_folds_as_ascii_does() {
    for byte in 0..=u8::MAX {
        let bytes = [byte, b'A', byte, 0xff, byte, b'z', 0, byte];
        let small = bytes.map(|byte| byte.to_ascii_lowercase());
        assert_eq!(folded(u64::from_ne_bytes(bytes)).to_ne_bytes(), small, "{byte}");
    }
}

#[test]
fn masks_keep_the_first_bytes() {
    for len in 0..=9 {
        let mut bytes = [0; 8];
        bytes[..len.min(8)].fill(0xff);
        assert_eq!(first_bytes(len).to_ne_bytes(), bytes, "{len}");
    }
}

#[test]
fn buckets_are_in_the_table_and_tags_tell_keys_apart() {
    let hashes: Vec<Hash> = (0..1000).map(|word| hash(1, 0, [word])).collect();
    for count in [1, 3, 1000, 175_000] {
        assert!(hashes.iter().all(|hash| hash.buckets(count).iter().all(|bucket| *bucket < count as usize)));
    }
    let tags: std::collections::BTreeSet<_> = hashes.iter().map(|hash| hash.tag()).collect();
    assert_eq!(tags.len(), hashes.len());
}

#[test]
fn records_end_with_their_page() {
    for words in 6..=RECORD_WORDS_MAX {
        assert!(record_start_max(words) + words <= PAGE_WORDS);
    }
}

/// The macros of the program's header, as numbers where they are.
fn defined() -> BTreeMap<&'static str, u64> {
    let lines = include_str!("../../../bpf/src/xdp/offload/abi.h").lines();
    let number = |text: &str| {
        let text = text.split("/*").next()?.trim().trim_end_matches("ULL");
        text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok())
    };
    let define = |line: &'static str| {
        let (name, text) = line.strip_prefix("#define ")?.split_once(' ')?;
        Some((name.strip_prefix("TABLE_")?, number(text)?))
    };
    lines.filter_map(define).collect()
}

#[test]
fn the_program_has_the_same_numbers() {
    let expected = [
        ("MAGIC", MAGIC),
        ("PAGE_SHIFT", PAGE_SHIFT as u64),
        ("HEADER_SEED", HEADER_SEED as u64),
        ("HEADER_BUCKETS", HEADER_BUCKETS as u64),
        ("HEADER_HOMES", HEADER_HOMES as u64),
        ("HEADER_ANY_LEN", HEADER_ANY_LEN as u64),
        ("HEADER_GROUPS", HEADER_GROUPS as u64),
        ("HEADER_BY_LEN", HEADER_BY_LEN as u64),
        ("SHAPE_PAGE", SHAPE_PAGE as u64),
        ("SHAPE_COUNT_MAX", SHAPE_COUNT_MAX as u64),
        ("SHAPE_WORDS", SHAPE_WORDS as u64),
        ("SHAPE_REGIONS", SHAPE_REGIONS as u64),
        ("REGION_WORDS", REGION_WORDS as u64),
        ("REGION_COUNT_MAX", REGION_COUNT_MAX as u64),
        ("SHAPES_TRIED_MAX", SHAPES_TRIED_MAX.iter().sum::<usize>() as u64),
        ("BUCKET_SLOTS", BUCKET_SLOTS as u64),
        ("RECORD_EXPIRES", RECORD_EXPIRES as u64),
        ("RECORD_LIFE", RECORD_LIFE as u64),
        ("RECORD_PLACE", RECORD_PLACE as u64),
        ("RECORD_REPLY", RECORD_REPLY as u64),
        ("RECORD_BODY", RECORD_BODY as u64),
        ("SHORT_TEMPLATE_LEN", SHORT_TEMPLATE_LEN as u64),
        ("GROUP_COUNT", GROUP_COUNT.into()),
        ("REQUEST_LEN_MAX", REQUEST_LEN_MAX as u64),
        ("REPLY_LEN_MAX", REPLY_LEN_MAX as u64),
        ("COPY_COUNT_MAX", COPY_COUNT_MAX as u64),
        ("TARGET_COUNT_MAX", TARGET_COUNT_MAX as u64),
        ("MULTIPLIER", MULTIPLIER),
        ("FINISHER", FINISHER),
        ("SECOND_BUCKET", SECOND_BUCKET.into()),
    ];
    assert_eq!(defined(), expected.into());
}
