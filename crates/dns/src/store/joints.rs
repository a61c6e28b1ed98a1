//! Where the records that a family of names shares are joined to each one's question: the pointers that move as it is
//! longer or shorter, and the labels that it must not have.
//!
//! ```text
//!   | sections | where pointers are, 16 bits each | where labels are, 16 bits each | pointers | labels | all labels |
//!                                                                                    16 bits    8        8
//! ```
//! Pointers are kept as they would be in an answer to the family's suffix itself. In an answer to a longer name all of
//! them lead so many octets further: the suffix does, and all that is behind it.
//!
//! A name in the sections that goes on from the suffix with the question's own next label would be written as a
//! pointer to that label, so that such questions (there are as many as such names) are none of the family's.
//!
//! Invariant: sections that [`Joints::fit`], once moved, are octet by octet what the answer engine writes.

use arrayvec::ArrayVec;
use tidegate_base::Sum;

use super::SECTIONS_LEN_MAX;
use crate::answer::Family;
use crate::message::{HEADER_LEN, Rtype, TARGET_COUNT_MAX};

/// Octets behind a record's owner: type, class, TTL and the length of its data.
const FIXED_LEN: usize = 10;
/// Octets behind the lists.
const TRAILER_LEN: usize = 4;
/// Pointers in sections at most: 13 servers with two addresses each need 52.
const POINTER_COUNT_MAX: usize = 256;
/// Labels below the suffix at most.
const CHILD_COUNT_MAX: usize = 64;
/// The bits that make a length octet a pointer's first.
const POINTER: u8 = 0xc0;

/// A list of offsets in sections, little-endian.
type Offsets = [[u8; 2]];

/// The joints of sections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joints<'a> {
    pointers: &'a Offsets,
    children: &'a Offsets,
    label_count: usize,
}

impl<'a> Joints<'a> {
    /// Parts what [`write`] wrote.
    #[inline]
    pub(crate) fn split(octets: &'a [u8]) -> Option<(&'a [u8], Self)> {
        let (rest, &[p0, p1, child_count, label_count]) = octets.split_last_chunk::<TRAILER_LEN>()?;
        let pointer_count = usize::from(u16::from_le_bytes([p0, p1]));
        let list_len = 2 * (pointer_count + usize::from(child_count));
        let (sections, lists) = rest.split_at_checked(rest.len().checked_sub(list_len)?)?;
        let (pointers, children) = lists.as_chunks().0.split_at_checked(pointer_count)?;
        Some((sections, Self { pointers, children, label_count: label_count.into() }))
    }

    /// Whether `sections` are the answer to `name`, which is of that family.
    #[inline]
    pub(crate) fn fit(&self, sections: &[u8], name: &[u8], family: &Family) -> bool {
        let child_end = name.len().saturating_sub(family.suffix_len.into());
        let child = name.get(family.child_at.into()..child_end).unwrap_or_default();
        let is_child = |at: usize| {
            sections.get(at..at + child.len()).is_some_and(|label| label.eq_ignore_ascii_case(child))
        };
        self.label_count + usize::from(family.label_count) <= TARGET_COUNT_MAX
            && !self.children.iter().any(|at| is_child(u16::from_le_bytes(*at).into()))
    }

    /// Has the pointers in `room`, a copy of `sections`, lead `shift` octets further; what that adds to its sum.
    #[inline]
    pub(crate) fn shift(&self, sections: &[u8], shift: u16, room: &mut [u8]) -> Sum {
        let mut odd_count = 0;
        for at in self.pointers {
            let at = usize::from(u16::from_le_bytes(*at));
            // Read from where it was copied from: the copy is still on its way to memory.
            if let (Some(from), Some(to)) = (sections.get(at..at + 2), room.get_mut(at..at + 2)) {
                let pointer = u16::from_be_bytes([from[0], from[1]]);
                to.copy_from_slice(&pointer.wrapping_add(shift).to_be_bytes());
            }
            odd_count += at & 1;
        }
        let times = |count: usize| Sum::of_u32(u32::from(shift) * count as u32);
        times(self.pointers.len() - odd_count) + times(odd_count).at_offset(1)
    }
}

/// Writes `sections`, which answer a name of `name_len` octets that is of `family` and have so many records in each
/// section, with their joints to the beginning of `out`; how long that is. `None` if they are no other name's answer, or
/// too long.
pub(crate) fn write(
    sections: &[u8],
    counts: [u16; 3],
    name_len: usize,
    family: &Family,
    out: &mut [u8; SECTIONS_LEN_MAX],
) -> Option<usize> {
    let shift = name_len.checked_sub(family.suffix_len.into())?;
    let mut found = Finder::new(name_len, family);
    found.read(sections, counts)?;
    if found.label_count + usize::from(family.label_count) > TARGET_COUNT_MAX {
        return None;
    }
    out.get_mut(..sections.len())?.copy_from_slice(sections);
    for at in &found.pointers {
        let pointer = out.get_mut(usize::from(*at)..)?.first_chunk_mut::<2>()?;
        *pointer = (u16::from_be_bytes(*pointer) - shift as u16).to_be_bytes();
    }
    let [p0, p1] = (found.pointers.len() as u16).to_le_bytes();
    let trailer = [p0, p1, found.children.len() as u8, found.label_count as u8];
    let offsets = found.pointers.iter().chain(&found.children).flat_map(|at| at.to_le_bytes());
    let mut end = sections.len();
    for octet in offsets.chain(trailer) {
        *out.get_mut(end)? = octet;
        end += 1;
    }
    Some(end)
}

/// What is found in the sections of an answer.
struct Finder {
    /// Where the family's suffix begins in the message.
    suffix_at: usize,
    is_suffix_root: bool,
    has_own_records: bool,
    pointers: ArrayVec<u16, POINTER_COUNT_MAX>,
    children: ArrayVec<u16, CHILD_COUNT_MAX>,
    /// Labels written out, which later names can point to.
    label_count: usize,
}

/// Whose name it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    AnswerOwner,
    Other,
}

impl Finder {
    fn new(name_len: usize, family: &Family) -> Self {
        Self {
            suffix_at: HEADER_LEN + name_len - usize::from(family.suffix_len),
            is_suffix_root: family.suffix_len == 1,
            has_own_records: family.is_of_wildcard(),
            pointers: ArrayVec::new(),
            children: ArrayVec::new(),
            label_count: 0,
        }
    }

    fn read(&mut self, sections: &[u8], [answers, authorities, additionals]: [u16; 3]) -> Option<()> {
        let mut at = 0;
        for _ in 0..answers {
            at = self.record(sections, at, Place::AnswerOwner)?;
        }
        for _ in 0..authorities + additionals {
            at = self.record(sections, at, Place::Other)?;
        }
        (at == sections.len()).then_some(())
    }

    /// Reads the record at `at`, as [`crate::message::Writer`] writes it; where it ends.
    fn record(&mut self, sections: &[u8], at: usize, owner: Place) -> Option<usize> {
        let fixed_at = self.name(sections, at, owner)?;
        let [t0, t1, _, _, _, _, _, _, l0, l1] = *sections.get(fixed_at..)?.first_chunk::<FIXED_LEN>()?;
        let data_at = fixed_at + FIXED_LEN;
        if let Some((prefix_len, name_count)) = Rtype(u16::from_be_bytes([t0, t1])).compressible_names() {
            let mut at = data_at + prefix_len;
            for _ in 0..name_count {
                at = self.name(sections, at, Place::Other)?;
            }
        }
        Some(data_at + usize::from(u16::from_be_bytes([l0, l1])))
    }

    fn name(&mut self, sections: &[u8], mut at: usize, place: Place) -> Option<usize> {
        let mut label_at = None;
        loop {
            match *sections.get(at)? {
                0 => {
                    let child = label_at.filter(|_| self.is_suffix_root);
                    child.into_iter().try_for_each(|at| self.children.try_push(at).ok())?;
                    return Some(at + 1);
                }
                len if len & POINTER == POINTER => {
                    self.pointer(sections, at, label_at, place)?;
                    return Some(at + 2);
                }
                len => {
                    label_at = Some(at as u16);
                    self.label_count += 1;
                    at += 1 + usize::from(len);
                }
            }
        }
    }

    /// A pointer behind the label at `label_at`, if any.
    fn pointer(&mut self, sections: &[u8], at: usize, label_at: Option<u16>, place: Place) -> Option<()> {
        let pointer = u16::from_be_bytes(*sections.get(at..)?.first_chunk()?);
        let target = usize::from(pointer & !(u16::from(POINTER) << 8));
        if target < self.suffix_at {
            // To the whole name asked for, as the owner of what a wildcard gives it; else to a part that is its own.
            let is_own = self.has_own_records && place == Place::AnswerOwner;
            return (is_own && target == HEADER_LEN && label_at.is_none()).then_some(());
        }
        self.pointers.try_push(at as u16).ok()?;
        let child = label_at.filter(|_| target == self.suffix_at);
        child.into_iter().try_for_each(|at| self.children.try_push(at).ok())
    }
}
