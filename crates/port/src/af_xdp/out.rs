//! Which chunks of a UMEM a port has given to the kernel, so that they can be taken back when it is closed.

use tidegate_packet::ChunkAddr;
use tidegate_sys::xsk::Umem;

/// A set of chunks, a bit each. An address means the chunk that it lies in.
#[derive(Debug)]
pub(super) struct ChunkSet {
    size_shift: u32,
    words: Box<[u64]>,
}

impl ChunkSet {
    /// None of the chunks of `umem`.
    pub(super) fn of(umem: &Umem) -> Self {
        Self {
            size_shift: umem.chunk_size().trailing_zeros(),
            words: vec![0; umem.chunk_count().div_ceil(64)].into(),
        }
    }

    #[inline]
    const fn place(&self, chunk: ChunkAddr) -> (usize, u64) {
        let index = (chunk.0 >> self.size_shift) as usize;
        (index / 64, 1 << (index % 64))
    }

    /// Adds a chunk.
    #[inline]
    pub(super) fn insert(&mut self, chunk: ChunkAddr) {
        let (at, bit) = self.place(chunk);
        if let Some(word) = self.words.get_mut(at) {
            *word |= bit;
        }
    }

    /// Takes a chunk out.
    #[inline]
    pub(super) fn remove(&mut self, chunk: ChunkAddr) {
        let (at, bit) = self.place(chunk);
        if let Some(word) = self.words.get_mut(at) {
            *word &= !bit;
        }
    }

    /// The chunks that are in it.
    pub(super) fn iter(&self) -> impl Iterator<Item = ChunkAddr> + '_ {
        let bits = |(at, word): (usize, &u64)| {
            let (word, shift) = (*word, self.size_shift);
            let set = (0..64).filter(move |bit| word & (1 << bit) != 0);
            set.map(move |bit| ChunkAddr(((at * 64 + bit) as u64) << shift))
        };
        self.words.iter().enumerate().flat_map(bits)
    }
}
