//! The same bytes into every frame of a batch.
//!
//! What it costs is stores: a processor finishes one or two a cycle. So short data goes in two that overlap, of 32 bytes
//! where the processor has such registers, and a header that says already what it shall is not written again.

use crate::batch::Batch;

/// Bytes of one store.
const BLOCK_LEN: usize = 32;

type Block = [u8; BLOCK_LEN];

impl Batch {
    /// Makes `bytes` the data of every frame, behind the full headroom; the first
    /// [`FRESH_LEN_MAX`](crate::FRESH_LEN_MAX), if there are more.
    #[inline]
    pub fn fill(&mut self, bytes: &[u8]) {
        match (bytes.first_chunk(), bytes.last_chunk()) {
            (Some(head), Some(tail)) if bytes.len() <= 2 * BLOCK_LEN => {
                fill_short(self, head, tail, bytes.len());
            }
            _ => self.iter_mut().for_each(|frame| {
                let data = frame.renew(bytes.len());
                data.copy_from_slice(&bytes[..data.len()]);
            }),
        }
    }
}

/// Data whose first and last block leave nothing out between them.
#[inline]
fn fill_short(batch: &mut Batch, head: &Block, tail: &Block, len: usize) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx") {
        // SAFETY: the processor has the feature.
        return unsafe { fill_by_avx(batch, head, tail, len) };
    }
    fill_by_blocks(batch, head, tail, len);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
fn fill_by_avx(batch: &mut Batch, head: &Block, tail: &Block, len: usize) {
    fill_by_blocks(batch, head, tail, len);
}

#[inline(always)]
fn fill_by_blocks(batch: &mut Batch, head: &Block, tail: &Block, len: usize) {
    let (head, tail) = (*head, *tail);
    for frame in batch.iter_mut() {
        let data = frame.renew(len);
        data.first_chunk_mut().into_iter().for_each(|place| *place = head);
        data.last_chunk_mut().into_iter().for_each(|place| *place = tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{FRESH_LEN_MAX, HEADROOM_LEN};
    use crate::memory::HeapMemory;
    use crate::pool::Pool;

    #[test]
    fn every_length_fills_every_frame() {
        let mut pool = Pool::new(Box::new(HeapMemory::new(8 * 2048)), 2048).unwrap();
        let bytes: Vec<u8> = (0..2000).map(|n| n as u8 ^ (n >> 8) as u8).collect();
        let mut batch = Batch::new();
        for len in (0..200).chain([1536, FRESH_LEN_MAX, 2000]) {
            pool.alloc_batch(8, 7, &mut batch);
            batch.iter_mut().take(3).for_each(|frame| assert!(frame.pull_front(3)));
            batch.fill(&bytes[..len]);
            let expected = &bytes[..len.min(FRESH_LEN_MAX)];
            assert!(batch.iter().all(|frame| (frame.start(), frame.data()) == (HEADROOM_LEN, expected)));
            pool.free_batch(&mut batch);
        }
    }
}
