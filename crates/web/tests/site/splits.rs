//! However a stream of requests is split over segments, the answers are the same.
use crate::net::Net;
use crate::tree::Tree;
use crate::{any_bytes, pieces};
use proptest::prelude::*;
use std::cell::RefCell;
use tidegate_base::Rng;

const STREAM: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n\
    \r\nHEAD /a.css HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n\
    GET /a.css HTTP/1.1\r\nHost: a\r\nRange: bytes=3-5\r\nContent-Length: 4\r\n\r\nbody\
    GET /page.html HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n\
    4;x\r\nbody\r\n0\r\nT: u\r\n\r\n\
    GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n\
    GET / HTTP/1.1\r\nHost: a\r\n\r\n\
    GET /docs HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";

fn answers(net: &mut Net, cuts: &[usize]) -> Vec<u8> {
    let stream = STREAM.as_bytes();
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % stream.len()).collect();
    cuts.extend([0, stream.len()]);
    cuts.sort_unstable();
    let id = net.open();
    for pair in cuts.windows(2).filter(|pair| pair[0] < pair[1]) {
        net.send(id, &stream[pair[0]..pair[1]]);
        net.step(1);
    }
    net.run_until("ended by the server", |net| net.is_eof(id));
    net.finish(id);
    net.received(id).to_vec()
}

#[test]
fn answers_do_not_depend_on_segments() {
    let net = RefCell::new(Net::new(Tree::standard(), "[limits]\npipelined = 2"));
    let whole = answers(&mut net.borrow_mut(), &[]);
    assert_eq!(String::from_utf8_lossy(&whole).matches("HTTP/1.1 ").count(), 7);
    let every_byte: Vec<usize> = (0..STREAM.len()).collect();
    assert_eq!(answers(&mut net.borrow_mut(), &every_byte), whole);
    let config = ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(cuts in prop::collection::vec(any::<usize>(), 0..12))| {
        let seen = answers(&mut net.borrow_mut(), &cuts);
        prop_assert_eq!(String::from_utf8_lossy(&seen), String::from_utf8_lossy(&whole));
    });
}

const SEED_COUNT: u64 = 400;

/// The fuzz target's driver over seeded streams. `FUZZ_SEED=N` runs one seed.
#[test]
fn any_stream_gets_its_answers_whatever_its_segments() {
    let mut net = any_bytes::site();
    let only: Option<u64> = std::env::var("FUZZ_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in only.map_or(0..SEED_COUNT, |seed| seed..seed + 1) {
        let mut rng = Rng::new(seed);
        let mut bytes = rng.next_u32().to_le_bytes().to_vec();
        bytes.extend(pieces::stream(&mut rng));
        eprintln!("FUZZ_SEED={seed}");
        any_bytes::drive(&mut net, &bytes);
    }
}

/// A file that libFuzzer wrote, named by `FUZZ_FILE`.
#[test]
fn a_recorded_failure_stays_repaired() {
    if let Some(path) = std::env::var_os("FUZZ_FILE") {
        any_bytes::drive(&mut any_bytes::site(), &std::fs::read(path).unwrap());
    }
}
