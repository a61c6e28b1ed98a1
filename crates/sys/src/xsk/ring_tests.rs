//! The ring protocol against a queue as oracle, over random schedules, and under the loom model checker.

use std::collections::VecDeque;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use proptest::prelude::*;

use super::*;

/// Plain memory of this thread.
#[derive(Clone)]
struct Plain(std::rc::Rc<PlainRing>);

struct PlainRing {
    producer: std::cell::Cell<u32>,
    consumer: std::cell::Cell<u32>,
    slots: Vec<std::cell::Cell<u64>>,
}

fn plain(size: usize, start: u32) -> Plain {
    Plain(std::rc::Rc::new(PlainRing {
        producer: start.into(),
        consumer: start.into(),
        slots: vec![0.into(); size],
    }))
}

impl RingMemory<u64> for Plain {
    fn size(&self) -> u32 {
        self.0.slots.len() as u32
    }
    fn load_producer(&self) -> u32 {
        self.0.producer.get()
    }
    fn store_producer(&self, index: u32) {
        self.0.producer.set(index);
    }
    fn load_consumer(&self) -> u32 {
        self.0.consumer.get()
    }
    fn store_consumer(&self, index: u32) {
        self.0.consumer.set(index);
    }
    fn read(&self, index: u32) -> u64 {
        self.0.slots[(index & (self.size() - 1)) as usize].get()
    }
    fn write(&self, index: u32, entry: u64) {
        self.0.slots[(index & (self.size() - 1)) as usize].set(entry);
    }
}

#[test]
fn a_full_ring_refuses_and_takes_again_after_release() {
    let memory = plain(2, u32::MAX - 1);
    let mut producer = Producer::new(memory.clone());
    let mut consumer = Consumer::new(memory);
    assert!(producer.push(1_u64) && producer.push(2) && !producer.push(3));
    assert_eq!(consumer.pop(), None::<u64>, "nothing is seen before it is published");
    assert_eq!(producer.publish(), 2);
    assert_eq!((consumer.pop(), consumer.pop(), consumer.pop()), (Some(1), Some(2), None));
    assert!(!producer.push(3), "popped slots stay taken until they are released");
    assert_eq!(consumer.release(), 2);
    assert!(producer.push(3));
    assert_eq!((producer.publish(), producer.publish()), (1, 0));
    assert_eq!(producer.pending(), 1);
    assert_eq!(consumer.pop(), Some(3));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Push,
    Publish,
    Pop,
    Release,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Push), 1 => Just(Step::Publish), 3 => Just(Step::Pop), 1 => Just(Step::Release)
    ];
    proptest::collection::vec(step, 0..400)
}

proptest! {
    #[test]
    fn behaves_as_a_bounded_queue(start: u32, size_log2 in 0_u32..5, steps in steps()) {
        let memory = plain(1 << size_log2, start);
        let (mut producer, mut consumer) = (Producer::new(memory.clone()), Consumer::new(memory));
        let (mut hidden, mut visible) = (VecDeque::new(), VecDeque::new());
        let (mut popped, mut entry) = (0, 0_u64);
        for step in steps {
            match step {
                Step::Push => {
                    let taken = hidden.len() + visible.len() + popped;
                    prop_assert_eq!(producer.push(entry), taken < 1 << size_log2);
                    if taken < 1 << size_log2 {
                        hidden.push_back(entry);
                    }
                    entry += 1;
                }
                Step::Publish => {
                    prop_assert_eq!(producer.publish() as usize, hidden.len());
                    visible.append(&mut hidden);
                }
                Step::Pop => {
                    let expected = visible.pop_front();
                    popped += usize::from(expected.is_some());
                    prop_assert_eq!(consumer.pop(), expected);
                }
                Step::Release => prop_assert_eq!(consumer.release() as usize, std::mem::take(&mut popped)),
            }
        }
    }
}

/// Memory between two threads of the model: loom reports a slot that both touch at once.
struct Modelled {
    producer: AtomicU32,
    consumer: AtomicU32,
    slots: [UnsafeCell<u64>; 2],
}

impl RingMemory<u64> for Arc<Modelled> {
    fn size(&self) -> u32 {
        2
    }
    fn load_producer(&self) -> u32 {
        self.producer.load(Ordering::Acquire)
    }
    fn store_producer(&self, index: u32) {
        self.producer.store(index, Ordering::Release);
    }
    fn load_consumer(&self) -> u32 {
        self.consumer.load(Ordering::Acquire)
    }
    fn store_consumer(&self, index: u32) {
        self.consumer.store(index, Ordering::Release);
    }
    fn read(&self, index: u32) -> u64 {
        // SAFETY: the protocol under test keeps the other side out of this slot; loom checks it.
        self.slots[(index & 1) as usize].with(|slot| unsafe { *slot })
    }
    fn write(&self, index: u32, entry: u64) {
        // SAFETY: as above.
        self.slots[(index & 1) as usize].with_mut(|slot| unsafe { *slot = entry });
    }
}

// SAFETY: the slots are reached through the protocol under test only, which loom checks for races.
unsafe impl Sync for Modelled {}

#[test]
fn every_interleaving_of_two_threads_keeps_order_and_races_nowhere() {
    loom::model(|| {
        let memory = Arc::new(Modelled {
            producer: AtomicU32::new(u32::MAX),
            consumer: AtomicU32::new(u32::MAX),
            slots: [UnsafeCell::new(0), UnsafeCell::new(0)],
        });
        let producing = memory.clone();
        let producer = loom::thread::spawn(move || {
            let mut producer = Producer::new(producing);
            let pushed = (1..=3).filter(|&entry| producer.push(entry) && producer.publish() == 1).count();
            pushed as u64
        });
        let mut consumer = Consumer::new(memory.clone());
        let mut seen: Vec<u64> = Vec::new();
        for _ in 0..2 {
            seen.extend(consumer.pop());
            consumer.release();
        }
        let pushed = producer.join().unwrap();
        while let Some(entry) = consumer.pop() {
            seen.push(entry);
        }
        assert_eq!(seen.len() as u64, pushed);
        assert!(seen.is_sorted(), "{seen:?}");
    });
}
