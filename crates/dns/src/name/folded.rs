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

/// Writes `src` with its ASCII letters in lower case to the beginning of `dst`. Both are equally long, or nothing
/// is written.
///
/// It may be a whole name in wire format: a length octet is at most 63, less than `A`. Where the length is no
/// multiple of a step the last step overlaps the one before; doing an octet twice does no harm.
#[inline]
pub fn fold(src: &[u8], dst: &mut [u8]) {
    if src.len() != dst.len() {
        return;
    }
    if let (Some(last), Some(to)) = (src.last_chunk::<16>(), dst.last_chunk_mut::<16>()) {
        *to = last.map(|octet| octet.to_ascii_lowercase());
        let chunks = dst.as_chunks_mut::<16>().0.iter_mut().zip(src.as_chunks::<16>().0);
        return chunks.for_each(|(to, from)| *to = from.map(|octet| octet.to_ascii_lowercase()));
    }
    if let (Some(first), Some(last)) = (src.first_chunk::<8>(), src.last_chunk::<8>()) {
        put_folded(dst.first_chunk_mut(), *first);
        return put_folded(dst.last_chunk_mut(), *last);
    }
    dst.iter_mut().zip(src).for_each(|(to, from)| *to = from.to_ascii_lowercase());
}

#[inline]
fn put_folded(to: Option<&mut [u8; 8]>, octets: [u8; 8]) {
    if let Some(to) = to {
        *to = fold_word(u64::from_le_bytes(octets)).to_le_bytes();
    }
}

/// Eight octets with their ASCII letters in lower case: bit 5 is set where an octet lies in `A..=Z`.
#[inline]
pub(crate) const fn fold_word(word: u64) -> u64 {
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
        if let Some(octets) = self.name.octets.get_mut(..name.wire_len()) {
            fold(name.as_wire(), octets);
            self.name.len = name.wire_len() as u8;
        }
        // Of what was read and not of what was written: reading back octets that are still on their way to
        // memory in other portions would wait for them.
        self.hash = hash_of(name);
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

/// The hash of a name, the same for both cases of a letter.
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

/// The word in lower case, by folded multiplication: both halves of the product count.
#[inline]
const fn mix(hash: u64, word: u64) -> u64 {
    let product = (hash ^ fold_word(word)) as u128 * 0x9e37_79b9_7f4a_7c15_u128;
    (product as u64 ^ (product >> 64) as u64).rotate_left(23)
}
