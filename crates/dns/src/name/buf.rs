//! Names that own their octets: copied, put together from others, or read out of a compressed message.

use super::{LABEL_COUNT_MAX, LABEL_LEN_MAX, NAME_LEN_MAX, Name, NameError};
use core::borrow::Borrow;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

/// A name that owns its octets, without the heap: 256 bytes.
#[derive(Clone, Copy)]
pub struct NameBuf {
    pub(super) len: u8,
    pub(super) octets: [u8; NAME_LEN_MAX],
}

impl NameBuf {
    /// The root.
    #[inline]
    pub const fn new() -> Self {
        Self { len: 1, octets: [0; NAME_LEN_MAX] }
    }

    /// The name.
    #[inline]
    pub fn as_name(&self) -> &Name {
        // The range is there: `len` is at most 255.
        Name::wrap(self.octets.get(..usize::from(self.len)).unwrap_or_default())
    }

    /// Becomes `name`.
    #[inline]
    pub fn assign(&mut self, name: &Name) {
        if let Some(octets) = self.octets.get_mut(..name.wire_len()) {
            octets.copy_from_slice(&name.0);
            self.len = name.wire_len() as u8;
        }
    }

    /// `label` put before `parent`.
    pub fn child(label: &[u8], parent: &Name) -> Result<Self, NameError> {
        match label.len() {
            0 => return Err(NameError::EmptyLabel),
            1..=LABEL_LEN_MAX => {}
            _ => return Err(NameError::LabelTooLong),
        }
        let mut joined = Assembly::new();
        joined.push(&[label.len() as u8])?;
        joined.push(label)?;
        joined.finish_with(parent)
    }

    /// `*` put before `parent` (RFC 4592 section 2.1.1).
    pub fn wildcard_of(parent: &Name) -> Result<Self, NameError> {
        Self::child(b"*", parent)
    }

    /// `name` with its ancestor `from` exchanged for `to`, as a DNAME has it (RFC 6672 section 2.2). `None`
    /// if `name` is not below `from`.
    pub fn substitute(name: &Name, from: &Name, to: &Name) -> Option<Result<Self, NameError>> {
        if !name.is_below(from) {
            return None;
        }
        let prefix = name.0.get(..name.wire_len() - from.wire_len())?;
        let mut joined = Assembly::new();
        Some(joined.push(prefix).and_then(|()| joined.finish_with(to)))
    }

    /// The name that begins at `at` in `message`, its compression pointers followed; and where the message
    /// goes on behind it.
    ///
    /// A pointer may lead anywhere in the message: RFC 1035 section 4.1.4 has writers point back, and a
    /// reader need not insist. The octets read are bounded by the name's length and the pointers by
    /// [`POINTER_COUNT_MAX`], so that a loop ends.
    pub fn decompress(&mut self, message: &[u8], at: usize) -> Result<usize, NameError> {
        let mut joined = Assembly::new();
        let (mut at, mut end, mut pointers) = (at, None, 0);
        loop {
            let len = *message.get(at).ok_or(NameError::Unfinished)?;
            match len {
                0 => break,
                1..=63 => {
                    let next = at + 1 + usize::from(len);
                    joined.push(message.get(at..next).ok_or(NameError::Unfinished)?)?;
                    at = next;
                }
                64..=191 => return Err(NameError::NotALabel),
                192.. => {
                    let low = *message.get(at + 1).ok_or(NameError::Unfinished)?;
                    end = end.or(Some(at + 2));
                    at = usize::from(len & 0x3f) << 8 | usize::from(low);
                    pointers += 1;
                    if pointers > POINTER_COUNT_MAX || at >= message.len() {
                        return Err(NameError::BadPointer);
                    }
                }
            }
        }
        *self = joined.finish_with(Name::ROOT)?;
        Ok(end.unwrap_or(at + 1))
    }
}

/// Pointers that are followed for one name: one a label of the longest name is more than any writer needs.
pub const POINTER_COUNT_MAX: usize = LABEL_COUNT_MAX;

/// A name that is being put together from the left.
pub(super) struct Assembly {
    len: usize,
    octets: [u8; NAME_LEN_MAX],
}

impl Assembly {
    pub(super) const fn new() -> Self {
        Self { len: 0, octets: [0; NAME_LEN_MAX] }
    }

    /// Appends whole labels.
    pub(super) fn push(&mut self, labels: &[u8]) -> Result<(), NameError> {
        let end = self.len + labels.len();
        self.octets.get_mut(self.len..end).ok_or(NameError::TooLong)?.copy_from_slice(labels);
        self.len = end;
        Ok(())
    }

    pub(super) fn finish_with(mut self, tail: &Name) -> Result<NameBuf, NameError> {
        self.push(&tail.0)?;
        Ok(NameBuf { len: self.len as u8, octets: self.octets })
    }
}

impl Default for NameBuf {
    fn default() -> Self {
        Self::new()
    }
}

impl From<&Name> for NameBuf {
    #[inline]
    fn from(name: &Name) -> Self {
        let mut owned = Self::new();
        owned.assign(name);
        owned
    }
}

impl Deref for NameBuf {
    type Target = Name;
    #[inline]
    fn deref(&self) -> &Name {
        self.as_name()
    }
}

impl AsRef<Name> for NameBuf {
    fn as_ref(&self) -> &Name {
        self
    }
}

impl Borrow<Name> for NameBuf {
    fn borrow(&self) -> &Name {
        self
    }
}

impl PartialEq for NameBuf {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for NameBuf {}

impl Hash for NameBuf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl Ord for NameBuf {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(other)
    }
}

impl PartialOrd for NameBuf {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for NameBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl fmt::Debug for NameBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
