//! Segments against packets built one by one; cutting and joining undo each other.

use super::model::{Row, Shape, Spec, Whole, packet};
use super::{Lro, LroParams, Tso, TsoParams};
use proptest::prelude::*;
use tidegate_base::{DropReason, Duration, Rng};
use tidegate_pipeline::Module;

const ACK: u8 = 0x10;
const PSH: u8 = 0x08;
const FIN: u8 = 0x01;
const CWR: u8 = 0x80;
const ECE: u8 = 0x40;

fn tso(mtu: u64) -> Box<dyn Module> {
    Box::new(Tso::new(TsoParams { mtu }).unwrap())
}

fn lro(hold_us: u64) -> Box<dyn Module> {
    let hold = Duration::from_micros(hold_us);
    Box::new(Lro::new(LroParams { hold, ..LroParams::default() }).unwrap())
}

fn text(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 31 / 7) as u8).collect()
}

const SPEC: Spec = Spec { flow: 3, seq: 0xffff_f000, ack: 77, ident: 0xfff0, flags: ACK };

/// What a sender that cuts by itself would have sent.
fn cut_by_hand(shape: Shape, spec: Spec, payload: &[u8], segment_len: usize) -> Vec<Whole> {
    let count = payload.len().div_ceil(segment_len);
    let segment = |(n, piece): (usize, &[u8])| {
        let mut flags = spec.flags;
        flags &= if n + 1 == count { 0xff } else { !(PSH | FIN) };
        flags &= if n == 0 { 0xff } else { !CWR };
        let seq = spec.seq.wrapping_add((n * segment_len) as u32);
        let ident = spec.ident.wrapping_add(n as u16);
        Whole::plain(packet(shape, Spec { seq, flags, ident, ..spec }, piece))
    };
    payload.chunks(segment_len).enumerate().map(segment).collect()
}

#[test]
fn segments_are_what_a_sender_would_have_sent() {
    for shape in Shape::all() {
        for (len, flags) in
            [(1, ACK), (1448, ACK | PSH), (20_000, ACK | PSH | FIN), (60_000, ACK | CWR | ECE)]
        {
            let spec = Spec { flags, ..SPEC };
            let payload = text(len);
            let large = Whole { bytes: packet(shape, spec, &payload), segment_len: Some(0), mark: 9 };
            let segment_len = shape.link_len() + 1500 - shape.headers_len();
            let expected = cut_by_hand(shape, spec, &payload, segment_len);
            let mut row = Row::new(vec![tso(1500)]);
            let seen = row.pass([large]);
            assert!(seen.iter().all(|segment| segment.mark == 9), "attributes go along");
            let seen: Vec<Whole> = seen.into_iter().map(|it| Whole::plain(it.bytes)).collect();
            assert_eq!(seen, expected, "{shape:?} {len}");
            row.retire();
        }
    }
}

#[test]
fn a_tunnels_checksum_is_computed_where_there_is_one() {
    let shape = Shape { tunnel: Some(true), has_udp_sum: true, ..Shape::PLAIN };
    let payload = text(5000);
    let large = Whole { bytes: packet(shape, SPEC, &payload), segment_len: Some(1000), mark: 0 };
    let seen = Row::new(vec![tso(1500)]).pass([large]);
    assert_eq!(seen, cut_by_hand(shape, SPEC, &payload, 1000));
}

#[test]
fn a_frame_is_cut_as_it_says_unless_that_is_too_long() {
    let payload = text(10_000);
    for (asked, got) in [(536, 536), (1448, 1448), (9000, 1448), (1, 48)] {
        let large = Whole { bytes: packet(Shape::PLAIN, SPEC, &payload), segment_len: Some(asked), mark: 0 };
        let seen = Row::new(vec![tso(1500)]).pass([large]);
        assert_eq!(seen, cut_by_hand(Shape::PLAIN, SPEC, &payload, got));
    }
}

#[test]
fn long_frames_in_one_chunk_are_cut_too_and_short_ones_pass() {
    let payload = text(1300);
    let mut row = Row::new(vec![tso(576)]);
    let seen = row.pass([Whole::plain(packet(Shape::PLAIN, SPEC, &payload))]);
    assert_eq!(seen, cut_by_hand(Shape::PLAIN, SPEC, &payload, 524));
    let short = [Whole::plain(vec![1; 590]), Whole::plain(packet(Shape::PLAIN, SPEC, b"x"))];
    assert_eq!(row.pass(short.clone()), short);
    assert_eq!((row.counter("m0", "cut"), row.counter("m0", "segments")), (1, 3));
    row.retire();
}

#[test]
fn what_cannot_be_cut_is_dropped_and_counted() {
    let mut row = Row::new(vec![tso(1500)]);
    let large = |bytes| Whole { bytes, segment_len: Some(0), mark: 0 };
    let good = packet(Shape::PLAIN, SPEC, &text(9000));
    let mut with_longer_ip = good.clone();
    with_longer_ip[16..18].copy_from_slice(&20_000u16.to_be_bytes());
    let mut datagram = good.clone();
    datagram[23] = 17;
    let flagged = |flags| packet(Shape::PLAIN, Spec { flags, ..SPEC }, &text(9000));
    let frames = [
        with_longer_ip,
        good[..8000].to_vec(),
        datagram,
        vec![0; 3000],
        flagged(ACK | 2),
        flagged(ACK | 4),
        flagged(ACK | 0x20),
        flagged(0),
        packet(Shape::PLAIN, SPEC, b""),
    ];
    assert_eq!(row.pass(frames.map(large)), []);
    let snapshot = row.snapshot();
    let drops = &snapshot.modules.iter().find(|it| it.name == "m0").unwrap().traffic.drops;
    assert_eq!((drops.of(DropReason::Malformed), drops.of(DropReason::TooLong)), (7, 2));
    row.retire();
}

/// What [`Lro`] cannot know: the checksum of a large frame is of its pseudo header only.
fn without_tcp_check(shape: Shape, mut whole: Whole) -> Whole {
    let at = shape.headers_len() - if shape.has_timestamps { 32 } else { 20 } + 16;
    whole.bytes[at..at + 2].fill(0);
    whole
}

#[test]
fn cutting_then_joining_gives_the_frame_back() {
    for shape in Shape::all() {
        for flags in [ACK, ACK | PSH, ACK | FIN | PSH, ACK | CWR, ACK | ECE] {
            let bytes = packet(shape, Spec { flags, ..SPEC }, &text(40_000));
            let large = Whole { bytes, segment_len: Some(1348), mark: 5 };
            let mut row = Row::new(vec![tso(1500), lro(100)]);
            let mut seen = row.pass([large.clone()]);
            seen.extend(row.wait_us(100));
            let [seen] = <[Whole; 1]>::try_from(seen).unwrap();
            assert_eq!(without_tcp_check(shape, seen), without_tcp_check(shape, large), "{shape:?}");
            row.retire();
        }
    }
}

#[test]
fn a_hold_ends_by_time_and_without_one_with_the_batch() {
    let segments = cut_by_hand(Shape::PLAIN, SPEC, &text(14_480), 1448);
    let mut row = Row::new(vec![lro(50)]);
    assert_eq!(row.pass(segments[..4].to_vec()), []);
    assert_eq!(row.pass(segments[4..8].to_vec()), []);
    assert_eq!(row.counter("m0", "held"), 1);
    assert_eq!(row.wait_us(50).len(), 1);
    assert_eq!(row.counter("m0", "joined"), 7);
    row.retire();
    let mut row = Row::new(vec![lro(0)]);
    assert_eq!(row.pass(segments[..4].to_vec()).len(), 1);
    assert_eq!(row.pass(segments[4..5].to_vec()), segments[4..5]);
    row.retire();
}

#[test]
fn a_full_table_lets_the_oldest_flow_go() {
    let params = LroParams { hold: Duration::from_millis(1), flow_count: 2 };
    let mut row = Row::new(vec![Box::new(Lro::new(params).unwrap())]);
    let of = |flow| Whole::plain(packet(Shape::PLAIN, Spec { flow, ..SPEC }, b"text"));
    assert_eq!(row.pass([of(1), of(2), of(3)]), [of(1)]);
    row.retire();
}

#[test]
fn wrong_parameters_say_what_is_wrong() {
    assert!(Tso::new(TsoParams { mtu: 575 }).err().unwrap().to_string().contains("the MTU is 575"));
    let error = |params| Lro::new(params).err().unwrap().to_string();
    assert!(error(LroParams { flow_count: 0, ..LroParams::default() }).contains("number of flows is 0"));
    assert!(error(LroParams { hold: Duration::from_secs(2), ..LroParams::default() }).contains("hold in ms"));
}

/// A stream of segments of a few flows as no honest sender would order it.
fn odd_stream(shape: Shape, seed: u64) -> Vec<Whole> {
    let mut rng = Rng::new(seed);
    let mut specs = [0, 1, 2].map(|flow| Spec { flow, seq: rng.next_u32(), ack: 1, ident: 7, flags: ACK });
    let mut segment_lens = [1000; 3];
    (0..200)
        .map(|_| {
            let flow = rng.below(3) as usize;
            let spec = &mut specs[flow];
            let len = if rng.chance(0.1) { 1 + rng.below(1200) as usize } else { segment_lens[flow] };
            let mut sent = *spec;
            let mut is_broken = false;
            match rng.below(40) {
                0 => sent.flags |= PSH,
                1 => sent.flags |= FIN,
                2 => sent.flags |= CWR,
                3 => sent.flags |= ECE,
                4 => sent.flags = [2, 4, 0x30, 0][rng.below(4) as usize],
                5 => spec.ack += 1,
                6 => sent.seq = sent.seq.wrapping_add(3000),
                7 => sent.ident = sent.ident.wrapping_add(5),
                8 => is_broken = true,
                9 => segment_lens[flow] = 500 + rng.below(700) as usize,
                _ => {}
            }
            let payload_len = if rng.chance(0.05) { 0 } else { len };
            let mut bytes = packet(shape, sent, &text(payload_len));
            if is_broken {
                let at = rng.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << rng.below(8);
            }
            spec.seq = spec.seq.wrapping_add(payload_len as u32);
            spec.ident = spec.ident.wrapping_add(1);
            Whole { mark: u8::from(is_broken), ..Whole::plain(bytes) }
        })
        .collect()
}

/// The frames of each flow in their order, and the broken ones, which belong to no flow, in any.
fn by_flow(shape: Shape, frames: &[Whole]) -> Vec<Vec<&Whole>> {
    let port_at = shape.headers_len() - if shape.has_timestamps { 32 } else { 20 };
    let (mut broken, good): (Vec<&Whole>, Vec<&Whole>) = frames.iter().partition(|it| it.mark != 0);
    broken.sort_by(|a, b| a.bytes.cmp(&b.bytes));
    let of = |flow: u16| {
        let port = (1000 + flow).to_be_bytes();
        good.iter().copied().filter(|it| it.bytes[port_at..port_at + 2] == port).collect()
    };
    (0..3).map(of).chain([broken]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn joining_then_cutting_gives_the_segments_back(seed: u64, shape in prop::sample::select(Shape::all()), hold_us in 0u64..40) {
        let stream = odd_stream(shape, seed);
        let mut row = Row::new(vec![lro(hold_us), tso(1500)]);
        let mut seen = row.pass(stream.clone());
        seen.extend(row.wait_us(1000));
        prop_assert_eq!(seen.len(), stream.len());
        prop_assert_eq!(by_flow(shape, &seen), by_flow(shape, &stream));
        row.retire();
    }

    #[test]
    fn damaged_large_frames_are_survived(seed: u64, shape in prop::sample::select(Shape::all())) {
        let mut rng = Rng::new(seed);
        let mut row = Row::new(vec![tso(1500), lro(5), tso(1400)]);
        for _ in 0..20 {
            let mut bytes = packet(shape, SPEC, &text(rng.below(9000) as usize));
            for _ in 0..rng.below(6) {
                let at = rng.below((shape.headers_len() as u64).min(bytes.len() as u64)) as usize;
                bytes[at] = rng.next_u32() as u8;
            }
            bytes.truncate(rng.below(bytes.len() as u64 + 200) as usize);
            let segment_len = Some(rng.next_u32() as u16);
            row.pass([Whole { bytes, segment_len, mark: 0 }]);
        }
        row.retire();
    }
}

#[test]
fn hostile_frames_stop_nothing() {
    crate::rig::survives(Tso::new(TsoParams::default()).unwrap(), 0);
    crate::rig::survives(Lro::new(LroParams::default()).unwrap(), 0);
}
