//! Domain names in wire format: a borrowed [`Name`], an owned [`NameBuf`], and the [`Folded`] form that keys
//! every table.
//!
//! ```text
//!   03 'W' 'w' 'w' 07 'e' 'x' 'a' 'm' 'p' 'l' 'e' 00      Www.example.
//!   \-- a label --/ \------- a label --------/ root
//! ```
//!
//! Not compressed names: a pointer is a matter of one message, and ends where that message is read.
//!
//! Invariant: the bytes of a [`Name`] are one whole name, so that a walk over its labels needs no check of
//! its own: each label has 1 to 63 octets, the root label comes last and only there, and there are at most
//! 255 octets in all (RFC 1035 section 3.1).
//!
//! Equality and order are those of the DNS: ASCII letters count the same in both cases (RFC 4343 section 3),
//! and the order is the canonical one (RFC 4034 section 6.1). Compare [`Name::as_wire`] for the very octets.

use core::cmp::Ordering;
use core::hash::{Hash, Hasher};
use ref_cast::{RefCastCustom, ref_cast_custom};
use thiserror::Error;

mod buf;
mod folded;
mod presentation;
#[cfg(test)]
mod tests;

pub use buf::{NameBuf, POINTER_COUNT_MAX};
pub(crate) use folded::fold_word;
pub use folded::{Folded, Key, Suffixes, fold};

/// Octets of the longest name, lengths and the root included (RFC 1035 section 2.3.4).
pub const NAME_LEN_MAX: usize = 255;
/// Octets of the longest label (RFC 1035 section 2.3.4).
pub const LABEL_LEN_MAX: usize = 63;
/// Labels of the longest name, without the root: 127 of one octet each.
pub const LABEL_COUNT_MAX: usize = 127;

/// Why bytes or text are no name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum NameError {
    /// The bytes end before the root label.
    #[error("the name ends before its root label")]
    Unfinished,
    /// More than 255 octets.
    #[error("the name is longer than {NAME_LEN_MAX} octets")]
    TooLong,
    /// More than 63 octets.
    #[error("a label is longer than {LABEL_LEN_MAX} octets")]
    LabelTooLong,
    /// A label without an octet before the last: two dots in a row.
    #[error("an empty label")]
    EmptyLabel,
    /// A compression pointer, or one of the reserved label types (RFC 6891 section 5).
    #[error("a compression pointer or a reserved label type where a label should be")]
    NotALabel,
    /// A pointer out of the message, or pointers that lead on and on.
    #[error("a compression pointer that leads to no name")]
    BadPointer,
    /// Octets after the root label.
    #[error("octets after the name's root label")]
    Trailing,
    /// `\` with neither a character nor three digits up to 255 behind it (RFC 1035 section 5.1).
    #[error("`\\` wants a character or three digits up to 255 behind it")]
    BadEscape,
}

/// A whole, uncompressed name in wire format.
#[derive(RefCastCustom)]
#[repr(transparent)]
pub struct Name([u8]);

impl Name {
    /// The root, `.`.
    pub const ROOT: &'static Self = Self::wrap(&[0]);

    #[ref_cast_custom]
    const fn wrap(wire: &[u8]) -> &Self;

    /// The name that `wire` is, no more and no less.
    pub fn from_wire(wire: &[u8]) -> Result<&Self, NameError> {
        match Self::split_from(wire)? {
            (name, []) => Ok(name),
            _ => Err(NameError::Trailing),
        }
    }

    /// The name at the beginning of `bytes`, and what is behind it.
    #[inline]
    pub fn split_from(bytes: &[u8]) -> Result<(&Self, &[u8]), NameError> {
        let mut at = 0;
        loop {
            let len = usize::from(*bytes.get(at).ok_or(NameError::Unfinished)?);
            at += 1 + len;
            if at > NAME_LEN_MAX {
                return Err(if len > LABEL_LEN_MAX { NameError::NotALabel } else { NameError::TooLong });
            }
            if len == 0 {
                break;
            }
            if len > LABEL_LEN_MAX {
                return Err(NameError::NotALabel);
            }
        }
        let (name, rest) = bytes.split_at_checked(at).ok_or(NameError::Unfinished)?;
        Ok((Self::wrap(name), rest))
    }

    /// Its octets, lengths and root label included.
    #[inline]
    pub const fn as_wire(&self) -> &[u8] {
        &self.0
    }

    /// Octets in wire format: 1 for the root, 255 at most.
    #[inline]
    pub const fn wire_len(&self) -> usize {
        self.0.len()
    }

    /// Whether it is `.`.
    #[inline]
    pub const fn is_root(&self) -> bool {
        self.0.len() <= 1
    }

    /// Its labels from the left, without the root's empty one.
    #[inline]
    pub const fn labels(&self) -> Labels<'_> {
        Labels { rest: &self.0 }
    }

    /// How many labels it has; the root is not counted (RFC 4034 section 3.1.3 counts alike, but for `*`).
    #[inline]
    pub fn label_count(&self) -> usize {
        self.labels().count()
    }

    /// The leftmost label; `None` for the root.
    #[inline]
    pub fn first_label(&self) -> Option<&[u8]> {
        self.labels().next()
    }

    /// The name without its leftmost label; `None` for the root.
    #[inline]
    pub fn parent(&self) -> Option<&Self> {
        let len = usize::from(*self.0.first()?);
        if len == 0 { None } else { self.0.get(1 + len..).map(Self::wrap) }
    }

    /// The name itself, its parent and so on, the root last.
    #[inline]
    pub fn ancestors(&self) -> impl Iterator<Item = &Self> {
        core::iter::successors(Some(self), |name| name.parent())
    }

    /// The name without its `count` leftmost labels; `None` if it has fewer.
    #[inline]
    pub fn skip_labels(&self, count: usize) -> Option<&Self> {
        self.ancestors().nth(count)
    }

    /// Whether it is `apex` or below it.
    #[inline]
    pub fn is_within(&self, apex: &Self) -> bool {
        self.tail_of_len(apex.wire_len()).is_some_and(|tail| tail == apex)
    }

    /// Whether it is below `apex`, and not `apex` itself.
    #[inline]
    pub fn is_below(&self, apex: &Self) -> bool {
        self.wire_len() > apex.wire_len() && self.is_within(apex)
    }

    /// Its ancestor of just so many octets, if it has one.
    #[inline]
    fn tail_of_len(&self, len: usize) -> Option<&Self> {
        let mut name = self;
        while name.wire_len() > len {
            name = name.parent()?;
        }
        (name.wire_len() == len).then_some(name)
    }

    /// Whether its leftmost label is `*` alone (RFC 4592 section 2.1.1).
    #[inline]
    pub fn is_wildcard(&self) -> bool {
        self.0.starts_with(b"\x01*")
    }

    /// The nearest name that is both this one's and `other`'s ancestor, or is one of the two.
    pub fn shared_ancestor(&self, other: &Self) -> &Self {
        self.ancestors().find(|ancestor| other.is_within(ancestor)).unwrap_or(Self::ROOT)
    }

    /// Where each label begins, from the left, without the root; and how many there are.
    #[inline]
    fn label_starts(&self) -> ([u8; LABEL_COUNT_MAX + 1], usize) {
        let mut starts = [0; LABEL_COUNT_MAX + 1];
        let (mut at, mut count) = (0, 0);
        while let (Some(&len @ 1..), Some(start)) = (self.0.get(at), starts.get_mut(count)) {
            // Cannot cut anything off: a name has 255 octets at most.
            *start = at as u8;
            count += 1;
            at += 1 + usize::from(len);
        }
        (starts, count)
    }

    /// The ancestor that begins at octet `start`, which is the start of a label.
    #[inline]
    fn tail_at(&self, start: u8) -> &Self {
        self.0.get(usize::from(start)..).map_or(Self::ROOT, Self::wrap)
    }

    /// The label that begins at octet `start`, without its length.
    #[inline]
    fn label_at(&self, start: u8) -> &[u8] {
        let rest = self.0.get(usize::from(start)..).unwrap_or_default();
        rest.split_first().and_then(|(len, label)| label.get(..usize::from(*len))).unwrap_or_default()
    }
}

/// RFC 4343 section 3: without regard to ASCII case. A length octet is no letter, so that whole names
/// compare octet by octet.
impl PartialEq for Name {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for Name {}

impl Hash for Name {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.iter().for_each(|octet| state.write_u8(octet.to_ascii_lowercase()));
    }
}

/// RFC 4034 section 6.1: by labels from the right, each in lower case and octet by octet, the shorter first.
impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        let ((ours, our_count), (theirs, their_count)) = (self.label_starts(), other.label_starts());
        for depth in 1..=our_count.min(their_count) {
            let (a, b) =
                (self.label_at(ours[our_count - depth]), other.label_at(theirs[their_count - depth]));
            let order = lower(a).cmp(lower(b));
            if order.is_ne() {
                return order;
            }
        }
        our_count.cmp(&their_count)
    }
}

fn lower(label: &[u8]) -> impl Iterator<Item = u8> {
    label.iter().map(u8::to_ascii_lowercase)
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl ToOwned for Name {
    type Owned = NameBuf;
    fn to_owned(&self) -> NameBuf {
        NameBuf::from(self)
    }
}

/// A name's labels from the left.
#[derive(Clone, Debug)]
pub struct Labels<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Labels<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let (len @ 1.., rest) = self.rest.split_first()? else { return None };
        let (label, rest) = rest.split_at_checked(usize::from(*len))?;
        self.rest = rest;
        Some(label)
    }
}
