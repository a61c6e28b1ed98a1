//! Keyed hashes: one that an attacker must not predict (SipHash, for initial sequence numbers and
//! SYN cookies), and one that must be quick and still not be flooded (for flow tables).

use core::hash::{BuildHasher, Hash, Hasher};
use siphasher::sip::SipHasher24;

/// 128 secret bits.
#[derive(Clone, Copy)]
pub struct HashKey([u8; 16]);

impl HashKey {
    /// A key from bytes that the caller drew at random.
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// SipHash-2-4 of `value` under this key.
    pub fn hash(&self, value: &impl Hash) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        value.hash(&mut hasher);
        hasher.finish()
    }
}

/// Builds the hasher of flow tables: two multiplications a word under a random seed.
///
/// A flow's addresses and ports are chosen by the peer, so the seed must be secret; the mixing is
/// that of folded multiplication, enough against a peer who cannot see the hash.
#[derive(Clone, Copy)]
pub struct FlowHasher {
    seed: u64,
}

impl FlowHasher {
    /// A hasher with a seed that the caller drew at random.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }
}

impl BuildHasher for FlowHasher {
    type Hasher = FlowState;
    #[inline]
    fn build_hasher(&self) -> FlowState {
        FlowState(self.seed)
    }
}

/// A flow hash under way.
pub struct FlowState(u64);

impl FlowState {
    #[inline]
    fn mix(&mut self, word: u64) {
        let product =
            u128::from(self.0 ^ word) * u128::from(0x9e37_79b9_7f4a_7c15_u64 ^ self.0.rotate_left(23) | 1);
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }
}

impl Hasher for FlowState {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_ne_bytes(word));
        }
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.mix(u64::from(word));
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }

    #[inline]
    fn write_u128(&mut self, word: u128) {
        self.mix(word as u64);
        self.mix((word >> 64) as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
