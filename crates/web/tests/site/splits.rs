//! However a stream of requests is split over segments, the answers are the same.
use crate::net::Net;
use crate::tree::Tree;
use proptest::prelude::*;
use std::cell::RefCell;

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
    net.received(id)
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
