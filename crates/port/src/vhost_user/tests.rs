//! A device and a driver in one process: frames of all lengths and shapes, checksums, queues, waking, changes, death of either.

use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration as StdDuration, Instant as StdInstant};

use tidegate_base::Duration;
use tidegate_packet::{Batch, HeapMemory, Pool};
use tidegate_sys::event::{Interest, poll};
use tidegate_sys::local_socket::{Listener, connect};
use vhost::VhostBackend;
use vhost::vhost_user::Frontend;

use super::device::feature;
use super::driver::{BUFFER_LEN, Driver, FEATURES, NEXT, Raw, SIZE};
use super::*;
use crate::Port;

/// A socket's name that no other test has.
pub(super) fn address() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("@tidegate-vhost-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

pub(super) fn pool(chunk_count: usize) -> Pool {
    Pool::new(Box::new(HeapMemory::new(chunk_count * 2048)), 2048).unwrap()
}

/// Tries until it is so; a test that would wait for ever fails.
pub(super) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = StdInstant::now();
    while !is_so() {
        assert!(start.elapsed() < StdDuration::from_secs(60), "{what}");
        std::thread::sleep(StdDuration::from_millis(1));
    }
}

/// A connection to the device, which takes no more than a few at a time.
pub(super) fn reach(address: &str) -> UnixStream {
    let mut stream = None;
    until("nobody listens", || {
        stream = connect(address).ok();
        stream.is_some()
    });
    stream.unwrap()
}

pub(super) fn open(address: &str, queue_count: u16) -> Vec<VhostUserPort> {
    let config = VhostUserConfig { queue_count, ..VhostUserConfig::new(address, VhostUserRole::Server) };
    open_vhost_user(config).unwrap()
}

pub(super) fn front(address: &str, queue_count: usize) -> Frontend {
    Frontend::from_stream(reach(address), 2 * queue_count as u64)
}

pub(super) fn until_connected(pool: &mut Pool, port: &mut VhostUserPort) {
    until("no link came up", || {
        port.tx_room(pool);
        port.is_connected()
    });
}

/// A port and a driver that run.
pub(super) fn linked(features: u64) -> (VhostUserPort, Driver, Pool) {
    let address = address();
    let (mut port, mut pool) = (open(&address, 1).remove(0), pool(256));
    let mut driver = Driver::attach(front(&address, 1), features, 1);
    driver.start(0, 0);
    driver.start(1, 0);
    if features & feature::PROTOCOL != 0 {
        driver.enable(0, true);
        driver.enable(1, true);
    }
    until_connected(&mut pool, &mut port);
    (port, driver, pool)
}

/// Sends what the ring takes; the rest is freed. How many went.
pub(super) fn send(port: &mut VhostUserPort, pool: &mut Pool, frames: &[&[u8]]) -> usize {
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

pub(super) fn take(port: &mut VhostUserPort, pool: &mut Pool) -> Vec<Vec<u8>> {
    let mut batch = Batch::new();
    port.rx(pool, &mut batch);
    let frames = batch.iter().map(|frame| frame.data().to_vec()).collect();
    pool.free_batch(&mut batch);
    frames
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 7 + len) as u8).collect()
}

fn every_length_crosses_both_ways(features: u64, buffer_len: u32) {
    let (mut port, mut driver, mut pool) = linked(features);
    for len in 1..=1518 {
        let bytes = pattern(len);
        driver.send(0, &bytes);
        assert_eq!(take(&mut port, &mut pool), [bytes.as_slice()], "{len}");
        assert_eq!(driver.used(1).len(), 1);
        while port.tx_room(&mut pool) < 32 {
            driver.give(0, buffer_len);
        }
        assert_eq!(send(&mut port, &mut pool, &[&bytes]), 1, "{len}");
        assert_eq!(driver.take(0), [bytes.as_slice()], "{len}");
    }
    assert_eq!(send(&mut port, &mut pool, &[&pattern(1519), b""]), 2);
    let counters = port.counters();
    assert_eq!((counters.rx_packet_count, counters.tx_packet_count), (1518, 1518));
    assert_eq!((counters.rx_byte_count, counters.tx_byte_count), ((1..=1518).sum(), (1..=1518).sum()));
    assert_eq!((counters.rx_drop_count, counters.tx_drop_count), (0, 2));
    assert_eq!(pool.free_count(), 256);
}

#[test]
fn every_length_crosses_both_ways_in_whole_buffers() {
    every_length_crosses_both_ways(FEATURES, BUFFER_LEN as u32);
}

#[test]
fn every_length_crosses_both_ways_in_merged_buffers() {
    every_length_crosses_both_ways(FEATURES, 100);
}

#[test]
fn every_length_crosses_both_ways_with_a_driver_of_old() {
    every_length_crosses_both_ways(0, BUFFER_LEN as u32);
}

#[test]
fn a_frame_in_parts_is_joined_wherever_the_parts_begin() {
    let (mut port, mut driver, mut pool) = linked(FEATURES);
    let frame = pattern(900);
    for cut in [1, 5, 11, 12, 13, 60, 899] {
        let mut all = vec![0; 12];
        all.extend(&frame);
        let (first, rest) = all.split_at(cut);
        let (second, third) = rest.split_at(rest.len() / 2);
        driver.send_parts(0, first, &[second, third]);
        assert_eq!(take(&mut port, &mut pool), [frame.as_slice()], "{cut}");
        assert_eq!(driver.used(1).len(), 1);
    }
}

#[test]
fn a_table_of_descriptors_is_followed() {
    let (mut port, mut driver, mut pool) = linked(FEATURES);
    let table = driver.buffer(1, 0);
    let frame_at = driver.buffer(1, 1);
    let at = (table - super::driver::GUEST_START) as usize;
    let header = Raw { address: driver.buffer(1, 2), len: 12, flags: NEXT, next: 3 };
    assert!(driver.memory.write((frame_at - super::driver::GUEST_START) as usize, b"in a table"));
    driver.write_descriptor(at, header);
    driver.write_descriptor(at + 3 * 16, Raw { address: frame_at, len: 10, flags: 0, next: 0 });
    driver.describe(1, 5, Raw { address: table, len: 4 * 16, flags: super::driver::INDIRECT, next: 0 });
    driver.offer(1, 5);
    assert_eq!(take(&mut port, &mut pool), [b"in a table"]);
    assert_eq!(driver.used(1), [(5, 0)]);
}

#[test]
fn a_full_ring_leaves_frames_in_the_batch_and_order_is_kept() {
    let (mut port, mut driver, mut pool) = linked(FEATURES);
    let frames: Vec<[u8; 1]> = (0..20).map(|n| [n]).collect();
    let frames: Vec<&[u8]> = frames.iter().map(|frame| frame.as_slice()).collect();
    for _ in 0..10_000 {
        (0..16).for_each(|_| driver.give(0, 128));
        assert_eq!(port.tx_room(&mut pool), 16);
        assert_eq!(send(&mut port, &mut pool, &frames), 16);
        assert_eq!(port.tx_room(&mut pool), 0);
        assert_eq!(driver.take(0), &frames[..16]);
    }
    assert_eq!(port.counters().tx_ring_full_count, 4 * 10_000);
    assert_eq!(pool.free_count(), 256);
}

/// A UDP datagram's frame whose checksum field holds the pseudo header's sum.
fn partial() -> (Vec<u8>, [u8; 12]) {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    frame.extend([0x45, 0, 0, 32, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([0x04, 0x57, 0x08, 0xae, 0, 12, 0, 0, 1, 2, 3, 4]);
    let pseudo = [10, 0, 0, 1, 10, 0, 0, 2, 0, 17, 0, 12];
    let sum = tidegate_base::checksum::Sum::of(&pseudo).fold();
    frame[40..42].copy_from_slice(&sum.to_be_bytes());
    // Flags: needs a checksum; it starts at 34, its field is 6 behind that.
    (frame, [1, 0, 0, 0, 0, 0, 34, 0, 6, 0, 0, 0])
}

#[test]
fn partial_checksums_are_completed_if_that_was_agreed_and_refused_if_not() {
    let (frame, header) = partial();
    let (mut port, mut driver, mut pool) = linked(FEATURES);
    driver.send_parts(0, &header, &[&frame]);
    let seen = take(&mut port, &mut pool).remove(0);
    let pseudo = [10, 0, 0, 1, 10, 0, 0, 2, 0, 17, 0, 12];
    let sum = tidegate_base::checksum::Sum::of;
    assert!((sum(&pseudo) + sum(&seen[34..])).is_valid());
    assert_eq!((&seen[..40], &seen[42..]), (&frame[..40], &frame[42..]));
    let (mut port, mut driver, mut pool) = linked(FEATURES & !feature::CHECKSUM);
    driver.send_parts(0, &header, &[&frame]);
    assert!(take(&mut port, &mut pool).is_empty());
    assert_eq!((port.counters().rx_drop_count, port.drops().bad_header_count), (1, 1));
}

#[test]
fn what_makes_no_frame_is_dropped_counted_and_given_back() {
    let (mut port, mut driver, mut pool) = linked(FEATURES);
    driver.send_parts(0, &[0; 12], &[&[1; 2000]]);
    driver.send_parts(0, &[0; 12], &[]);
    driver.send_parts(0, &[0; 5], &[]);
    // A large frame to be cut.
    driver.send_parts(0, &[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[&[1; 60]]);
    driver.send(0, b"good");
    assert_eq!(take(&mut port, &mut pool), [b"good"]);
    let drops = port.drops();
    assert_eq!((drops.too_long_count, drops.bad_buffer_count, drops.bad_header_count), (1, 2, 1));
    assert_eq!(port.counters().rx_drop_count, 4);
    assert_eq!(driver.used(1).len(), 5);
    let mut none = super::tests::pool(1);
    let held = none.alloc().unwrap();
    driver.send(0, b"no room");
    assert!(take(&mut port, &mut none).is_empty());
    assert_eq!(port.drops().no_chunk_count, 1);
    none.free(held);
    assert_eq!(pool.free_count(), 256);
}

fn is_ready(port: &VhostUserPort, timeout: Duration) -> bool {
    poll(&[(port.wait_fd().unwrap(), Interest::READ)], Some(timeout)).unwrap() == 1
}

#[test]
fn sleepers_are_woken_by_frames_and_by_what_becomes_of_the_link() {
    const SOON: Duration = Duration::from_secs(60);
    let address = address();
    let (mut port, mut pool) = (open(&address, 1).remove(0), pool(16));
    assert!(!is_ready(&port, Duration::ZERO));
    let mut driver = Driver::attach(front(&address, 1), FEATURES, 1);
    driver.start_all();
    assert!(is_ready(&port, SOON), "a link came up");
    until_connected(&mut pool, &mut port);
    for _ in 0..100 {
        // The driver's events of set-up may come late.
        until("nobody let it be", || {
            take(&mut port, &mut pool).is_empty() && !is_ready(&port, Duration::ZERO)
        });
        driver.send(0, b"a");
        assert!(driver.kick(1), "a sleeper wants to be told");
        assert!(is_ready(&port, SOON));
        assert_eq!(take(&mut port, &mut pool).len(), 1);
        assert!(driver.was_called(1));
        driver.send(0, b"b");
        assert!(!driver.kick(1), "who is awake does not");
        assert_eq!(take(&mut port, &mut pool).len(), 1);
    }
    until("nobody let it be", || take(&mut port, &mut pool).is_empty() && !is_ready(&port, Duration::ZERO));
    drop(driver);
    assert!(is_ready(&port, SOON), "the link went down");
    until("it did not notice", || {
        take(&mut port, &mut pool);
        !port.is_connected()
    });
    assert_eq!(send(&mut port, &mut pool, &[b"to nobody"]), 1);
    assert_eq!(port.counters().tx_drop_count, 1);
}

#[test]
fn queues_are_apart_and_run_as_far_as_they_are_started() {
    let address = address();
    let (mut ports, mut pool) = (open(&address, 4), pool(64));
    let mut driver = Driver::attach(front(&address, 4), FEATURES | feature::QUEUES, 3);
    driver.start_all();
    for port in &mut ports[..3] {
        until_connected(&mut pool, port);
    }
    for (n, port) in (0_u8..).zip(&mut ports[..3]) {
        driver.give(n.into(), 128);
        assert_eq!(send(port, &mut pool, &[&[n, 1]]), 1);
        driver.send(n.into(), &[n, 0]);
    }
    for (n, port) in (0_u8..).zip(&mut ports[..3]) {
        assert_eq!(driver.take(n.into()), [[n, 1]]);
        assert_eq!(take(port, &mut pool), [[n, 0]]);
    }
    ports[3].tx_room(&mut pool);
    assert!(!ports[3].is_connected(), "the driver started three");
}

#[test]
fn a_ring_that_is_taken_back_goes_on_where_it_was() {
    let (mut port, mut driver, mut pool) = linked(FEATURES);
    for round in 0..50_u8 {
        (0..3).for_each(|_| driver.give(0, 128));
        driver.send(0, &[round]);
        assert_eq!(take(&mut port, &mut pool), [[round]]);
        assert_eq!(send(&mut port, &mut pool, &[&[round], &[round]]), 2);
        assert_eq!(driver.take(0).len(), 2);
        match round % 4 {
            0 => driver.share_memory(),
            1 => driver.enable(1, false),
            _ => {
                let base = [0, 1].map(|ring| driver.front.get_vring_base(ring).unwrap() as u16);
                assert_eq!(base, [2 * (u16::from(round) + 1), u16::from(round) + 1]);
                driver.start(0, base[0]);
                driver.start(1, base[1]);
            }
        }
        driver.enable(1, true);
        until_connected(&mut pool, &mut port);
    }
    assert_eq!((port.counters().rx_drop_count, port.counters().tx_drop_count), (0, 0));
}

#[test]
fn the_link_comes_back_after_either_side_went() {
    let address = address();
    let (mut port, mut pool) = (open(&address, 1).remove(0), pool(64));
    for round in 0..6 {
        let mut driver = Driver::attach(front(&address, 1), FEATURES, 1);
        driver.start_all();
        until_connected(&mut pool, &mut port);
        driver.send(0, b"there");
        assert_eq!(take(&mut port, &mut pool), [b"there"]);
        if round % 2 == 0 {
            drop(driver);
            until("the port did not notice", || {
                take(&mut port, &mut pool);
                !port.is_connected()
            });
        } else {
            drop(port);
            assert!(driver.front.get_features().is_err(), "nobody is there");
            port = open(&address, 1).remove(0);
        }
    }
    assert_eq!(pool.free_count(), 64);
}

#[test]
fn a_client_finds_a_front_end_that_listens_later_and_again() {
    let address = address();
    let config = VhostUserConfig::new(&address, VhostUserRole::Client);
    let (mut port, mut pool) = (open_vhost_user(config).unwrap().remove(0), pool(16));
    until("it did not try", || port.status().last_error.is_some());
    for _ in 0..3 {
        let socket = Listener::<UnixStream>::bind(&address).unwrap();
        let mut stream = None;
        until("nobody came", || {
            stream = socket.try_accept().unwrap();
            stream.is_some()
        });
        let mut driver = Driver::attach(Frontend::from_stream(stream.unwrap(), 2), FEATURES, 1);
        driver.start_all();
        until_connected(&mut pool, &mut port);
        driver.send(0, b"there");
        assert_eq!(take(&mut port, &mut pool), [b"there"]);
        drop((driver, socket));
        until("the port did not notice", || {
            take(&mut port, &mut pool);
            !port.is_connected()
        });
    }
}

#[test]
fn what_cannot_be_is_refused_at_once_and_a_dead_ones_socket_is_replaced() {
    let config = VhostUserConfig::new("/nowhere/at/all", VhostUserRole::Server);
    let said = open_vhost_user(config).unwrap_err().to_string();
    assert!(said.contains("/nowhere/at/all"), "{said}");
    for queue_count in [0, 129] {
        let config = VhostUserConfig { queue_count, ..VhostUserConfig::new("@x", VhostUserRole::Server) };
        assert!(open_vhost_user(config).unwrap_err().to_string().contains("1 to 128"));
    }
    let path = std::env::temp_dir().join(format!("tidegate-vhost-stale-{}", std::process::id()));
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let ports = open(path.to_str().unwrap(), 1);
    let taken = VhostUserConfig::new(path.to_str().unwrap(), VhostUserRole::Server);
    assert!(open_vhost_user(taken).unwrap_err().to_string().contains("could not listen"));
    drop(ports);
    assert!(!path.exists());
}

#[test]
fn a_ring_wraps_at_every_index() {
    let (mut port, mut driver, mut pool) = linked(FEATURES);
    for n in 0..70_000_u32 {
        driver.send(0, &n.to_be_bytes());
        driver.give(0, 64);
        assert_eq!(take(&mut port, &mut pool), [n.to_be_bytes()]);
        assert_eq!(send(&mut port, &mut pool, &[&n.to_be_bytes()]), 1);
        if n % u32::from(SIZE / 2) == 0 {
            driver.used(1);
        }
        assert_eq!(driver.take(0), [n.to_be_bytes()]);
    }
}
