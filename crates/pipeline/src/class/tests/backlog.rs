//! The implicit queue of a transformer edge.

use super::*;
use crate::class::Backlog;
use tidegate_packet::{Batch, HeapMemory, Pool};

fn pool() -> Pool {
    Pool::new(Box::new(HeapMemory::new(64 * 2048)), 2048).unwrap()
}

fn batch_of(pool: &mut Pool, lens: std::ops::Range<usize>) -> Batch {
    let mut batch = Batch::new();
    for len in lens {
        let mut frame = pool.alloc().unwrap();
        assert!(frame.extend(&vec![0; len]));
        assert!(batch.push(frame).is_ok());
    }
    batch
}

fn lens(batch: &Batch) -> Vec<usize> {
    batch.iter().map(|frame| frame.len()).collect()
}

#[test]
fn its_leaf_runs_while_frames_wait() {
    let (mut tree, mut pool) = (tree(), pool());
    add(&mut tree, "new_class", None, leaf(5), Position::None);
    let mut backlog = Backlog::new(&mut tree, LeafId(5), 40);
    assert_eq!(next_of(&mut tree), None);
    let mut first = batch_of(&mut pool, 1..31);
    backlog.push(&mut tree, &mut first);
    assert_eq!((first.len(), backlog.len(), backlog.room(), next_of(&mut tree)), (0, 30, 10, Some(5)));
    let mut second = batch_of(&mut pool, 31..51);
    backlog.push(&mut tree, &mut second);
    assert_eq!((lens(&second), backlog.room()), ((41..51).collect(), 0));
    let mut out = Batch::new();
    backlog.pop(&mut tree, &mut out);
    assert_eq!((lens(&out), next_of(&mut tree)), ((1..33).collect(), Some(5)));
    let mut rest = Batch::new();
    backlog.pop(&mut tree, &mut rest);
    assert_eq!((lens(&rest), next_of(&mut tree), backlog.is_empty()), ((33..41).collect(), None, true));
    for frame in out.drain().chain(rest.drain()).chain(second.drain()) {
        pool.free(frame);
    }
}

#[test]
fn it_gives_its_frames_back() {
    let (mut tree, mut pool) = (tree(), pool());
    add(&mut tree, "new_class", None, leaf(5), Position::None);
    let mut backlog = Backlog::new(&mut tree, LeafId(5), 8);
    backlog.push(&mut tree, &mut batch_of(&mut pool, 1..4));
    for frame in backlog.drain(&mut tree) {
        pool.free(frame);
    }
    assert_eq!((backlog.len(), next_of(&mut tree)), (0, None));
}
