//! What a rule of [`Exact`](crate::Exact) or [`Wildcard`](crate::Wildcard) compares: up to eight fields of one to
//! eight bytes, laid into one, two, four or eight words so that no field crosses a word. Two fields of four bytes
//! are compared as one `u64`.
//!
//! Where a field's value comes from, a packet's bytes or an attribute, is the module's business: it hands in
//! numbers. Keys are filled a field at a time for the whole batch.

use crate::BATCH_LEN_MAX;
use thiserror::Error;

/// The most fields of a key.
const FIELD_COUNT_MAX: usize = 8;
/// The most words of a key: a field of eight bytes takes one.
const WORD_COUNT_MAX: usize = 8;

/// A field: its size and the bits of it that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Bytes, 1 to 8.
    pub size: u8,
    /// The bits that are compared.
    pub mask: u64,
}

impl Field {
    /// A field of `size` bytes, all of which count.
    pub const fn new(size: u8) -> Self {
        Self { size, mask: all_bits(size) }
    }
}

const fn all_bits(size: u8) -> u64 {
    match size {
        0 => 0,
        1..=7 => (1 << (size * 8)) - 1,
        _ => u64::MAX,
    }
}

/// Why fields make no key.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum FieldError {
    /// None, or more than eight.
    #[error("{count} fields: give 1 to {FIELD_COUNT_MAX}")]
    Count {
        /// How many were given.
        count: usize,
    },
    /// A size that no field has.
    #[error("field {field} has {size} bytes: give 1 to 8")]
    Size {
        /// Its place in the list.
        field: usize,
        /// Its size.
        size: u8,
    },
    /// A mask with more bits than the field.
    #[error("the mask {mask:#x} of field {field} is wider than its {size} bytes")]
    Mask {
        /// Its place in the list.
        field: usize,
        /// Its size in bytes.
        size: u8,
        /// The mask.
        mask: u64,
    },
}

/// Why a table does not take a rule, or does not find it.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum MatchError {
    /// Not one value for each field.
    #[error("{given} values for {expected} fields: give one for each")]
    Count {
        /// How many were given.
        given: usize,
        /// How many fields there are.
        expected: usize,
    },
    /// A value that its field cannot have.
    #[error("the value {value:#x} of field {field} is wider than its {size} bytes")]
    Value {
        /// The field's place in the list.
        field: usize,
        /// The field's size in bytes.
        size: u8,
        /// The value.
        value: u64,
    },
    /// A value with bits that its mask hides.
    #[error(
        "the value {value:#x} of field {field} has bits outside the mask {mask:#x}: no packet would match"
    )]
    Hidden {
        /// The field's place in the list.
        field: usize,
        /// The value.
        value: u64,
        /// The mask.
        mask: u64,
    },
    /// A deletion of what is not there.
    #[error("no such rule to delete")]
    NoSuchRule,
}

/// Where a field lies in a key.
#[derive(Clone, Copy, Debug)]
struct Place {
    field: Field,
    word: usize,
    shift: u32,
}

/// The fields of a table's keys and where each lies.
#[derive(Clone, Debug)]
pub struct Fields {
    places: Vec<Place>,
    word_count: usize,
}

impl Fields {
    /// Lays `fields` out: the largest first, each into the first word with room for it.
    pub fn new(fields: &[Field]) -> Result<Self, FieldError> {
        if fields.is_empty() || fields.len() > FIELD_COUNT_MAX {
            return Err(FieldError::Count { count: fields.len() });
        }
        for (index, field) in fields.iter().enumerate() {
            check(index, *field)?;
        }
        let mut places: Vec<_> =
            fields.iter().map(|field| Place { field: *field, word: 0, shift: 0 }).collect();
        let mut order: Vec<usize> = (0..fields.len()).collect();
        order.sort_by_key(|index| core::cmp::Reverse(fields[*index].size));
        let mut used = [0; WORD_COUNT_MAX];
        for index in order {
            let size = u32::from(fields[index].size);
            // As many words as there may be fields: one has room.
            let word = used.iter().position(|used| used + size <= 8).unwrap_or(WORD_COUNT_MAX - 1);
            (places[index].word, places[index].shift) = (word, used[word] * 8);
            used[word] += size;
        }
        let words = used.iter().filter(|used| **used != 0).count();
        Ok(Self { places, word_count: words.next_power_of_two() })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none; there is always one.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The field at `index` of the list that was given.
    pub fn field(&self, index: usize) -> Option<Field> {
        self.places.get(index).map(|place| place.field)
    }

    /// How many words a key has: 1, 2, 4 or 8.
    pub const fn word_count(&self) -> usize {
        self.word_count
    }

    /// Puts the value of field `field` into the keys of a batch: `value(i)` is that of packet `i`, of which bits
    /// beyond the field's mask do not count. A field that is not there changes nothing.
    #[inline]
    pub fn fill(&self, keys: &mut Keys, field: usize, mut value: impl FnMut(usize) -> u64) {
        let Some(Place { field, word, shift }) = self.places.get(field).copied() else { return };
        for (index, key) in keys.words.chunks_exact_mut(keys.stride).take(keys.len).enumerate() {
            key[word] |= (value(index) & field.mask) << shift;
        }
    }

    /// One key of `values`, each cut to its field's mask.
    pub(crate) fn key<const N: usize>(&self, values: &[u64]) -> Result<[u64; N], MatchError> {
        self.check(values)?;
        Ok(self.lay(values.iter().zip(&self.places).map(|(value, place)| value & place.field.mask)))
    }

    /// The mask of a rule that compares `masks` of each field.
    pub(crate) fn mask<const N: usize>(&self, masks: &[u64]) -> Result<[u64; N], MatchError> {
        self.key(masks)
    }

    /// That no value has bits outside its mask.
    pub(crate) fn check_hidden(&self, values: &[u64], masks: &[u64]) -> Result<(), MatchError> {
        self.check(values)?;
        self.check(masks)?;
        let pairs = values.iter().zip(masks).enumerate();
        match pairs.into_iter().find(|(_, (value, mask))| *value & !*mask != 0) {
            Some((field, (value, mask))) => Err(MatchError::Hidden { field, value: *value, mask: *mask }),
            None => Ok(()),
        }
    }

    fn check(&self, values: &[u64]) -> Result<(), MatchError> {
        if values.len() != self.places.len() {
            return Err(MatchError::Count { given: values.len(), expected: self.places.len() });
        }
        for (index, (value, place)) in values.iter().zip(&self.places).enumerate() {
            let size = place.field.size;
            if value & !all_bits(size) != 0 {
                return Err(MatchError::Value { field: index, size, value: *value });
            }
        }
        Ok(())
    }

    fn lay<const N: usize>(&self, values: impl Iterator<Item = u64>) -> [u64; N] {
        let mut key = [0; N];
        for (value, place) in values.zip(&self.places) {
            key[place.word] |= value << place.shift;
        }
        key
    }
}

fn check(index: usize, field: Field) -> Result<(), FieldError> {
    let Field { size, mask } = field;
    if !(1..=8).contains(&size) {
        return Err(FieldError::Size { field: index, size });
    }
    if mask & !all_bits(size) != 0 {
        return Err(FieldError::Mask { field: index, size, mask });
    }
    Ok(())
}

/// The keys of a batch, one behind the other. Kept by the module and used again for each batch.
pub struct Keys {
    words: [u64; WORD_COUNT_MAX * BATCH_LEN_MAX],
    stride: usize,
    len: usize,
}

impl Keys {
    /// No keys yet, of the form of `fields`.
    pub const fn new(fields: &Fields) -> Self {
        Self { words: [0; WORD_COUNT_MAX * BATCH_LEN_MAX], stride: fields.word_count, len: 0 }
    }

    /// Makes them `len` keys (32 at most) of zeros, ready to be filled.
    #[inline]
    pub fn reset(&mut self, len: usize) {
        self.len = len.min(BATCH_LEN_MAX);
        self.words[..self.len * self.stride].fill(0);
    }

    /// How many keys there are.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The keys as rows of `N` words; none if they are not of that size.
    #[inline]
    pub(crate) fn rows<const N: usize>(&self) -> &[[u64; N]] {
        debug_assert_eq!(self.stride, N, "keys that were made for other fields");
        let len = if self.stride == N { self.len } else { 0 };
        &self.words.as_chunks().0[..len]
    }
}

#[cfg(test)]
#[path = "fields_tests.rs"]
mod tests;
