//! Names as keys: letters in lower case, and a hash that grows label by label from the root.
//!
//! ```text
//!   hash(www.example.) = mix(hash(example.), "www")       hash(example.) = mix(hash(.), "example")
//! ```
//!
//! So one pass over a name gives the hashes of all its ancestors, which is what the search for the closest
//! zone and the closest encloser asks for ([`Folded::suffixes`]).
//!
//! Not a hash to be stored: its seed is drawn anew by each process, so that nobody who writes a zone can
//! make its names collide.

use core::hash::{BuildHasher, Hash, Hasher};
use std::hash::RandomState;
use std::sync::LazyLock;

use super::{LABEL_COUNT_MAX, NAME_LEN_MAX, Name, NameBuf};

/// The root's hash, secret.
static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(NAME_LEN_MAX));

/// Writes `src` with its ASCII letters in lower case to the beginning of `dst`; what does not fit is left out.
///
/// It may be a whole name in wire format: a length octet is at most 63, less than `A`.
#[inline]
pub fn fold(src: &[u8], dst: &mut [u8]) {
    let (chunks, tail) = src.as_chunks::<16>();
    let (dst_chunks, dst_tail) = dst.split_at_mut(dst.len().min(chunks.len() * 16));
    for (to, from) in dst_chunks.as_chunks_mut::<16>().0.iter_mut().zip(chunks) {
        *to = from.map(|octet| octet.to_ascii_lowercase());
    }
    fold_tail(tail, dst_tail);
}

/// Fewer than 16 octets: eight at once where there are so many, then one by one.
#[inline]
fn fold_tail(src: &[u8], dst: &mut [u8]) {
    let (words, tail) = src.as_chunks::<8>();
    let (dst_words, dst_tail) = dst.split_at_mut(dst.len().min(words.len() * 8));
    for (to, from) in dst_words.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *to = fold_word(u64::from_ne_bytes(*from)).to_ne_bytes();
    }
    for (to, from) in dst_tail.iter_mut().zip(tail) {
        *to = from.to_ascii_lowercase();
    }
}

/// Eight octets in one register: bit 5 is set where an octet lies in `A..=Z`.
#[inline]
const fn fold_word(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let seven_bits = word & (0x7f * ONES);
    let from_a = seven_bits + (0x80 - b'A' as u64) * ONES;
    let past_z = seven_bits + (0x7f - b'Z' as u64) * ONES;
    let upper = (from_a ^ past_z) & !word & (0x80 * ONES);
    word | upper >> 2
}

/// A name in lower case with its hash, owned.
#[derive(Clone, Copy, Debug)]
pub struct Folded {
    name: NameBuf,
    hash: u64,
}

/// A name in lower case with its hash, borrowed: what tables are searched by.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    name: &'a Name,
    hash: u64,
}

impl Folded {
    /// The root.
    #[inline]
    pub fn new() -> Self {
        Self { name: NameBuf::new(), hash: *SEED }
    }

    /// `name` in lower case.
    #[inline]
    pub fn of(name: &Name) -> Self {
        let mut folded = Self { name: NameBuf::new(), hash: 0 };
        folded.assign(name);
        folded
    }

    /// Becomes `name` in lower case.
    #[inline]
    pub fn assign(&mut self, name: &Name) {
        fold(name.as_wire(), &mut self.name.octets);
        self.name.len = name.wire_len() as u8;
        self.hash = hash_of(&self.name);
    }

    /// The name, in lower case.
    #[inline]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Its hash.
    #[inline]
    pub const fn hash(&self) -> u64 {
        self.hash
    }

    /// The same, borrowed.
    #[inline]
    pub fn key(&self) -> Key<'_> {
        Key { name: &self.name, hash: self.hash }
    }

    /// The root, then one label more each time, and the whole name last: each with its hash.
    #[inline]
    pub fn suffixes(&self) -> Suffixes<'_> {
        Suffixes::of(&self.name)
    }
}

impl Default for Folded {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Key<'a> {
    /// The name, in lower case.
    #[inline]
    pub const fn name(self) -> &'a Name {
        self.name
    }

    /// Its hash.
    #[inline]
    pub const fn hash(self) -> u64 {
        self.hash
    }
}

/// Octet by octet: both sides are in lower case.
impl PartialEq for Key<'_> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.name.as_wire() == other.name.as_wire()
    }
}

impl Eq for Key<'_> {}

impl Hash for Key<'_> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl PartialEq for Folded {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Folded {}

impl Hash for Folded {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// A name's ancestors from the root down.
#[derive(Clone, Debug)]
pub struct Suffixes<'a> {
    name: &'a Name,
    starts: [u8; LABEL_COUNT_MAX + 1],
    /// Labels to the left of what was given last; `None` before the root was.
    left: Option<usize>,
    count: usize,
    hash: u64,
}

impl<'a> Suffixes<'a> {
    /// `name` is in lower case.
    #[inline]
    fn of(name: &'a Name) -> Self {
        let (starts, count) = name.label_starts();
        Self { name, starts, left: None, count, hash: *SEED }
    }
}

impl<'a> Iterator for Suffixes<'a> {
    type Item = Key<'a>;

    #[inline]
    fn next(&mut self) -> Option<Key<'a>> {
        let Some(left) = self.left else {
            self.left = Some(self.count);
            return Some(Key { name: Name::ROOT, hash: self.hash });
        };
        let left = left.checked_sub(1)?;
        let start = *self.starts.get(left)?;
        self.left = Some(left);
        self.hash = hash_label(self.hash, self.name.label_at(start));
        Some(Key { name: self.name.tail_at(start), hash: self.hash })
    }
}

/// The hash of a name in lower case.
#[inline]
fn hash_of(name: &Name) -> u64 {
    let (starts, count) = name.label_starts();
    let labels = starts.iter().take(count).rev();
    labels.fold(*SEED, |hash, &start| hash_label(hash, name.label_at(start)))
}

/// The hash of `label` below a name of that hash. The label's length goes in first, so that the octets need
/// no end mark; the last ones may be read twice.
#[inline]
fn hash_label(parent: u64, label: &[u8]) -> u64 {
    let hash = parent ^ (label.len() as u64) << 56;
    if let (Some(first), Some(last)) = (label.first_chunk::<8>(), label.last_chunk::<8>()) {
        let (words, _) = label.get(8..).unwrap_or_default().as_chunks::<8>();
        let head = mix(hash, u64::from_le_bytes(*first));
        let body = words.iter().fold(head, |hash, word| mix(hash, u64::from_le_bytes(*word)));
        return mix(body, u64::from_le_bytes(*last));
    }
    mix(hash, short_word(label))
}

/// Up to seven octets as one word; with the length known, no two labels give the same.
#[inline]
fn short_word(label: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (label.first_chunk::<4>(), label.last_chunk::<4>()) {
        return u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last));
    }
    label.iter().fold(0, |word, octet| word << 8 | u64::from(*octet))
}

/// Folded multiplication: both halves of the product count.
#[inline]
const fn mix(hash: u64, word: u64) -> u64 {
    let product = (hash ^ word) as u128 * 0x9e37_79b9_7f4a_7c15_u128;
    (product as u64 ^ (product >> 64) as u64).rotate_left(23)
}
