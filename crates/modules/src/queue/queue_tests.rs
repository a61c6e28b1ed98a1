//! A bounded queue: order, what is dropped when it is full, its commands.

use super::*;
use crate::rig::Rig;
use tidegate_base::Rng;

fn queue(size: u64) -> Queue {
    Queue::new(QueueParams { size, ..QueueParams::default() }).unwrap()
}

fn numbered(numbers: std::ops::Range<u32>) -> Vec<Vec<u8>> {
    numbers.map(|n| n.to_be_bytes().to_vec()).collect()
}

fn feed(rig: &mut Rig, frames: &[Vec<u8>]) {
    let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
    rig.feed(0, &frames);
}

#[test]
fn order_survives_any_sizes_of_batches_and_bursts() {
    let mut rig = Rig::with_gates(queue(256), 1, 1);
    let mut rng = Rng::new(1);
    let (mut next, mut seen) = (0, Vec::new());
    for turn in 0..2000 {
        let status = rig.module::<Queue>().status();
        let count = rng.below(70).min(status.size - status.count) as u32;
        feed(&mut rig, &numbered(next..next + count));
        next += count;
        rig.module::<Queue>().set_burst(1 + rng.below(32)).unwrap();
        seen.extend(rig.round(Instant::from_millis(turn)).into_iter().map(|(_, frame)| frame));
    }
    let status = rig.module::<Queue>().status();
    assert_eq!(status.dropped, 0);
    assert_eq!(status.enqueued, u64::from(next));
    assert_eq!(status.dequeued + status.count, status.enqueued);
    assert_eq!(seen, numbered(0..seen.len() as u32));
    rig.retire();
}

#[test]
fn what_finds_it_full_is_dropped_and_counted() {
    let mut rig = Rig::with_gates(queue(64), 1, 1);
    rig.module::<Queue>().set_burst(4).unwrap();
    feed(&mut rig, &numbered(0..100));
    let left = rig.round(Instant::from_millis(1));
    assert_eq!(left.len(), 4);
    let status = rig.module::<Queue>().status();
    assert_eq!(status, QueueStatus { count: 60, size: 64, enqueued: 64, dequeued: 4, dropped: 36 });
    assert_eq!(rig.drops(DropReason::RingFull), 36);
    rig.retire();
}

#[test]
fn a_smaller_queue_keeps_what_waits() {
    let mut rig = Rig::with_gates(queue(64), 1, 1);
    rig.module::<Queue>().set_burst(1).unwrap();
    feed(&mut rig, &numbered(0..60));
    rig.round(Instant::from_millis(1));
    rig.module::<Queue>().set_size(8).unwrap();
    assert_eq!(rig.module::<Queue>().status().count, 59);
    feed(&mut rig, &numbered(60..61));
    rig.round(Instant::from_millis(2));
    assert_eq!(rig.module::<Queue>().status().dropped, 1);
    rig.module::<Queue>().set_burst(32).unwrap();
    let rest = [rig.round(Instant::from_millis(3)), rig.round(Instant::from_millis(4))].concat();
    assert_eq!(rest.len(), 58);
    rig.retire();
}

#[test]
fn backpressure_keeps_what_has_no_room() {
    let params = QueueParams { size: 64, prefetch: true, backpressure: true };
    let mut rig = Rig::with_gates(Queue::new(params).unwrap(), 1, 1);
    feed(&mut rig, &numbered(0..10));
    assert_eq!(rig.round(Instant::from_millis(1)).len(), 10);
    assert_eq!(rig.module::<Queue>().next_deadline(), None);
    assert_eq!(rig.module::<Queue>().params(), params);
    rig.retire();
}

#[test]
fn wrong_sizes_say_which_are_right() {
    let error = |size| Queue::new(QueueParams { size, ..QueueParams::default() }).err().unwrap().to_string();
    assert!(error(3).contains("4 to 1048576"));
    assert!(error(1000).contains("512 or 1024"), "{}", error(1000));
    assert!(queue(4).set_burst(0).is_err() && queue(4).set_burst(33).is_err());
}
