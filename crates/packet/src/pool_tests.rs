//! The chunk record under random orders of hand-over, and each refusal.
use super::*;
use crate::frame::FRESH_LEN_MAX;
use crate::memory::HeapMemory;
use proptest::prelude::*;

fn pool(chunk_count: usize) -> Pool {
    Pool::new(Box::new(HeapMemory::new(chunk_count * 2048)), 2048).unwrap()
}

#[test]
fn odd_chunk_size_is_refused() {
    let err = Pool::new(Box::new(HeapMemory::new(8192)), 3000).err();
    assert_eq!(err, Some(PoolError::ChunkSize(3000)));
}

#[test]
fn a_fresh_frame_has_the_whole_headroom() {
    let mut pool = pool(2);
    let mut frame = pool.alloc().unwrap();
    assert_eq!((frame.headroom(), frame.len(), frame.tailroom()), (256, 0, 2048 - 384));
    assert!(frame.extend(b"payload"));
    frame.push_front(3).unwrap().copy_from_slice(b"hdr");
    assert_eq!(frame.data(), b"hdrpayload");
    assert!(frame.pull_front(3));
    assert_eq!(frame.data(), b"payload");
    assert!(frame.push_front(257).is_none());
    assert!(!frame.pull_front(8));
    assert!(!frame.extend(&[0; 2048]));
    pool.free(frame);
}

#[test]
fn a_descriptor_that_comes_back_twice_is_ignored() {
    let mut pool = pool(1);
    let frame = pool.alloc().unwrap();
    let addr = pool.submit(frame).unwrap();
    assert!(pool.alloc().is_none());
    assert!(pool.complete(addr));
    assert!(!pool.complete(addr));
    assert!(pool.receive(addr, 10).is_none());
    assert_eq!(pool.free_count(), 1);
}

#[test]
fn a_descriptor_outside_the_pool_is_ignored() {
    let mut pool = pool(2);
    assert!(!pool.complete(ChunkAddr(u64::MAX)));
    assert!(pool.receive(ChunkAddr(1 << 40), 1).is_none());
}

#[test]
fn what_is_received_outside_the_chunk_is_ignored() {
    let mut pool = pool(5);
    let frames: Vec<Frame> = std::iter::from_fn(|| pool.alloc()).collect();
    for frame in frames {
        let chunk = u64::from(frame.index()) * 2048;
        let origin = pool.submit(frame).unwrap().0 - 256;
        assert!(pool.receive(ChunkAddr(chunk + 384), 1665).is_none());
        if origin > chunk {
            assert!(pool.receive(ChunkAddr(origin - 1), 64).is_none());
        }
        let frame = pool.receive(ChunkAddr(chunk + 384), 1664).unwrap();
        assert_eq!((frame.len(), frame.tailroom()), (1664, 0));
        assert!(frame.headroom() >= HEADROOM_LEN);
        pool.free(frame);
    }
}

#[test]
fn a_frame_that_is_out_is_counted_as_held() {
    let mut pool = pool(3);
    let frame = pool.alloc().unwrap();
    let retained = pool.alloc().unwrap();
    let kept = pool.retain(retained).unwrap();
    let seen = pool.occupancy();
    assert_eq!((seen.free_count, seen.held_count, seen.retained_count), (1, 1, 1));
    pool.free(frame);
    pool.release(kept);
    assert_eq!(pool.occupancy(), Occupancy { free_count: 3, ..Occupancy::default() });
}

#[test]
fn a_retained_chunk_is_lent_once_at_a_time() {
    let mut pool = pool(1);
    let mut frame = pool.alloc().unwrap();
    frame.extend(b"ready");
    let kept = pool.retain(frame).unwrap();
    let out = pool.lend(&kept).unwrap();
    assert_eq!(out.data(), b"ready");
    assert!(pool.lend(&kept).is_none());
    let addr = pool.submit(out).unwrap();
    assert!(pool.lend(&kept).is_none());
    assert!(pool.complete(addr));
    let again = pool.lend(&kept).unwrap();
    assert_eq!(again.data(), b"ready");
    pool.free(again);
    pool.release(kept);
    assert_eq!((pool.free_count(), pool.retained_count()), (1, 0));
}

#[test]
fn a_chunk_released_while_under_way_is_free_when_it_is_back() {
    let mut pool = pool(1);
    let frame = pool.alloc().unwrap();
    let kept = pool.retain(frame).unwrap();
    let out = pool.lend(&kept).unwrap();
    let addr = pool.submit(out).unwrap();
    pool.release(kept);
    assert_eq!(pool.free_count(), 0);
    assert!(pool.complete(addr));
    assert_eq!(pool.free_count(), 1);
}

#[test]
fn a_frame_of_another_pool_is_not_taken() {
    let (mut a, mut b) = (pool(1), pool(1));
    let (frame_a, frame_b) = (a.alloc().unwrap(), b.alloc().unwrap());
    b.free(frame_a);
    assert_eq!(b.free_count(), 0);
    b.free(frame_b);
    assert_eq!(b.free_count(), 1);
}

proptest! {
    #[test]
    fn no_chunk_is_lost_or_doubled(steps in proptest::collection::vec(0u8..8, 0..400)) {
        let mut pool = pool(8);
        let (mut held, mut out, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        for step in steps {
            match step {
                0 | 1 => held.extend(pool.alloc()),
                2 => if let Some(f) = held.pop() { pool.free(f) },
                3 => if let Some(f) = held.pop() { out.extend(pool.submit(f)) },
                4 => if let Some(a) = out.pop() { prop_assert!(pool.complete(a)) },
                5 => if let Some(a) = out.pop() { held.extend(pool.receive(a, 60)) },
                6 => if let Some(f) = held.pop() { kept.extend(pool.retain(f)) },
                _ => if let Some(k) = kept.pop() { pool.release(k) },
            }
            let mut chunks: Vec<u32> = held.iter().map(Frame::index).collect();
            chunks.sort_unstable();
            chunks.dedup();
            prop_assert_eq!(chunks.len(), held.len());
        }
        for k in kept { pool.release(k) }
        for f in held { pool.free(f) }
        for a in out { pool.complete(a); }
        prop_assert_eq!(pool.free_count(), 8);
    }
}

#[test]
fn a_renewed_frame_is_as_long_as_a_fresh_one_at_most() {
    let mut pool = pool(2);
    for _ in 0..2 {
        let mut frame = pool.alloc().unwrap();
        assert!(frame.extend(b"before") && frame.pull_front(3));
        assert_eq!(frame.renew(60).len(), 60);
        frame.renew(usize::MAX).fill(7);
        assert_eq!((frame.start(), frame.data()), (HEADROOM_LEN, &[7; FRESH_LEN_MAX][..]));
        assert_eq!(frame.tailroom(), 0);
    }
}
