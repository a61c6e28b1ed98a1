//! What becomes of connections: kept, pipelined, limited, timed out, drained.
use crate::net::{Net, split, status_of, statuses};
use crate::tree::Tree;
use proptest::prelude::*;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tidegate_stack::{Closed, ConnId};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

fn body_count(stream: &[u8]) -> usize {
    stream.windows(16).filter(|w| w == b"<h1>hello</h1>\n\0" || w.starts_with(b"<h1>hello</h1>\n")).count()
        + usize::from(stream.ends_with(b"<h1>hello</h1>\n"))
}

fn run_until_answers(net: &mut Net, id: ConnId, count: usize) {
    net.run_until("answered", |net| body_count(net.received(id)) >= count);
}

#[test]
fn one_connection_many_requests() {
    let mut net = Net::new(Tree::standard(), "");
    let id = net.open();
    for n in 1..=20 {
        net.send(id, GET);
        run_until_answers(&mut net, id, n);
    }
    assert!(!net.is_eof(id));
    assert!(split(net.received(id)).0.contains("Connection: keep-alive\r\n"));
    net.finish(id);
    net.run_until("closed", |net| net.is_eof(id));
}

#[test]
fn pipelined_answers_come_in_order() {
    let mut net = Net::new(Tree::standard(), "[limits]\npipelined = 3");
    let names = ["/", "/a.css", "/big.bin", "/nothing", "/docs", "/docs/", "/empty.txt", "/page.html"];
    let mut stream = Vec::new();
    for round in 0..5 {
        for name in names {
            let close = if round == 4 && name == "/page.html" { "Connection: close\r\n" } else { "" };
            stream.extend(format!("GET {name} HTTP/1.1\r\nHost: a\r\n{close}\r\n").bytes());
        }
    }
    let seen = statuses(&net.exchange_to_end(&stream));
    assert_eq!(seen, [200, 200, 200, 404, 301, 200, 200, 200].repeat(5));
}

#[test]
fn a_peer_that_reads_nothing_is_not_served_ahead() {
    let mut net = Net::new(Tree::standard(), "[limits]\npipelined = 4");
    let id = net.open();
    net.client.service_mut().hold(id, true);
    let request = b"GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n";
    for _ in 0..40 {
        net.send(id, &request.repeat(30));
        net.steps(5, 5);
    }
    assert!(net.counters().request_count <= 4, "{}", net.counters().request_count);
}

#[test]
fn bodies_are_thrown_away() {
    let mut net = Net::new(Tree::standard(), "[limits]\nrequest_body = 100");
    let stream = [
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello".as_slice(),
        b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
        b"GET /a.css HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n",
        GET,
    ]
    .concat();
    assert_eq!(statuses(&net.exchange_to_end(&stream)), [200, 200, 405, 413]);
    let broken =
        b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nGET / HTTP/1.1\r\n\r\n";
    assert_eq!(statuses(&net.exchange_to_end(broken)), [200]);
}

#[test]
fn nothing_is_answered_behind_a_refused_request() {
    let mut net = Net::new(Tree::standard(), "");
    let smuggled = b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 35\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /a.css HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(statuses(&net.exchange_to_end(smuggled)), [400]);
    let last = [b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".as_slice(), GET].concat();
    assert_eq!(statuses(&net.exchange_to_end(&last)), [200]);
}

#[test]
fn heads_that_are_too_long() {
    let mut net = Net::new(Tree::standard(), "");
    let line = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(9000));
    assert_eq!(status_of(&net.exchange_to_end(line.as_bytes())), 414);
    let field = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "a".repeat(25_000));
    assert_eq!(status_of(&net.exchange_to_end(field.as_bytes())), 431);
    let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(101));
    assert_eq!(status_of(&net.exchange_to_end(many.as_bytes())), 431);
}

#[test]
fn half_a_head_times_out() {
    let mut net = Net::new(Tree::standard(), "[timeouts]\nheader = \"2s\"");
    let id = net.open();
    net.send(id, b"GET / HT");
    net.steps(150, 10);
    net.send(id, b"T");
    net.steps(40, 10);
    assert_eq!(net.received(id), b"");
    net.run_until("timed out", |net| net.is_eof(id));
    let seen = net.received(id);
    assert_eq!(status_of(seen), 408);
    assert!(split(seen).0.contains("Connection: close"));
    assert_eq!(net.counters().header_timeout_count, 1);
}

#[test]
fn silence_is_answered_by_silence() {
    let mut net = Net::new(Tree::standard(), "[timeouts]\nheader = \"2s\"\nidle = \"10s\"");
    let silent = net.open();
    net.steps(190, 10);
    assert!(!net.is_eof(silent));
    net.steps(30, 10);
    assert!(net.is_eof(silent) && net.received(silent).is_empty());
    let id = net.open();
    net.send(id, GET);
    run_until_answers(&mut net, id, 1);
    net.steps(980, 10);
    assert!(!net.is_eof(id));
    net.steps(80, 10);
    assert!(net.is_eof(id));
    assert_eq!(net.counters().idle_timeout_count, 2);
}

#[test]
fn a_peer_that_never_stops_sending_is_cut_off() {
    let mut net = Net::new(Tree::standard(), "[timeouts]\nlinger = \"1s\"");
    let id = net.open();
    net.send(id, b"BAD\r\n\r\n");
    for _ in 0..20 {
        net.step(10);
        net.send(id, b"more and more");
    }
    assert_eq!(status_of(net.received(id)), 400);
    for _ in 0..200 {
        net.step(10);
        net.send(id, b"more and more");
    }
    assert_eq!(net.closed(id), Some(Closed::Reset));
}

#[test]
fn a_half_closed_client_gets_its_answers() {
    let mut net = Net::new(Tree::standard(), "[limits]\npipelined = 1");
    let id = net.open();
    net.send(id, &[GET, b"GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n", GET].concat());
    net.finish(id);
    net.run_until("closed", |net| net.is_eof(id));
    assert_eq!(statuses(net.received(id)), [200, 200, 200]);
}

#[test]
fn so_many_requests_a_connection() {
    let mut net = Net::new(Tree::standard(), "[limits]\nrequests_per_connection = 3");
    let seen = net.exchange_to_end(&GET.repeat(5));
    assert_eq!(statuses(&seen), [200; 3]);
    assert_eq!(String::from_utf8_lossy(&seen).matches("Connection: close").count(), 1);
}

#[test]
fn so_many_connections() {
    let mut net = Net::new(Tree::standard(), "[limits]\nconnections = 2");
    let ids: Vec<_> = (0..3).map(|_| net.open()).collect();
    net.steps(10, 1);
    let closed: Vec<_> = ids.iter().map(|&id| net.closed(id)).collect();
    assert_eq!(closed.iter().filter(|why| why.is_some()).count(), 1);
    assert_eq!((net.counters().accepted_count, net.counters().refused_count), (2, 1));
    for id in ids {
        net.finish(id);
    }
    net.steps(50, 10);
    let again = net.open();
    net.send(again, GET);
    run_until_answers(&mut net, again, 1);
}

#[test]
fn so_many_connections_from_one_address() {
    let mut net = Net::new(Tree::standard(), "[limits]\nconnections_per_address = 1");
    let first = net.open();
    net.steps(10, 1);
    let second = net.open();
    net.steps(10, 1);
    assert!(net.closed(second).is_some());
    net.finish(first);
    net.steps(50, 10);
    let third = net.open();
    net.send(third, GET);
    run_until_answers(&mut net, third, 1);
}

#[test]
fn draining_ends_idle_connections_and_finishes_others() {
    let mut net = Net::new(Tree::standard(), "");
    let (idle, busy) = (net.open(), net.open());
    net.send(idle, GET);
    net.send(busy, b"GET / HTTP/1.1\r\n");
    run_until_answers(&mut net, idle, 1);
    net.steps(100, 1);
    net.shared.drain();
    net.server.stop_listening();
    net.wake_all();
    net.run_until("drained", |net| net.is_eof(idle));
    assert!(!net.is_eof(busy));
    net.send(busy, b"Host: a\r\n\r\n");
    net.run_until("finished", |net| net.is_eof(busy));
    assert!(split(net.received(busy)).0.contains("Connection: close"));
}

#[test]
fn requests_are_logged() {
    let tree = Tree::standard();
    let path = tree.root().join("access.log");
    let (sender, writer) = tidegate_web::access_log::open(&path, Arc::new(AtomicBool::new(false))).unwrap();
    let thread = std::thread::spawn(move || writer.run(|error| panic!("{error}")));
    let mut net = Net::with_log(tree, "", Some(sender));
    net.ask("GET /a.css", "User-Agent: test\r\n");
    net.ask("HEAD /a.css", "");
    net.exchange_to_end(b"BAD\r\n\r\n");
    let Net { cable, tree, .. } = net;
    drop(cable);
    thread.join().unwrap();
    let log = std::fs::read_to_string(tree.root().join("access.log")).unwrap();
    let start = "10.77.0.1 - - [07/Nov/1994:08:49:37 +0000]";
    let lines = [
        format!("{start} \"GET /a.css HTTP/1.1\" 200 36 \"-\" \"test\""),
        format!("{start} \"HEAD /a.css HTTP/1.1\" 200 0 \"-\" \"-\""),
        format!("{start} \"BAD\" 400 "),
    ];
    assert_eq!(log.lines().count(), 3, "{log}");
    for (line, want) in log.lines().zip(lines) {
        assert!(line.starts_with(&want), "{line}");
    }
}

#[test]
fn more_requests_than_a_window_holds() {
    let mut net = Net::new(Tree::standard(), "[limits]\npipelined = 2");
    let count = 4_000;
    let id = net.open();
    net.send(id, &GET.repeat(count));
    net.send(id, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    net.run_until("answered", |net| net.is_eof(id));
    assert_eq!(statuses(net.received(id)).len(), count + 1);
}

#[test]
fn a_load_that_takes_too_long() {
    let mut net = Net::new(Tree::standard(), "[timeouts]\nload = \"2s\"");
    let id = net.open();
    net.steps(4, 1);
    net.send(id, GET);
    // Timers come before completions, so the load is late however quick its thread was.
    net.step(2_500);
    net.steps(20, 1);
    assert_eq!(statuses(net.received(id)), [503]);
    assert_eq!(net.counters().awaited_count, 1);
    net.run_until("ended", |net| net.is_eof(id));
}

#[test]
fn a_streamed_file_that_changes_ends_its_connection() {
    let mut net = Net::new(Tree::standard(), "[content]\nstream_from = 1000");
    let id = net.open();
    net.client.service_mut().hold(id, true);
    net.send(id, b"GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n");
    net.run_until("begun", |net| net.received(id).len() > 5_000);
    std::fs::write(net.tree.root().join("big.bin"), vec![b'x'; 100_000]).unwrap();
    net.client.service_mut().hold(id, false);
    net.run_until("ended", |net| {
        net.wake(id);
        net.closed(id) == Some(Closed::Reset)
    });
    assert!(net.received(id).len() < 100_000);
}

/// Pieces of requests, good and bad.
fn noise() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let piece = prop::sample::select(vec![
        "GET / HTTP/1.1\r\n",
        "GET /big.bin HTTP/1.1\r\n",
        "HEAD /a.css HTTP/1.0\r\n",
        "Host: a\r\n",
        "\r\n",
        "\r\n\r\n",
        "Content-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\n",
        "hello",
        "5\r\nhello\r\n0\r\n\r\n",
        "\n",
        "\0",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "Connection: close\r\n",
        "Range: bytes=1-2,4-\r\n",
        "POST / HTTP/1.1\r\n",
    ]);
    let write = prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat().into_bytes());
    prop::collection::vec(write, 1..8)
}

#[test]
fn whatever_a_client_sends_it_is_let_go() {
    let net =
        RefCell::new(Net::new(Tree::standard(), "[limits]\npipelined = 2\nconnections_per_address = 1"));
    let config = ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(writes in noise())| {
        let mut net = net.borrow_mut();
        let let_go_before = net.counters().closed_count;
        let id = net.open();
        for bytes in writes {
            net.send(id, &bytes);
            net.step(1);
        }
        net.finish(id);
        net.run_until("let go", |net| net.counters().closed_count > let_go_before);
        prop_assert_eq!(net.counters().refused_count, 0);
        prop_assert_eq!(net.counters().accepted_count, net.counters().closed_count);
    });
}
