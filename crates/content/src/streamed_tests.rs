//! Files that are read as they are sent: all their bytes or none of another version's.

use crate::scratch_dir::ScratchDir;
use crate::tests::{drain, head, noise, pool};
use crate::*;
use proptest::prelude::*;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

fn plain_head() -> HeadTemplate {
    HeadWriter::new().text("head|").finish()
}

fn streamed(path: &std::path::Path) -> Arc<Prepared> {
    Prepared::streamed(plain_head(), File::open(path).unwrap()).unwrap()
}

fn response(prepared: &Arc<Prepared>) -> Response {
    Response::whole(Arc::clone(prepared), Stamp::new(5, false))
}

#[test]
fn a_stream_is_the_file() {
    let dir = ScratchDir::new();
    let path = dir.write("data", noise(1_000_000));
    let (mut pool, mut packer) = (pool(4), Packer::new(Mode::PreCopy));
    for max in [1448, 536, 1] {
        let body_len = if max == 1 { 3000 } else { 1_000_000 };
        let part = streamed(&path).range(plain_head(), 0, body_len).unwrap();
        let all = drain(&mut packer, &response(&part), max, &mut pool);
        assert_eq!(all[5..], noise(1_000_000)[..body_len as usize]);
    }
    assert_eq!(pool.free_count(), 4);
}

proptest! {
    #[test]
    fn streams_do_not_mix(
        starts in prop::collection::vec(0u64..300_000, 1..80), step_count in 1usize..40,
    ) {
        let dir = ScratchDir::new();
        let files = [dir.write("a", noise(400_000)), dir.write("b", vec![7; 400_000])];
        let all = files.map(|path| streamed(&path));
        let expected = [noise(400_000), vec![7; 400_000]];
        let (mut pool, mut packer) = (pool(2), Packer::new(Mode::PreCopy));
        for step in 0..step_count as u64 {
            for (i, start) in starts.iter().enumerate() {
                let (which, at) = (i % 2, start + step * CHUNK_LENS[0] as u64);
                let Payload { frame, sum } =
                    packer.fetch(&response(&all[which]), 5 + at, CHUNK_LENS[0], &mut pool).unwrap();
                prop_assert_eq!(frame.data(), &expected[which][at as usize..at as usize + CHUNK_LENS[0]]);
                prop_assert_eq!(sum, tidegate_base::Sum::of(frame.data()));
                pool.free(frame);
            }
        }
    }
}

#[test]
fn two_gibibytes_are_neither_read_ahead_of_need_nor_cut_short() {
    const LEN: u64 = 2 << 30;
    let dir = ScratchDir::new();
    let path = dir.write("big", "first bytes");
    let file = File::options().write(true).open(&path).unwrap();
    file.set_len(LEN).unwrap();
    file.write_all_at(b"last bytes", LEN - 10).unwrap();
    let whole = streamed(&path);
    assert_eq!(whole.len(), LEN + 5);
    let (mut pool, mut packer) = (pool(4), Packer::new(Mode::PreCopy));
    let mut body = |offset, len| {
        let part = response(&whole.range(plain_head(), offset, len).unwrap());
        drain(&mut packer, &part, 1448, &mut pool).split_off(5)
    };
    assert_eq!(body(0, 11), b"first bytes");
    assert_eq!(body(LEN - 10, 10), b"last bytes");
    assert_eq!(body(LEN - 5010, 5010)[5000..], *b"last bytes");
    assert_eq!(body(1 << 30, 100_000), [0; 100_000]);
    assert!(whole.range(plain_head(), LEN - 9, 10).is_none());
    assert!(whole.range(plain_head(), u64::MAX, 2).is_none());
}

#[test]
fn a_stream_ends_where_its_file_was_cut() {
    let dir = ScratchDir::new();
    let path = dir.write("data", noise(500_000));
    let whole = streamed(&path);
    let under_way = response(&whole);
    let (mut pool, mut packer) = (pool(4), Packer::new(Mode::PreCopy));
    let first = packer.fetch(&under_way, 0, CHUNK_LENS[0], &mut pool).unwrap();
    pool.free(first.frame);
    File::options().write(true).open(&path).unwrap().set_len(100).unwrap();
    assert!(packer.fetch(&under_way, 400_000, CHUNK_LENS[0], &mut pool).is_none());
    assert!(!under_way.is_intact());
    assert_eq!((packer.counters().broken_count, packer.counters().starved_count), (1, 0));
    assert_eq!(pool.free_count(), 4, "the frame came back");
}

#[test]
fn a_stream_ends_when_its_file_is_rewritten_in_place() {
    let dir = ScratchDir::new();
    let path = dir.write("data", noise(500_000));
    let under_way = response(&streamed(&path));
    let (mut pool, mut packer) = (pool(4), Packer::new(Mode::MemCopy));
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::write(&path, vec![1; 500_000]).unwrap();
    assert!(packer.fetch(&under_way, 0, CHUNK_LENS[0], &mut pool).is_none());
    assert!(!under_way.is_intact());
}

#[test]
fn a_stream_goes_on_when_its_file_is_replaced_or_removed() {
    let dir = ScratchDir::new();
    let path = dir.write("data", noise(200_000));
    let under_way = response(&streamed(&path));
    let next = dir.write("next", "new");
    fs::rename(next, &path).unwrap();
    let all = drain(&mut Packer::new(Mode::PreCopy), &under_way, 1448, &mut pool(4));
    assert_eq!(all[5..], noise(200_000));
}

#[test]
fn a_streamed_file_takes_its_head_from_each_answer() {
    let dir = ScratchDir::new();
    let whole = streamed(&dir.write("data", noise(5000)));
    let other = whole.with_head(head(3));
    let all = drain(&mut Packer::new(Mode::PreCopy), &response(&other), 1448, &mut pool(4));
    assert!(all.starts_with(b"pppDate: Thu, 01 Jan 1970 00:00:05 GMT\r\n"));
    assert!(all.ends_with(&noise(5000)));
}
