//! Both kinds of wire: order, loss, back pressure, ownership.

use proptest::prelude::*;
use tidegate_packet::{Batch, HeapMemory, Pool};
use tidegate_sys::event::{Interest, poll};

use super::*;
use crate::Port;

fn pool(chunk_count: usize) -> Pool {
    Pool::new(Box::new(HeapMemory::new(chunk_count * 2048)), 2048).unwrap()
}

fn batch(pool: &mut Pool, frames: &[&[u8]]) -> Batch {
    let mut batch = Batch::new();
    for bytes in frames {
        let mut frame = pool.alloc().unwrap();
        assert!(frame.extend(bytes));
        batch.push(frame).unwrap();
    }
    batch
}

fn take(port: &mut impl Port, pool: &mut Pool) -> Vec<Vec<u8>> {
    let mut batch = Batch::new();
    port.rx(pool, &mut batch);
    let frames = batch.iter().map(|frame| frame.data().to_vec()).collect();
    batch.drain().for_each(|frame| pool.free(frame));
    frames
}

#[test]
fn moved_frames_cross_both_ways_in_the_same_pool() {
    let mut pool = pool(8);
    let (mut left, mut right) = joined_by_move(4, 1514);
    let mut out = batch(&mut pool, &[b"one", b"two"]);
    left.tx(&mut pool, &mut out);
    let mut back = batch(&mut pool, &[b"three"]);
    right.tx(&mut pool, &mut back);
    assert_eq!(take(&mut right, &mut pool), [b"one", b"two"]);
    assert_eq!(take(&mut left, &mut pool), [b"three"]);
    assert_eq!(pool.free_count(), 8);
}

#[test]
fn moved_frames_stay_in_their_chunks_and_come_back_from_an_end_that_leaves() {
    let mut pool = pool(8);
    let (mut left, mut right) = joined_by_move(4, 1514);
    let mut out = batch(&mut pool, &[b"one", b"two", b"three"]);
    let chunks: Vec<u32> = out.iter().map(|frame| frame.index()).collect();
    left.tx(&mut pool, &mut out);
    out.set_len_max(1);
    right.rx(&mut pool, &mut out);
    assert_eq!(out.iter().map(|frame| frame.index()).collect::<Vec<_>>(), chunks[..1]);
    pool.free_batch(&mut out);
    assert_eq!(pool.free_count(), 6);
    right.release(&mut pool);
    assert_eq!((pool.free_count(), right.counters().rx_drop_count), (8, 2));
}

#[test]
fn a_retained_frame_goes_home_when_the_other_end_frees_it() {
    let mut pool = pool(2);
    let (mut left, mut right) = joined_by_move(4, 1514);
    let mut frame = pool.alloc().unwrap();
    frame.extend(b"ready");
    let kept = pool.retain(frame).unwrap();
    for _ in 0..3 {
        let mut batch = Batch::new();
        batch.push(pool.lend(&kept).unwrap()).unwrap();
        left.tx(&mut pool, &mut batch);
        assert!(pool.lend(&kept).is_none(), "it is under way");
        assert_eq!(take(&mut right, &mut pool), [b"ready"]);
    }
    pool.release(kept);
}

#[test]
fn a_full_wire_leaves_frames_in_the_batch() {
    let mut pool = pool(8);
    let (mut left, mut right) = joined_by_move(2, 1514);
    let mut out = batch(&mut pool, &[b"a", b"b", b"c"]);
    left.tx(&mut pool, &mut out);
    assert_eq!((out.len(), left.tx_room(&mut pool)), (1, 0));
    assert_eq!(left.counters().tx_ring_full_count, 1);
    assert_eq!(take(&mut right, &mut pool), [b"a", b"b"]);
    left.tx(&mut pool, &mut out);
    assert_eq!(take(&mut right, &mut pool), [b"c"]);
}

#[test]
fn frames_that_no_link_would_carry_are_dropped_and_counted() {
    let mut pools = (pool(4), pool(4));
    let (mut left, mut right) = joined_by_copy(4, 100).unwrap();
    let mut out = batch(&mut pools.0, &[&[0; 101], b"", b"fits"]);
    left.tx(&mut pools.0, &mut out);
    assert_eq!(left.counters().tx_drop_count, 2);
    assert_eq!(take(&mut right, &mut pools.1), [b"fits"]);
    assert_eq!((pools.0.free_count(), pools.1.free_count()), (4, 4));
}

#[test]
fn a_receiver_without_chunks_drops_and_counts() {
    let (mut left_pool, mut right_pool) = (pool(4), pool(1));
    let (mut left, mut right) = joined_by_copy(4, 1514).unwrap();
    let mut out = batch(&mut left_pool, &[b"a", b"b"]);
    left.tx(&mut left_pool, &mut out);
    assert_eq!(take(&mut right, &mut right_pool), [b"a"]);
    assert_eq!(right.counters().rx_drop_count, 1);
}

#[test]
fn a_sleeping_receiver_is_woken_once_a_flush() {
    let (mut left_pool, mut right_pool) = (pool(8), pool(8));
    let (mut left, mut right) = joined_by_copy(8, 1514).unwrap();
    let is_ready = |port: &CopyPort| {
        let now = Some(tidegate_base::Duration::ZERO);
        poll(&[(port.wait_fd().unwrap(), Interest::READ)], now).unwrap() == 1
    };
    assert!(!is_ready(&right));
    for round in 1..=3_u64 {
        for _ in 0..2 {
            let mut out = batch(&mut left_pool, &[b"x"]);
            left.tx(&mut left_pool, &mut out);
            left.flush(&mut left_pool);
        }
        assert!(is_ready(&right));
        assert_eq!(left.counters().syscall_count, round, "rung once until it is heard");
        assert_eq!(take(&mut right, &mut right_pool).len(), 2);
        assert!(!is_ready(&right));
    }
}

#[test]
fn two_threads_pass_every_frame_in_order() {
    const COUNT: u32 = 20_000;
    let (mut left, mut right) = joined_by_copy(64, 1514).unwrap();
    let sender = std::thread::spawn(move || {
        let mut pool = pool(64);
        let mut next = 0_u32;
        while next < COUNT {
            if left.tx_room(&mut pool) == 0 {
                std::thread::yield_now();
                continue;
            }
            let mut out = batch(&mut pool, &[&next.to_be_bytes()]);
            left.tx(&mut pool, &mut out);
            left.flush(&mut pool);
            next += 1;
        }
    });
    let mut pool = pool(64);
    let mut seen = 0_u32;
    while seen < COUNT {
        let timeout = Some(tidegate_base::Duration::from_secs(5));
        let ready = poll(&[(right.wait_fd().unwrap(), Interest::READ)], timeout).unwrap();
        assert_eq!(ready, 1, "a frame arrived and did not wake its receiver");
        for bytes in take(&mut right, &mut pool) {
            assert_eq!(bytes, seen.to_be_bytes());
            seen += 1;
        }
    }
    sender.join().unwrap();
}

proptest! {
    #[test]
    fn any_schedule_keeps_order_and_chunks(steps in proptest::collection::vec(0_u8..4, 0..200)) {
        let (mut left_pool, mut right_pool) = (pool(16), pool(16));
        let (mut left, mut right) = joined_by_copy(8, 1514).unwrap();
        let (mut sent, mut seen) = (0_u32, 0_u32);
        for step in steps {
            if step == 0 {
                for bytes in take(&mut right, &mut right_pool) {
                    prop_assert_eq!(bytes, seen.to_be_bytes().to_vec());
                    seen += 1;
                }
            } else if left.tx_room(&mut left_pool) > 0 {
                let mut out = batch(&mut left_pool, &[&sent.to_be_bytes()]);
                left.tx(&mut left_pool, &mut out);
                sent += 1;
            }
        }
        prop_assert!(sent - seen <= 8);
        prop_assert_eq!((left_pool.free_count(), right_pool.free_count()), (16, 16));
    }
}
