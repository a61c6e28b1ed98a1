//! Any cut of any response, in any mode, is its very bytes with their sum.

use crate::*;
use proptest::prelude::*;
use std::sync::Arc;
use tidegate_base::Sum;
use tidegate_packet::{ChunkAddr, FRESH_LEN_MAX, HEADROOM_LEN, HeapMemory, Pool};

const CHUNK_SIZE: usize = 2048;

pub(crate) fn pool(chunk_count: usize) -> Pool {
    Pool::new(Box::new(HeapMemory::new(chunk_count * CHUNK_SIZE)), CHUNK_SIZE).unwrap()
}

/// A head with both slots, `pad` bytes before the first.
pub(crate) fn head(pad: usize) -> HeadTemplate {
    HeadWriter::new()
        .text(vec![b'p'; pad])
        .text("Date: ")
        .date()
        .text("\r\nConnection: ")
        .connection()
        .text("\r\n\r\n")
        .finish()
}

fn head_text(pad: usize, stamp: Stamp) -> Vec<u8> {
    let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(stamp.unix_secs());
    let connection = if stamp.closes() { "close     " } else { "keep-alive" };
    let date = httpdate::fmt_http_date(at);
    format!("{}Date: {date}\r\nConnection: {connection}\r\n\r\n", "p".repeat(pad)).into_bytes()
}

pub(crate) fn noise(len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// One piece through the packer, checked against its sum, its frame given back.
fn fetch(packer: &mut Packer, response: &Response, offset: u64, len: usize, pool: &mut Pool) -> Vec<u8> {
    let Payload { frame, sum } = packer.fetch(response, offset, len, pool).expect("a frame");
    assert_eq!((frame.start(), frame.len()), (HEADROOM_LEN, len));
    assert_eq!(sum.fold() % 0xffff, Sum::of(frame.data()).fold() % 0xffff);
    let bytes = frame.data().to_vec();
    pool.free(frame);
    bytes
}

/// The whole response, cut where a stack with segments of at most `max` bytes would.
pub(crate) fn drain(packer: &mut Packer, response: &Response, max: usize, pool: &mut Pool) -> Vec<u8> {
    let mut all = Vec::new();
    while (all.len() as u64) < response.len() {
        let offset = all.len() as u64;
        let len = response.segment_len(offset, max);
        assert!(len >= 1 && len <= max);
        all.extend(fetch(packer, response, offset, len, pool));
    }
    all
}

fn modes() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::PreCopy), Just(Mode::MemCopy)]
}

proptest! {
    #[test]
    fn segments_add_up_to_the_response(
        mode in modes(), pad in 0usize..3000, body_len in 0usize..6000, max in 1usize..1500,
        secs in 0u64..5_000_000_000, close: bool,
    ) {
        let (mut pool, mut packer) = (pool(64), Packer::new(mode));
        let stamp = Stamp::new(secs, close);
        let response = Response::whole(Prepared::new(head(pad), noise(body_len)), stamp);
        let expected = [head_text(pad, stamp), noise(body_len)].concat();
        for _ in 0..2 {
            prop_assert_eq!(drain(&mut packer, &response, max, &mut pool), expected.as_slice());
        }
    }

    #[test]
    fn any_window_is_that_part_of_the_response(
        mode in modes(), pad in 0usize..1500, body_len in 1usize..4000, cut in any::<[prop::sample::Index; 8]>(),
    ) {
        let (mut pool, mut packer) = (pool(64), Packer::new(mode));
        let stamp = Stamp::new(1_763_650_000, true);
        let response = Response::whole(Prepared::new(head(pad), noise(body_len)), stamp);
        let expected = [head_text(pad, stamp), noise(body_len)].concat();
        for pair in cut.chunks(2) {
            let offset = pair[0].index(expected.len());
            let len = 1 + pair[1].index((expected.len() - offset).min(FRESH_LEN_MAX));
            let bytes = fetch(&mut packer, &response, offset as u64, len, &mut pool);
            prop_assert_eq!(&bytes, &expected[offset..offset + len]);
        }
    }

    #[test]
    fn parts_join_as_given(
        body_len in 1usize..5000, cut in any::<[prop::sample::Index; 6]>(), max in 1usize..1500,
    ) {
        let (mut pool, mut packer) = (pool(8), Packer::new(Mode::PreCopy));
        let whole = Prepared::new(head(0), noise(body_len));
        let (mut parts, mut expected) = (Vec::new(), head_text(7, Stamp::new(9, false)));
        for pair in cut.chunks(2) {
            let offset = pair[0].index(body_len);
            let len = pair[1].index(body_len - offset);
            parts.push(Part::Text(b"--boundary\r\n".to_vec()));
            parts.push(Part::Range { of: &whole, offset: offset as u64, len: len as u64 });
            expected.extend_from_slice(b"--boundary\r\n");
            expected.extend_from_slice(&noise(body_len)[offset..offset + len]);
        }
        let response = Response::whole(Prepared::assemble(head(7), parts).unwrap(), Stamp::new(9, false));
        prop_assert_eq!(drain(&mut packer, &response, max, &mut pool), expected);
        prop_assert_eq!(pool.retained_count(), 0, "made for one request: not kept");
    }

    #[test]
    fn ready_packets_are_right_in_any_order_of_completion(
        steps in prop::collection::vec((0usize..3, 0u64..3, any::<bool>(), any::<prop::sample::Index>()), 1..300),
    ) {
        let (mut pool, mut packer) = (pool(24), Packer::new(Mode::PreCopy));
        let all: Vec<_> = [40, 2000, 4000].map(|len| Prepared::new(head(len / 40), noise(len))).to_vec();
        let mut under_way: Vec<ChunkAddr> = Vec::new();
        for (which, secs, close, pick) in steps {
            if under_way.len() > 12 || (!close && under_way.len() > 2) {
                let addr = under_way.swap_remove(pick.index(under_way.len()));
                prop_assert!(pool.complete(addr));
            }
            packer.set_date(secs);
            let stamp = Stamp::new(secs, close);
            let response = Response::whole(Arc::clone(&all[which]), stamp);
            let expected = [head_text(all[which].head_len() as usize - head(0).len(), stamp),
                noise(all[which].body_len() as usize)].concat();
            let cut = CHUNK_LENS[usize::from(close)];
            let chunk = pick.index(expected.chunks(cut).len());
            let piece = expected.chunks(cut).nth(chunk).unwrap();
            let payload = packer.fetch(&response, (chunk * cut) as u64, piece.len(), &mut pool);
            let Some(Payload { mut frame, sum }) = payload else {
                prop_assert_eq!(pool.free_count(), 0);
                continue;
            };
            prop_assert_eq!(frame.data(), piece);
            prop_assert_eq!(sum.fold() % 0xffff, Sum::of(piece).fold() % 0xffff);
            frame.push_front(54).unwrap().fill(0xee);
            under_way.extend(pool.submit(frame));
            prop_assert!(pool.retained_count() <= 12);
        }
        under_way.drain(..).for_each(|addr| assert!(pool.complete(addr)));
        packer.release(&mut pool);
        prop_assert_eq!(pool.free_count(), 24);
    }
}

#[test]
fn a_head_sent_again_after_the_tick_is_the_same() {
    let (mut pool, mut packer) = (pool(8), Packer::new(Mode::PreCopy));
    let response = Response::whole(Prepared::new(head(0), "body"), Stamp::new(100, false));
    packer.set_date(100);
    let first = drain(&mut packer, &response, 1448, &mut pool);
    packer.set_date(103);
    let other = Response::whole(Arc::clone(response.prepared()), Stamp::new(103, true));
    assert_ne!(drain(&mut packer, &other, 1448, &mut pool), first);
    assert_eq!(drain(&mut packer, &response, 1448, &mut pool), first);
    assert_eq!(drain(&mut packer, &response, 50, &mut pool), first);
}

#[test]
fn a_head_alone_ends_where_the_body_begins() {
    let (mut pool, mut packer) = (pool(8), Packer::new(Mode::PreCopy));
    let stamp = Stamp::new(7, false);
    let response = Response::head_only(Prepared::new(head(0), noise(5000)), stamp);
    assert_eq!(drain(&mut packer, &response, 1448, &mut pool), head_text(0, stamp));
    assert!(packer.fetch(&response, 0, response.len() as usize + 1, &mut pool).is_none());
}

#[test]
fn a_busy_chunk_gets_more_packets_and_keeps_them() {
    let (mut pool, mut packer) = (pool(64), Packer::new(Mode::PreCopy));
    let response = Response::whole(Prepared::new(head(0), noise(100)), Stamp::new(1, false));
    let len = response.len() as usize;
    for round in 1..=3 {
        let out: Vec<_> =
            (0..16).map(|_| packer.fetch(&response, 0, len, &mut pool).unwrap().frame).collect();
        out.into_iter().for_each(|frame| pool.free(frame));
        assert_eq!(pool.retained_count(), 16, "round {round}");
    }
    assert_eq!((packer.counters().stocked_count, packer.counters().ready_count), (16, 32));
}

#[test]
fn what_is_busy_beyond_the_high_water_mark_is_copied() {
    let (mut pool, mut packer) = (pool(32), Packer::with_high_water(Mode::PreCopy, 25));
    let response = Response::whole(Prepared::new(head(0), noise(100)), Stamp::new(1, false));
    let len = response.len() as usize;
    let out: Vec<_> = (0..32).map(|_| packer.fetch(&response, 0, len, &mut pool).unwrap().frame).collect();
    assert_eq!((pool.retained_count(), packer.counters().copied_count), (8, 24));
    assert!(packer.fetch(&response, 0, len, &mut pool).is_none());
    assert_eq!(packer.counters().starved_count, 1);
    out.into_iter().for_each(|frame| pool.free(frame));
    assert_eq!(pool.free_count(), 24);
}

#[test]
fn packets_of_what_is_not_asked_for_give_way() {
    let (mut pool, mut packer) = (pool(16), Packer::new(Mode::PreCopy));
    let stamp = Stamp::new(1, false);
    for _ in 0..100 {
        let response = Response::whole(Prepared::new(head(0), noise(10)), stamp);
        drain(&mut packer, &response, 1448, &mut pool);
        assert!(pool.retained_count() <= 8);
    }
    let kept: Vec<_> = (0..20).map(|_| Response::whole(Prepared::new(head(0), noise(10)), stamp)).collect();
    for response in kept.iter().cycle().take(200) {
        drain(&mut packer, response, 1448, &mut pool);
    }
    assert!(pool.retained_count() <= 8);
    assert!(packer.counters().evicted_count > 100);
}

#[test]
fn frames_of_a_response_that_is_gone_come_back_within_a_second() {
    let (mut pool, mut packer) = (pool(32), Packer::new(Mode::PreCopy));
    let stamp = Stamp::new(1, false);
    let kept = Response::whole(Prepared::new(head(0), noise(10)), stamp);
    drain(&mut packer, &kept, 1448, &mut pool);
    drain(&mut packer, &Response::whole(Prepared::new(head(0), noise(3000)), stamp), 1448, &mut pool);
    assert_eq!(pool.retained_count(), 4);
    packer.set_date(2);
    drain(&mut packer, &kept, 1448, &mut pool);
    assert_eq!(pool.retained_count(), 1);
}

#[test]
fn a_response_with_more_chunks_than_its_share_is_not_kept() {
    let (mut pool, mut packer) = (pool(16), Packer::new(Mode::PreCopy));
    let response = Response::whole(Prepared::new(head(0), noise(4000)), Stamp::new(1, false));
    drain(&mut packer, &response, 1448, &mut pool);
    assert_eq!((pool.retained_count(), packer.counters().copied_count), (0, 3));
}

#[test]
fn peers_of_both_families_get_ready_chunks_and_no_short_ones() {
    for (cut, segment_count) in CHUNK_LENS.into_iter().zip([7, 8]) {
        let (mut pool, mut packer) = (pool(64), Packer::new(Mode::PreCopy));
        let response = Response::whole(Prepared::new(head(0), noise(10_000)), Stamp::new(1, false));
        let (mut offset, mut count) = (0, 0);
        while offset < response.len() {
            let len = response.segment_len(offset, cut);
            let payload = packer.fetch(&response, offset, len, &mut pool).unwrap();
            pool.free(payload.frame);
            offset += len as u64;
            count += 1;
        }
        assert_eq!((count, packer.counters().sliced_count), (segment_count, 0), "cut {cut}");
    }
}

#[test]
fn a_peer_of_small_segments_gets_full_ones() {
    let response = Response::whole(Prepared::new(head(0), noise(5_000)), Stamp::new(1, false));
    assert_eq!(response.segment_len(0, 536), 536);
    assert_eq!(response.segment_len(1072, 536), 536);
    assert_eq!(response.segment_len(1072, 1448), 1448 - 1072, "back on the cut");
}

#[test]
fn bulk_is_the_same_bytes_as_chunks() {
    let (mut pool, mut packer) = (pool(64), Packer::new(Mode::MemCopy));
    let response = Response::whole(Prepared::new(head(20), noise(40_000)), Stamp::new(1, false));
    let whole = drain(&mut packer, &response, 1448, &mut pool);
    for offset in [0, 1448, 28_960] {
        let len = response.bulk_len(offset, 20_000);
        let frame = packer.fetch_bulk(&response, offset, len, &mut pool).unwrap();
        let bytes = [frame.data(), frame.tail().unwrap().bytes()].concat();
        assert_eq!(bytes, whole[offset as usize..][..len]);
        pool.free(frame);
    }
    let left = response.len() - 30_000;
    assert_eq!(response.bulk_len(30_000, 100_000) as u64, left, "to the end and no further");
}

#[test]
fn what_is_short_is_no_bulk() {
    let prepared = Prepared::new(head(0), noise(40_000));
    let head_only = Response::head_only(prepared, Stamp::new(1, false));
    let short = Response::whole(Prepared::new(head(0), noise(2000)), Stamp::new(1, false));
    assert_eq!((head_only.bulk_len(0, 100_000), short.bulk_len(0, 100_000)), (0, 0));
}
