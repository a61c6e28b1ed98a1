//! Where the names of a message stand, so that later ones can point to them (RFC 1035 section 4.1.4).
//!
//! A list of offsets, each with a 16-bit tag of the name that begins there. A search compares tags first and
//! the octets only where a tag is the same. It is a list, and not a table, so that taking back what was written
//! since a mark is cutting it off.
//!
//! Names match without regard to case (RFC 4343 section 3), as in other servers: a record's owner then shows
//! the letters of the question.

use arrayvec::ArrayVec;

/// A pointer has 14 bits.
const OFFSET_MAX: usize = 0x3fff;
/// The two bits that say that it is a pointer.
const POINTER: u16 = 0xc000;
/// The same in a pointer's first octet.
const POINTER_OCTET: u8 = 0xc0;
/// Names that can be pointed to: a question of 34 labels, as under `ip6.arpa`, and thirty more. What comes then is
/// written out.
pub(crate) const TARGET_COUNT_MAX: usize = 64;

/// The names in a message that can be pointed to.
pub(super) struct Targets(ArrayVec<u32, TARGET_COUNT_MAX>);

impl Targets {
    #[inline]
    pub(super) const fn new() -> Self {
        Self(ArrayVec::new_const())
    }

    /// A pointer to `offset`, unless it is too far from the message's beginning.
    #[inline]
    pub(super) fn pointer_to(offset: usize) -> Option<u16> {
        (offset <= OFFSET_MAX).then_some(offset as u16 | POINTER)
    }

    #[inline]
    pub(super) const fn count(&self) -> usize {
        self.0.len()
    }

    /// Forgets all but the first `count`.
    #[inline]
    pub(super) fn truncate(&mut self, count: usize) {
        self.0.truncate(count);
    }

    /// Remembers that the name `tail` begins at `offset`.
    #[inline]
    pub(super) fn add(&mut self, offset: usize, tail: &[u8]) {
        if Self::pointer_to(offset).is_some() {
            // No room: a name that nothing will point to.
            let _ = self.0.try_push(u32::from(tag(tail)) << 16 | offset as u32);
        }
    }

    /// A pointer to `tail`, if it stands in `message`.
    #[inline]
    pub(super) fn find(&self, message: &[u8], tail: &[u8]) -> Option<u16> {
        let tag = tag(tail);
        let same_tag = self.0.iter().filter(|target| (**target >> 16) as u16 == tag);
        let mut offsets = same_tag.map(|target| *target as u16);
        offsets.find(|offset| is_at(message, usize::from(*offset), tail)).map(|offset| offset | POINTER)
    }
}

/// A number that is the same for names that are the same: of their first octets, without the bit that tells
/// cases apart, and of their length.
#[inline]
fn tag(name: &[u8]) -> u16 {
    let octets = name.first_chunk::<8>().map_or_else(|| short_word(name), |first| u64::from_le_bytes(*first));
    let caseless = octets | 0x2020_2020_2020_2020;
    ((caseless ^ (name.len() as u64) << 56).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as u16
}

#[inline]
fn short_word(octets: &[u8]) -> u64 {
    octets.iter().fold(0, |word, octet| word << 8 | u64::from(*octet))
}

/// Whether the name at `at` in `message`, its pointers followed, is `tail`. The pointers are our own, and lead
/// back; each label is compared before the next, so that the walk is no longer than `tail`.
#[inline]
fn is_at(message: &[u8], mut at: usize, mut tail: &[u8]) -> bool {
    while let Some(&len) = message.get(at) {
        if len >= POINTER_OCTET {
            let offset = usize::from(len & !POINTER_OCTET) << 8
                | usize::from(message.get(at + 1).copied().unwrap_or(0));
            if offset >= at {
                return false;
            }
            at = offset;
            continue;
        }
        let label_len = 1 + usize::from(len);
        let Some((ours, rest)) = tail.split_at_checked(label_len) else { return false };
        let theirs = message.get(at..at + label_len).unwrap_or_default();
        if !ours.eq_ignore_ascii_case(theirs) {
            return false;
        }
        if len == 0 {
            return true;
        }
        tail = rest;
        at += label_len;
    }
    false
}
