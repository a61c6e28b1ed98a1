//! A ready answer as bytes: what stands behind the question in every answer to it.
//!
//! ```text
//!    0        8     10    12      14    16    18    20     22       23
//!   +--------+-----+-----+-------+-----+-----+-----+------+--------+------+-------------+----------+
//!   | hash   | len | sum | flags | an  | ns  | ar  | type | name's | bits | name, words | sections |
//!   +--------+-----+-----+-------+-----+-----+-----+------+--------+------+-------------+----------+
//!   <------------------------------- 24 octets ---------------------------> multiple of 8   len
//! ```
//! What a family of names has in common has the family's suffix and one word more for a name, and its joints behind
//! the sections ([`super::joints`]); they count in `len`, and not in `sum`.
//!
//! Everything is little-endian and at a fixed place, the name in lower case: the value of a map that a program
//! in the kernel can look up is a copy of this.
//!
//! Invariant: `line_count` lines, from the one an entry begins in, are its own.

use super::joints::Joints;
use super::key::{Key, WORD_LEN};
use tidegate_base::Sum;
use zerocopy::byteorder::little_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Octets in a line of the arena: a cache line.
pub(crate) const LINE_LEN: usize = 64;
const HEAD_LEN: usize = size_of::<Head>();

/// DNSSEC records were wanted.
const DNSSEC: u8 = 1;
/// It was asked for since the hand last came by.
const USED: u8 = 2;
/// Nothing is in these lines; `len` counts them.
const GAP: u8 = 4;
/// It is what a family of names has in common.
const COMMON: u8 = 8;

/// The octets before the name.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Head {
    hash: U64,
    len: U16,
    sum: U16,
    flags: U16,
    counts: [U16; 3],
    qtype: U16,
    name_len: u8,
    bits: u8,
}

/// The answer, authority and additional sections that answer a question, without OPT and TSIG. Names in them may
/// point into the question's name, which begins at offset 12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sections<'a> {
    /// The header's flags and rcode, without the bits that are the query's to choose.
    pub flags: u16,
    /// Records in the three sections.
    pub counts: [u16; 3],
    /// The records.
    pub octets: &'a [u8],
}

/// A ready answer that was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready<'a> {
    pub(crate) sections: Sections<'a>,
    /// The sum of the sections' octets, the first at an even offset.
    pub(crate) sum: Sum,
    /// The line it begins in: its number as long as it is there.
    pub(crate) line: u32,
}

impl Head {
    #[inline]
    pub(crate) const fn hash(&self) -> u64 {
        self.hash.get()
    }

    #[inline]
    pub(crate) const fn is_gap(&self) -> bool {
        self.bits & GAP != 0
    }

    /// Notes that it was asked for. It is written only if that is news, so that its line stays clean.
    #[inline]
    pub(crate) const fn mark_used(&mut self) {
        if self.bits & USED == 0 {
            self.bits |= USED;
        }
    }

    /// Whether it was asked for since this was asked last.
    pub(crate) const fn take_used(&mut self) -> bool {
        let was_used = self.bits & USED != 0;
        self.bits &= !USED;
        was_used
    }

    /// Lines from its first on that are its own.
    pub(crate) const fn line_count(&self) -> usize {
        let len = self.len.get() as usize;
        if self.is_gap() { len } else { line_count(self.name_len as usize, len) }
    }

    #[inline]
    const fn is_of(&self, key: &Key) -> bool {
        self.hash.get() == key.hash
            && self.qtype.get() == key.qtype
            && self.name_len == key.name_len
            && self.bits & !USED == bits_of(key)
    }
}

/// The bits of an entry that tell what it is.
#[inline]
const fn bits_of(key: &Key) -> u8 {
    (if key.wants_dnssec { DNSSEC } else { 0 }) | (if key.is_common { COMMON } else { 0 })
}

/// Lines that an entry takes.
pub(crate) const fn line_count(name_len: usize, sections_len: usize) -> usize {
    (HEAD_LEN + name_len.next_multiple_of(WORD_LEN) + sections_len).div_ceil(LINE_LEN)
}

/// The head of the entry at the beginning of `octets`.
#[inline]
pub(crate) fn head(octets: &mut [u8]) -> Option<&mut Head> {
    Head::mut_from_prefix(octets).ok().map(|(head, _)| head)
}

/// Whether the entry at the beginning of `octets` is the one for `key`, whose name is `words`.
#[inline]
pub(crate) fn is_for(octets: &[u8], key: &Key, words: &[u64]) -> bool {
    let Ok((head, rest)) = Head::ref_from_prefix(octets) else { return false };
    let (stored, _) = rest.as_chunks::<WORD_LEN>();
    head.is_of(key) && stored.iter().zip(words).all(|(octets, word)| u64::from_le_bytes(*octets) == *word)
}

/// The entry at the beginning of `octets`, which begins in `line`; it counts as used.
#[inline]
pub(crate) fn read(octets: &mut [u8], line: u32) -> Option<Ready<'_>> {
    let (head, rest) = Head::mut_from_prefix(octets).ok()?;
    head.mark_used();
    let start = usize::from(head.name_len).next_multiple_of(WORD_LEN);
    let sections = Sections {
        flags: head.flags.get(),
        counts: head.counts.map(U16::get),
        octets: rest.get(start..)?.get(..usize::from(head.len.get()))?,
    };
    Some(Ready { sections, sum: Sum::of_u16(head.sum.get()), line })
}

/// Writes an entry, which must fit, to the beginning of `octets`.
pub(crate) fn write(octets: &mut [u8], key: &Key, words: &[u64], sections: &Sections<'_>) -> Option<()> {
    let summed = if key.is_common { Joints::split(sections.octets)?.0 } else { sections.octets };
    let head = Head {
        hash: U64::new(key.hash),
        len: U16::new(u16::try_from(sections.octets.len()).ok()?),
        sum: U16::new(Sum::of(summed).fold()),
        flags: U16::new(sections.flags),
        counts: sections.counts.map(U16::new),
        qtype: U16::new(key.qtype),
        name_len: key.name_len,
        bits: bits_of(key),
    };
    let (to, rest) = octets.split_at_mut_checked(HEAD_LEN)?;
    to.copy_from_slice(head.as_bytes());
    let (name, rest) = rest.split_at_mut_checked(key.word_count() * WORD_LEN)?;
    for (to, word) in name.as_chunks_mut::<WORD_LEN>().0.iter_mut().zip(words) {
        *to = word.to_le_bytes();
    }
    rest.get_mut(..sections.octets.len())?.copy_from_slice(sections.octets);
    Some(())
}

/// Makes the `line_count` lines from the beginning of `octets` on a gap.
pub(crate) fn write_gap(octets: &mut [u8], line_count: usize) {
    let head = Head { len: U16::new(line_count as u16), bits: GAP, ..Head::default() };
    if let Some(to) = octets.get_mut(..HEAD_LEN) {
        to.copy_from_slice(head.as_bytes());
    }
}
