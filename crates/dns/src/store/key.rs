//! What a ready answer is found by: the question's name in lower case, its type, and whether DNSSEC records are
//! wanted.
//!
//! ```text
//!   www.Example.  ->  3 w w w 7 e x a | m p l e 0 . . .     eight octets a word, the last padded with zero
//!                     -------word---- | ------word-----     -> hash
//! ```
//! A name is read eight octets at a time; its length octets are below `A`, so that lower case is one step for a
//! whole word. The hash is of words, not of labels like that of [`crate::name::Folded`]: nobody asks for the
//! ancestors of a name that is in the store, and it is done in half the time.
//!
//! Invariant: two keys are equal exactly if their names are, octet by octet but for case, and their type and
//! their wish for DNSSEC records.

use crate::answer::Family;
use crate::name::fold_word;

/// Octets in a name at most, the root's included (RFC 1035 section 3.1).
pub(crate) const NAME_LEN_MAX: usize = 255;
/// Words that the longest name fills.
pub(crate) const NAME_WORD_COUNT_MAX: usize = NAME_LEN_MAX.div_ceil(WORD_LEN);
pub(crate) const WORD_LEN: usize = 8;

/// A name in lower case, as words.
pub(crate) type NameWords = [u64; NAME_WORD_COUNT_MAX];

/// A question, ready to be looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) hash: u64,
    pub(crate) qtype: u16,
    pub(crate) wants_dnssec: bool,
    pub(crate) name_len: u8,
    /// It is for all names of a family: of what they end with, and one word more that tells families apart.
    pub(crate) is_common: bool,
}

impl Key {
    /// The key of the name that ends where `octets` end and is `name_len` octets long; at least eight octets
    /// must stand before it or belong to it. The name in lower case goes to the first words of `words`.
    #[inline]
    pub(crate) fn new(
        seed: u64,
        octets: &[u8],
        name_len: usize,
        qtype: u16,
        wants_dnssec: bool,
        words: &mut NameWords,
    ) -> Option<Self> {
        let start = octets.len().checked_sub(name_len)?;
        let (whole, tail) = octets.get(start..)?.as_chunks::<WORD_LEN>();
        let last = match tail.len() {
            0 => None,
            // The octets before the tail, read with it, are shifted out.
            len => Some(u64::from_le_bytes(*octets.last_chunk()?) >> (8 * (WORD_LEN - len))),
        };
        let mut hash = seed ^ u64::from(qtype) << 16 ^ u64::from(wants_dnssec) << 8 ^ name_len as u64;
        let read = whole.iter().map(|octets| u64::from_le_bytes(*octets)).chain(last);
        for (to, word) in words.iter_mut().zip(read) {
            *to = fold_word(word);
            hash = mix(hash, *to);
        }
        let name_len = u8::try_from(name_len).ok()?;
        Some(Self { hash: mix(hash, seed), qtype, wants_dnssec, name_len, is_common: false })
    }

    /// The key of what `family` has in common, of which is the name that ends where `octets` end; eight octets at least
    /// must stand before it. `None` for a few suffixes that are too long.
    #[inline]
    pub(crate) fn of_family(
        seed: u64,
        octets: &[u8],
        family: &Family,
        wants_dnssec: bool,
        words: &mut NameWords,
    ) -> Option<Self> {
        let suffix = Self::new(seed, octets, family.suffix_len.into(), 0, wants_dnssec, words)?;
        let word_count = suffix.word_count();
        *words.get_mut(word_count)? = family.variant;
        let name_len = u8::try_from((word_count + 1) * WORD_LEN).ok()?;
        let hash = mix(mix(suffix.hash, family.variant), seed);
        Some(Self { hash, name_len, is_common: true, ..suffix })
    }

    /// How many words its name fills.
    #[inline]
    pub(crate) const fn word_count(&self) -> usize {
        (self.name_len as usize).div_ceil(WORD_LEN)
    }
}

/// Folded multiplication: both halves of the product count.
#[inline]
const fn mix(hash: u64, word: u64) -> u64 {
    let product = (hash ^ word) as u128 * 0x9e37_79b9_7f4a_7c15_u128;
    (product as u64) ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    //! That keys are equal exactly if their questions are.
    use super::*;
    use proptest::prelude::*;

    fn key(octets: &[u8]) -> (u64, Vec<u64>) {
        let mut message = vec![0xff; 12];
        message.extend_from_slice(octets);
        let mut words = [0; NAME_WORD_COUNT_MAX];
        let key = Key::new(7, &message, octets.len(), 1, false, &mut words).unwrap();
        (key.hash, words[..key.word_count()].to_vec())
    }

    proptest! {
        #[test]
        fn a_name_is_its_octets_in_lower_case(octets in proptest::collection::vec(any::<u8>(), 1..=NAME_LEN_MAX)) {
            let (hash, words) = key(&octets);
            let lower = octets.to_ascii_lowercase();
            let mut read: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            prop_assert!(read.split_off(octets.len()).iter().all(|octet| *octet == 0));
            prop_assert_eq!(&read, &lower);
            prop_assert_eq!(hash, key(&lower).0);
        }
    }

    #[test]
    fn type_and_dnssec_are_part_of_it() {
        let (octets, mut words) = (*b"0123456789\x03www\x00", [0; NAME_WORD_COUNT_MAX]);
        let mut hash = |qtype, dnssec| Key::new(7, &octets, 5, qtype, dnssec, &mut words).unwrap().hash;
        assert_ne!(hash(1, false), hash(28, false));
        assert_ne!(hash(1, false), hash(1, true));
    }
}
