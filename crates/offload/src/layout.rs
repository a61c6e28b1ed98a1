//! The words of a table: where everything is. crates/bpf/src/xdp/offload/abi.h says the same to the kernel; a test compares
//! the two.
//!
//! A table is pages of 64 KiB, each an element of an array map. It is read and written in words of 64 bits, in the machine's
//! byte order; several numbers in a word lie in its bits, the first in the lowest. Patterns and templates are bytes in words, as
//! they lie in memory.
//!
//! ```text
//!  page 0                 header | groups | first shape by length
//!  pages 1..3             shapes: 16 words each, chained by `next` from the header
//!  home pages             a word a rule id:   address | ticket << 32
//!  bucket pages           8 words a bucket:   address | tag << 32, 0 where there is nothing
//!  record pages           records, each within one page
//!
//!  record   0 hits
//!           1 expires      ns of CLOCK_MONOTONIC, 0: never
//!           2 generation | id << 32                                  generation 0: dead
//!           3 group | shape << 16 | rest offset << 32 | rest len << 48
//!           4 reply len | reply sum << 16 | copies << 32 | targets << 40 | words << 48
//!           5 template, key, rest, copies (from | to << 16 | len << 32), targets (id | is_group << 32)
//! ```
//! The address of a record is its place in the table in words; 0 is none. A reply of no bytes: matching requests are passed on.

use tidegate_base::Sum;

/// Bytes of a page: the value of the array map.
pub const PAGE_LEN: usize = 1 << PAGE_SHIFT;
pub(crate) const PAGE_SHIFT: usize = 16;
pub(crate) const PAGE_WORDS: usize = PAGE_LEN / 8;

/// What a table begins with: the layout's name and version.
pub(crate) const MAGIC: u64 = 0x5449_4445_4f46_4601;

pub(crate) const HEADER_MAGIC: usize = 0;
pub(crate) const HEADER_SEED: usize = 1;
/// Number of buckets | first of their pages << 32.
pub(crate) const HEADER_BUCKETS: usize = 2;
/// Number of homes | first of their pages << 32.
pub(crate) const HEADER_HOMES: usize = 3;
/// The first shape for requests of any length, plus 1.
pub(crate) const HEADER_ANY_LEN: usize = 4;
/// A word a group: the generation of its rules that are alive, 0 where all are dropped.
pub(crate) const HEADER_GROUPS: usize = 512;
/// A word a length of requests: the first shape for exactly this length, plus 1; 0 where there is none.
pub(crate) const HEADER_BY_LEN: usize = 1024;

pub(crate) const SHAPE_PAGE: usize = 1;
pub(crate) const SHAPE_PAGE_COUNT: usize = 2;
pub(crate) const SHAPE_WORDS: usize = 16;
pub(crate) const SHAPE_COUNT_MAX: usize = SHAPE_PAGE_COUNT * PAGE_WORDS / SHAPE_WORDS;
/// Regions | words of the key << 16 | least length of a request << 32 | next shape plus 1 << 48.
pub(crate) const SHAPE_HEAD: usize = 0;
/// Three words a region: anchor's value, its mask, offset | len << 16 | is_folded << 32.
pub(crate) const SHAPE_REGIONS: usize = 2;
pub(crate) const REGION_WORDS: usize = 3;

/// Shapes for one exact length, and shapes for any: as many are tried for a request.
pub const SHAPES_TRIED_MAX: [usize; 2] = [16, 32];

pub(crate) const HOME_PAGE: usize = SHAPE_PAGE + SHAPE_PAGE_COUNT;
pub(crate) const BUCKET_SLOTS: usize = 8;
pub(crate) const BUCKETS_A_PAGE: usize = PAGE_WORDS / BUCKET_SLOTS;

pub(crate) const RECORD_HITS: usize = 0;
pub(crate) const RECORD_EXPIRES: usize = 1;
pub(crate) const RECORD_LIFE: usize = 2;
pub(crate) const RECORD_PLACE: usize = 3;
pub(crate) const RECORD_REPLY: usize = 4;
pub(crate) const RECORD_BODY: usize = 5;
/// Header, template, key and rest with a word begun for each region and the rest, copies, targets.
pub(crate) const RECORD_WORDS_MAX: usize = RECORD_BODY + 184 + 184 + 5 + 16 + 8;
/// The kernel copies a template of at most so many bytes as one of as many, for its verifier to know the end.
const SHORT_TEMPLATE_LEN: usize = 256;

/// Where the last record of so many words may begin in a page, in words: behind its header there is room for a template of the
/// longest kind that it can have.
pub(crate) const fn record_start_max(words: usize) -> usize {
    let template_len =
        if words * 8 <= RECORD_BODY * 8 + SHORT_TEMPLATE_LEN { SHORT_TEMPLATE_LEN } else { 184 * 8 };
    let by_template = PAGE_WORDS - RECORD_BODY - template_len / 8;
    let by_len = PAGE_WORDS - words;
    if by_template < by_len { by_template } else { by_len }
}

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
const FINISHER: u64 = 0xbf58_476d_1ce4_e5b9;
const SECOND_BUCKET: u32 = 0x85eb_ca6b;

/// The hash of a key: its words, one after the other, into the seed, which is another one for each shape.
pub(crate) fn hash(seed: u64, shape: u16, key: impl IntoIterator<Item = u64>) -> Hash {
    let seed = seed.wrapping_mul(2 * u64::from(shape) + 1);
    let mixed = key.into_iter().fold(seed, |hash, word| {
        let product = (hash ^ word).wrapping_mul(MULTIPLIER);
        product ^ (product >> 32)
    });
    let product = (mixed ^ (mixed >> 29)).wrapping_mul(FINISHER);
    Hash(product ^ (product >> 32))
}

/// A key's hash: which two buckets, and by which tag it is told from others there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hash(u64);

impl Hash {
    pub(crate) fn tag(self) -> u32 {
        high(self.0)
    }

    pub(crate) fn buckets(self, count: u32) -> [usize; 2] {
        let reduced = |number: u32| ((u64::from(number) * u64::from(count)) >> 32) as usize;
        [reduced(low(self.0)), reduced(self.tag().wrapping_mul(SECOND_BUCKET))]
    }
}

/// `word` with its ASCII capitals made small.
pub(crate) fn folded(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let low_bits = word & (0x7f * EACH);
    // The highest bit of each byte: above 'Z', and from 'A' on.
    let above = low_bits + (0x7f - b'Z' as u64) * EACH;
    let from = low_bits + (0x80 - b'A' as u64) * EACH;
    let is_capital = (from ^ above) & !word & (0x80 * EACH);
    word | (is_capital >> 2)
}

/// The first `len` bytes of a word, as they lie in memory: all of them for 8 and more.
pub(crate) fn first_bytes(len: usize) -> u64 {
    match len {
        8.. => u64::MAX,
        _ if cfg!(target_endian = "little") => (1 << (8 * len)) - 1,
        0 => 0,
        _ => u64::MAX << (64 - 8 * len),
    }
}

/// Bytes as words; those that the last word lacks are zero.
pub(crate) fn words_of(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_ne_bytes(word)
    })
}

/// A sum as the kernel adds it: of words in the machine's byte order.
pub(crate) fn native_sum(sum: Sum) -> u16 {
    sum.fold().to_be()
}

pub(crate) const fn low(word: u64) -> u32 {
    word as u32
}

pub(crate) const fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

pub(crate) const fn pack32(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

pub(crate) const fn pack16(parts: [u16; 4]) -> u64 {
    parts[0] as u64 | (parts[1] as u64) << 16 | (parts[2] as u64) << 32 | (parts[3] as u64) << 48
}

pub(crate) const fn unpack16(word: u64) -> [u16; 4] {
    [word as u16, (word >> 16) as u16, (word >> 32) as u16, (word >> 48) as u16]
}

#[cfg(test)]
mod tests;
