//! Our two roles joined: frames of all lengths, waking, several queues, death of either side, what is refused.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration as StdDuration, Instant as StdInstant};

use tidegate_base::Duration;
use tidegate_packet::{Batch, HeapMemory, Pool};
use tidegate_sys::event::{Interest, poll};

use super::*;
use crate::Port;

/// A socket's name that no other test has.
pub(super) fn address() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("@tidegate-memif-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

pub(super) fn pool(chunk_count: usize) -> Pool {
    Pool::new(Box::new(HeapMemory::new(chunk_count * 2048)), 2048).unwrap()
}

pub(super) fn open(config: &MemifConfig) -> MemifPort {
    open_memif(config.clone()).unwrap().remove(0)
}

pub(super) fn configs(address: &str) -> (MemifConfig, MemifConfig) {
    (MemifConfig::new(address, MemifRole::Server), MemifConfig::new(address, MemifRole::Client))
}

/// Tries until it is so; a test that would wait for ever fails.
pub(super) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = StdInstant::now();
    while !is_so() {
        assert!(start.elapsed() < StdDuration::from_secs(30), "{what}");
        std::thread::sleep(StdDuration::from_millis(1));
    }
}

pub(super) fn until_connected(pool: &mut Pool, ports: &mut [&mut MemifPort]) {
    until("no link came up", || {
        ports.iter_mut().all(|port| {
            port.tx_room(pool);
            port.is_connected()
        })
    });
}

/// Sends what the ring takes; the rest is freed. How many went.
pub(super) fn send(port: &mut MemifPort, pool: &mut Pool, frames: &[&[u8]]) -> usize {
    let mut batch = Batch::new();
    for bytes in frames {
        let mut frame = pool.alloc().unwrap();
        assert!(frame.extend(bytes));
        batch.push(frame).unwrap();
    }
    port.tx(pool, &mut batch);
    port.flush(pool);
    let sent = frames.len() - batch.len();
    pool.free_batch(&mut batch);
    sent
}

pub(super) fn take(port: &mut MemifPort, pool: &mut Pool) -> Vec<Vec<u8>> {
    let mut batch = Batch::new();
    port.rx(pool, &mut batch);
    let frames = batch.iter().map(|frame| frame.data().to_vec()).collect();
    pool.free_batch(&mut batch);
    frames
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 7 + len) as u8).collect()
}

fn every_length_crosses_both_ways(change: impl Fn(&mut MemifConfig)) {
    let (server, mut client) = configs(&address());
    change(&mut client);
    let mut pool = pool(64);
    let (mut server, mut client) = (open(&server), open(&client));
    until_connected(&mut pool, &mut [&mut server, &mut client]);
    for len in 1..=1518 {
        let bytes = pattern(len);
        assert_eq!(send(&mut client, &mut pool, &[&bytes]), 1, "{len}");
        assert_eq!(take(&mut server, &mut pool), [bytes.as_slice()], "{len}");
        assert_eq!(send(&mut server, &mut pool, &[&bytes]), 1, "{len}");
        assert_eq!(take(&mut client, &mut pool), [bytes.as_slice()], "{len}");
    }
    assert_eq!(send(&mut client, &mut pool, &[&pattern(1519), b""]), 2);
    assert_eq!(client.counters().tx_drop_count, 2);
    for port in [&server, &client] {
        let counters = port.counters();
        assert_eq!((counters.rx_packet_count, counters.tx_packet_count), (1518, 1518));
        assert_eq!(counters.rx_byte_count, (1..=1518).sum::<u64>());
    }
    assert_eq!(pool.free_count(), 64);
}

#[test]
fn every_length_crosses_both_ways_in_one_buffer() {
    every_length_crosses_both_ways(|client| client.ring_log2 = 3);
}

#[test]
fn every_length_crosses_both_ways_in_parts() {
    every_length_crosses_both_ways(|client| (client.ring_log2, client.buffer_len) = (5, 64));
}

#[test]
fn a_full_ring_leaves_frames_in_the_batch_and_order_is_kept() {
    let (server, mut client) = configs(&address());
    client.ring_log2 = 4;
    let mut pool = pool(128);
    let (mut server, mut client) = (open(&server), open(&client));
    until_connected(&mut pool, &mut [&mut server, &mut client]);
    let frames: Vec<[u8; 1]> = (0..20).map(|n| [n]).collect();
    let frames: Vec<&[u8]> = frames.iter().map(|frame| frame.as_slice()).collect();
    assert_eq!(client.tx_room(&mut pool), 16);
    for _ in 0..5_000 {
        assert_eq!(send(&mut client, &mut pool, &frames), 16);
        assert_eq!(client.tx_room(&mut pool), 0);
        assert_eq!(take(&mut server, &mut pool), &frames[..16]);
        assert_eq!(send(&mut server, &mut pool, &frames), 16);
        assert_eq!(take(&mut client, &mut pool), &frames[..16]);
    }
    assert_eq!(client.counters().tx_ring_full_count, 4 * 5_000);
    assert_eq!(pool.free_count(), 128);
}

#[test]
fn a_receiver_without_chunks_drops_and_counts() {
    let (server, client) = configs(&address());
    let (mut near, mut far) = (pool(8), pool(1));
    let (mut server, mut client) = (open(&server), open(&client));
    until_connected(&mut near, &mut [&mut server, &mut client]);
    assert_eq!(send(&mut client, &mut near, &[b"a", b"b", b"c"]), 3);
    assert_eq!(take(&mut server, &mut far), [b"a"]);
    assert_eq!(server.counters().rx_drop_count, 2);
}

fn is_ready(port: &MemifPort, timeout: Duration) -> bool {
    poll(&[(port.wait_fd().unwrap(), Interest::READ)], Some(timeout)).unwrap() == 1
}

#[test]
fn sleepers_are_woken_by_frames_and_by_what_becomes_of_the_link() {
    const SOON: Duration = Duration::from_secs(20);
    let (server, client) = configs(&address());
    let mut pool = pool(64);
    let mut server = open(&server);
    assert!(!is_ready(&server, Duration::ZERO));
    let mut client = open(&client);
    assert!(is_ready(&server, SOON) && is_ready(&client, SOON), "a link came up");
    until_connected(&mut pool, &mut [&mut server, &mut client]);
    for _ in 0..100 {
        assert!(take(&mut server, &mut pool).is_empty());
        assert!(!is_ready(&server, Duration::ZERO));
        assert_eq!(send(&mut client, &mut pool, &[b"a"]), 1);
        assert!(is_ready(&server, SOON));
        // While the receiver is awake nobody calls the kernel.
        let before = client.counters().syscall_count;
        assert_eq!(take(&mut server, &mut pool).len(), 1);
        assert_eq!(send(&mut client, &mut pool, &[b"b"]), 1);
        assert_eq!(client.counters().syscall_count, before);
        assert_eq!(take(&mut server, &mut pool).len(), 1);
    }
    take(&mut server, &mut pool);
    drop(client);
    assert!(is_ready(&server, SOON), "the link went down");
}

#[test]
fn queues_are_apart() {
    let (mut server, mut client) = configs(&address());
    (server.queue_count, client.queue_count) = (4, 3);
    let mut pool = pool(64);
    let mut servers = open_memif(server).unwrap();
    let mut clients = open_memif(client).unwrap();
    until_connected(&mut pool, &mut servers[..3].iter_mut().chain(&mut clients).collect::<Vec<_>>());
    for (n, client) in (0_u8..).zip(&mut clients) {
        assert_eq!(send(client, &mut pool, &[&[n, 0]]), 1);
    }
    for (n, (server, client)) in (0_u8..).zip(servers.iter_mut().zip(&mut clients)) {
        assert_eq!(take(server, &mut pool), [[n, 0]]);
        assert_eq!(send(server, &mut pool, &[&[n, 1]]), 1);
        assert_eq!(take(client, &mut pool), [[n, 1]]);
    }
    assert!(!servers[3].is_connected(), "the client brought three");
}

#[test]
fn the_link_comes_back_after_either_side_went() {
    let (server_config, client_config) = configs(&address());
    let mut pool = pool(64);
    let (mut server, mut client) = (open(&server_config), open(&client_config));
    for round in 0..6_u64 {
        until_connected(&mut pool, &mut [&mut server, &mut client]);
        assert_eq!(send(&mut client, &mut pool, &[b"there"]), 1);
        assert_eq!(take(&mut server, &mut pool), [b"there"]);
        assert_eq!(send(&mut server, &mut pool, &[b"back"]), 1);
        assert_eq!(take(&mut client, &mut pool), [b"back"]);
        // Frames under way are lost with the link, and those of nobody's pool.
        send(&mut client, &mut pool, &[b"lost"]);
        if round % 2 == 0 {
            drop(server);
            until("the client did not notice", || {
                take(&mut client, &mut pool).is_empty() && !client.is_connected()
            });
            assert_eq!(send(&mut client, &mut pool, &[b"to nobody"]), 1);
            assert!(client.counters().tx_drop_count > 0);
            server = open(&server_config);
        } else {
            drop(client);
            until("the server did not notice", || {
                take(&mut server, &mut pool);
                !server.is_connected()
            });
            client = open(&client_config);
        }
    }
    assert_eq!(pool.free_count(), 64);
}

/// What both sides say of a link that cannot be.
fn refused(change: impl Fn(&mut MemifConfig, &mut MemifConfig)) -> (String, String) {
    let (mut server, mut client) = configs(&address());
    change(&mut server, &mut client);
    let (server, client) = (open(&server), open(&client));
    until("nobody complained", || server.status().last_error.is_some() && said(&client).contains("the peer"));
    assert_eq!(server.status().connect_count, 0);
    (said(&server), said(&client))
}

fn said(port: &MemifPort) -> String {
    port.status().last_error.unwrap_or_default()
}

#[test]
fn other_ids_and_secrets_are_refused_with_reasons() {
    let (server, client) = refused(|server, client| (server.id, client.id) = (3, 7));
    assert_eq!(server, "the client asks for interface 7 and this is 3: give both the same id");
    assert_eq!(client, format!("the peer ended the link: {server}"));
    let (server, client) = refused(|server, client| {
        (server.secret, client.secret) = ("right".into(), "wrong".into());
    });
    assert_eq!(server, "the secrets differ: give both sides the same");
    assert_eq!(client, format!("the peer ended the link: {server}"));
}

#[test]
fn the_right_secret_opens_and_a_second_client_is_sent_away() {
    let (mut server, mut client) = configs(&address());
    (server.secret, client.secret) = ("right".into(), "right".into());
    let mut pool = pool(8);
    let (mut server, mut first) = (open(&server), open(&client));
    until_connected(&mut pool, &mut [&mut server, &mut first]);
    assert_eq!(server.status().peer.as_deref(), Some("tidegate"));
    let second = open(&client);
    until("nobody sent it away", || said(&second).contains("one client at a time"));
    assert_eq!(send(&mut first, &mut pool, &[b"still here"]), 1);
    assert_eq!(take(&mut server, &mut pool), [b"still here"]);
}

#[test]
fn what_cannot_be_is_refused_at_once() {
    let wrong = |change: fn(&mut MemifConfig), text: &str| {
        let mut config = MemifConfig::new(&address(), MemifRole::Client);
        change(&mut config);
        let said = open_memif(config).unwrap_err().to_string();
        assert!(said.contains(text), "{said}");
    };
    wrong(|config| config.queue_count = 0, "1 to 256");
    wrong(|config| config.ring_log2 = 15, "power of two");
    wrong(|config| config.buffer_len = 63, "64 to 65535");
    wrong(|config| config.secret = "x".repeat(25), "24 bytes");
    wrong(|config| (config.queue_count, config.ring_log2, config.buffer_len) = (256, 14, 2048), "4 GiB");
    wrong(|config| (config.role, config.socket) = (MemifRole::Server, "/nowhere/at/all".into()), "directory");
}

#[test]
fn two_threads_pass_every_frame_in_order() {
    const COUNT: u32 = 50_000;
    let (server, client) = configs(&address());
    let (server, mut client) = (open(&server), open(&client));
    let echo = std::thread::spawn(move || {
        let (mut server, mut pool, mut batch) = (server, pool(256), Batch::new());
        let mut passed = 0;
        while passed < COUNT {
            server.rx(&mut pool, &mut batch);
            passed += batch.len() as u32;
            while !batch.is_empty() {
                server.tx(&mut pool, &mut batch);
                server.flush(&mut pool);
            }
            poll(&[(server.wait_fd().unwrap(), Interest::READ)], Some(Duration::from_millis(1))).unwrap();
        }
        // The link must outlive what is under way on it.
        std::thread::park_timeout(StdDuration::from_secs(30));
        drop(server);
    });
    let mut pool = pool(256);
    until_connected(&mut pool, &mut [&mut client]);
    let (mut sent, mut seen) = (0_u32, 0_u32);
    until("frames are missing", || {
        for _ in 0..200 {
            if sent < COUNT && sent - seen < 500 && client.tx_room(&mut pool) > 0 {
                sent += send(&mut client, &mut pool, &[&sent.to_be_bytes()]) as u32;
            }
            for bytes in take(&mut client, &mut pool) {
                assert_eq!(bytes, seen.to_be_bytes());
                seen += 1;
            }
        }
        seen == COUNT
    });
    echo.thread().unpark();
    echo.join().unwrap();
}
