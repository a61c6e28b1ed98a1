//! Front ends that lie: in messages, in rings, while they are being read, and that take their memory away. Seeded; a crash or a
//! lost chunk is the failure.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use tidegate_base::Rng;
use tidegate_sys::shared_memory::SharedMemory;
use vhost::{VhostBackend, VhostUserMemoryRegionInfo};

use super::driver::{
    BUFFER_LEN, Driver, FEATURES, GUEST_START, INDIRECT, MEMORY_LEN, NEXT, Raw, SIZE, WRITE,
};
use super::tests::{address, front, linked, open, pool, reach, send, take, until, until_connected};
use super::*;
use crate::Port;

/// Frames that follow are served as ever.
fn assert_serves(port: &mut VhostUserPort, driver: &mut Driver, pool: &mut tidegate_packet::Pool) {
    driver.send(0, b"honest");
    until("an honest frame was lost", || take(port, pool).iter().any(|frame| frame == b"honest"));
}

#[test]
fn loops_and_places_outside_are_dropped_and_counted() {
    let (mut port, mut driver, mut pool) = linked(FEATURES);
    let good = driver.buffer(1, 0);
    let one = |address, len, flags, next| vec![Raw { address, len, flags, next }];
    let bad = [
        // To itself, and two in a circle.
        one(good, 20, NEXT, 0),
        [one(good, 20, NEXT, 1), one(good, 1, NEXT, 0)].concat(),
        // Beyond the ring.
        one(good, 20, NEXT, SIZE),
        // Outside of the memory: before, behind, across its end, across two regions, around the end of all addresses.
        one(0, 60, 0, 0),
        one(GUEST_START + MEMORY_LEN, 60, 0, 0),
        one(GUEST_START + MEMORY_LEN - 30, 60, 0, 0),
        one(GUEST_START + MEMORY_LEN / 2 - 30, 60, 0, 0),
        one(u64::MAX - 10, 60, 0, 0),
        one(good, u32::MAX, 0, 0),
        // For the device to write.
        one(good, 60, WRITE, 0),
        // Tables: none, half a descriptor, outside, with more behind, a table in a table.
        one(good, 0, INDIRECT, 0),
        one(good, 24, INDIRECT, 0),
        one(u64::MAX - 15, 32, INDIRECT, 0),
        one(good, 16, INDIRECT | NEXT, 1),
        // An empty buffer.
        one(good, 0, 0, 0),
    ];
    let count = bad.len();
    for (n, descriptors) in bad.into_iter().enumerate() {
        for (slot, raw) in (0..).zip(descriptors) {
            driver.describe(1, slot, raw);
        }
        driver.offer(1, 0);
        assert!(take(&mut port, &mut pool).is_empty(), "{n}");
        assert_eq!(driver.used(1), [(0, 0)], "{n}");
    }
    let table = (good - GUEST_START) as usize;
    driver.write_descriptor(table, Raw { address: good, len: 16, flags: INDIRECT, next: 0 });
    driver.describe(1, 0, Raw { address: good, len: 16, flags: INDIRECT, next: 0 });
    driver.offer(1, 0);
    driver.offer(1, SIZE);
    driver.offer(1, u16::MAX);
    assert!(take(&mut port, &mut pool).is_empty());
    let drops = port.drops();
    assert_eq!(drops.bad_buffer_count + drops.too_long_count, count as u64 + 3);
    assert_eq!(port.counters().rx_drop_count, count as u64 + 3);
    driver.used(1);
    assert_serves(&mut port, &mut driver, &mut pool);
    assert_eq!(pool.free_count(), 256);
}

#[test]
fn buffers_to_receive_into_that_cannot_be_cost_their_frame_only() {
    let (mut port, mut driver, mut pool) = linked(FEATURES);
    let good = driver.buffer(0, 0);
    let bad = [
        // A circle whose parts are not enough for the frame before the walk ends.
        Raw { address: good, len: 10, flags: WRITE | NEXT, next: 0 },
        Raw { address: good, len: 100, flags: 0, next: 0 },
        Raw { address: 0, len: 2048, flags: WRITE, next: 0 },
        Raw { address: u64::MAX - 5, len: 2048, flags: WRITE, next: 0 },
        Raw { address: GUEST_START + MEMORY_LEN - 20, len: 2048, flags: WRITE, next: 0 },
    ];
    for (n, raw) in (1_u64..).zip(bad) {
        driver.describe(0, 0, raw);
        driver.offer(0, 0);
        assert_eq!(send(&mut port, &mut pool, &[&[7; 1400]]), 1);
        assert_eq!(port.counters().tx_drop_count, n, "{raw:?}");
        assert_eq!(driver.used(0), [(0, 0)]);
    }
    // A hundred empty ones: none will ever hold it.
    for _ in 0..100 {
        driver.give(0, 0);
    }
    assert_eq!(send(&mut port, &mut pool, &[&[7; 60]]), 1);
    assert_eq!(port.counters().tx_drop_count, 6);
    assert_eq!(pool.free_count(), 256);
}

/// A number as likely near an edge as anywhere.
fn nasty(random: &mut Rng) -> u64 {
    match random.next_u64() % 7 {
        0 => random.next_u64() % 8,
        1 => u64::MAX - random.next_u64() % 8,
        2 => GUEST_START + random.next_u64() % (MEMORY_LEN + 16),
        3 => GUEST_START + MEMORY_LEN - 8 + random.next_u64() % 16,
        4 => 1 << (random.next_u64() % 64),
        5 => random.next_u64() % 4096,
        _ => random.next_u64(),
    }
}

/// Writes into rings and descriptors as nobody should.
fn scribble(memory: &SharedMemory, random: &mut Rng) {
    const RING_LEN: usize = 64 << 10;
    for ring in [0, RING_LEN] {
        for _ in 0..1 + random.next_u64() % 8 {
            let slot = ring + 16 * (random.next_u64() as usize % usize::from(SIZE));
            memory.store_u64(slot, nasty(random));
            let len =
                nasty(random) as u32 % if random.next_u64().is_multiple_of(2) { 3000 } else { u32::MAX };
            let flags = random.next_u64() % 8;
            memory.store_u64(slot + 8, u64::from(len) | flags << 32 | (random.next_u64() % 140) << 48);
            let head = ring + (16 << 10) + 4 + 2 * (random.next_u64() as usize % usize::from(SIZE));
            memory.store_u16(head, random.next_u64() as u16 % 140, Ordering::Relaxed);
        }
        // Small steps let through what wild ones do not.
        let index = ring + (16 << 10) + 2;
        let old = memory.load_u16(index, Ordering::Relaxed);
        let new = match random.next_u64() % 8 {
            0 => nasty(random) as u16,
            _ => old.wrapping_add(random.next_u64() as u16 % 20),
        };
        memory.store_u16(index, new, Ordering::Relaxed);
        memory.store_u16(ring + (32 << 10) + 2, nasty(random) as u16, Ordering::Relaxed);
    }
}

#[test]
fn a_port_survives_a_driver_that_scribbles() {
    for seed in 0..4 {
        let (mut port, driver, mut pool) = linked(FEATURES);
        let mut random = Rng::new(seed);
        let frame = [0x55; 1500];
        let mut turn = |random: &mut Rng| {
            let len = 1 + random.next_u64() as usize % frame.len();
            send(&mut port, &mut pool, &[&frame[..len], &frame[..60]]);
            take(&mut port, &mut pool);
            assert_eq!(pool.free_count(), 256);
        };
        for _ in 0..3_000 {
            scribble(&driver.memory, &mut random);
            turn(&mut random);
        }
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut random = Rng::new(seed + 100);
                while !is_done.load(Ordering::Relaxed) {
                    scribble(&driver.memory, &mut random);
                }
            });
            for _ in 0..3_000 {
                turn(&mut random);
            }
            is_done.store(true, Ordering::Relaxed);
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Any descriptors at all: what comes out is a frame or a drop, each buffer comes back once, and nothing is lost.
    #[test]
    fn any_descriptors_make_frames_or_drops(
        table in proptest::collection::vec((any::<prop::sample::Index>(), 0_u32..5000, 0_u16..8, 0_u16..20), 16),
        heads in proptest::collection::vec(0_u16..20, 1..60),
    ) {
        let (mut port, mut driver, mut pool) = linked(FEATURES);
        let places = [GUEST_START, GUEST_START + (2 << 20), GUEST_START + MEMORY_LEN - 100, 0, u64::MAX - 50];
        for ring in 0..2 {
            for (slot, (place, len, flags, next)) in (0..).zip(&table) {
                let raw = Raw { address: *place.get(&places), len: *len, flags: *flags, next: *next };
                driver.describe(ring, slot, raw);
            }
            heads.iter().for_each(|head| driver.offer(ring, *head));
        }
        let frames: u64 = (0..4).map(|_| take(&mut port, &mut pool).len() as u64).sum();
        prop_assert_eq!(frames + port.counters().rx_drop_count, heads.len() as u64);
        prop_assert_eq!(driver.used(1).len(), heads.len());
        let offered = heads.len() as u64;
        for _ in 0..offered {
            send(&mut port, &mut pool, &[&[1; 200]]);
        }
        let counters = port.counters();
        prop_assert_eq!(counters.tx_packet_count + counters.tx_drop_count + counters.tx_ring_full_count, offered);
        prop_assert!(driver.used(0).len() <= heads.len());
        prop_assert_eq!(pool.free_count(), 256);
    }
}

#[test]
fn memory_that_vanishes_ends_the_link_and_nothing_else() {
    for round in 0..20 {
        let address = address();
        let (mut port, mut pool) = (open(&address, 1).remove(0), pool(64));
        let mut driver = Driver::attach(front(&address, 1), FEATURES, 1);
        driver.start_all();
        until_connected(&mut pool, &mut port);
        for _ in 0..60 {
            driver.send(0, &[1; 300]);
            driver.give(0, BUFFER_LEN as u32);
        }
        std::thread::scope(|scope| {
            // While frames pass, or with nobody looking; all of it, or what buffers lie in.
            let file = &driver.file;
            let vanish = move || file.set_len(if round % 4 < 2 { 0 } else { MEMORY_LEN / 2 }).unwrap();
            if round % 2 == 0 {
                scope.spawn(vanish);
            } else {
                vanish();
            }
            until("the link did not end", || {
                take(&mut port, &mut pool);
                send(&mut port, &mut pool, &[&[2; 900][..]; 8]);
                port.status().last_error.is_some_and(|said| said.contains("memory is gone"))
            });
        });
        assert_eq!(pool.free_count(), 64);
        // The next front end is served as ever.
        let mut next = Driver::attach(front(&address, 1), FEATURES, 1);
        next.start_all();
        until_connected(&mut pool, &mut port);
        assert_serves(&mut port, &mut next, &mut pool);
    }
}

#[test]
fn a_front_end_is_told_off_with_reasons() {
    let address = address();
    let mut port = open(&address, 1).remove(0);
    let mut refused = |text: &str, act: &dyn Fn(&vhost::vhost_user::Frontend)| {
        let front = front(&address, 1);
        front.set_owner().unwrap();
        front.get_features().unwrap();
        act(&front);
        until(text, || port.status().last_error.is_some_and(|said| said.contains(text)));
        take(&mut port, &mut pool(1));
    };
    refused("were not offered", &|front| drop(front.set_features(1 << 40)));
    refused("in memory", &|front| {
        let disk = std::fs::File::open("/proc/self/exe").unwrap();
        let region = VhostUserMemoryRegionInfo {
            guest_phys_addr: 0,
            memory_size: 4096,
            userspace_addr: 0,
            mmap_offset: 0,
            mmap_handle: disk.as_raw_fd(),
        };
        drop(front.set_mem_table(&[region]));
    });
    refused("not the 8388608 that it says", &|front| {
        let file = super::driver::unsealed(4096);
        let region = VhostUserMemoryRegionInfo {
            guest_phys_addr: 0,
            memory_size: 8 << 20,
            userspace_addr: 0,
            mmap_offset: 0,
            mmap_handle: file.as_raw_fd(),
        };
        drop(front.set_mem_table(&[region]));
    });
    refused("a ring of 24 slots", &|front| drop(front.set_vring_num(0, 24)));
}

#[test]
fn half_a_message_keeps_nobody_from_closing() {
    let address = address();
    let port = open(&address, 1).remove(0);
    let mut stream = reach(&address);
    until("nobody took it", || port.status().is_connected);
    stream.write_all(&[1, 0, 0]).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(50));
    drop(port);
}

#[test]
fn random_messages_are_survived() {
    let address = address();
    let (mut port, mut pool) = (open(&address, 2).remove(0), pool(16));
    let mut random = Rng::new(42);
    for _ in 0..300 {
        let mut stream = reach(&address);
        for _ in 0..1 + random.next_u64() % 12 {
            let code = random.next_u64() as u32 % 50;
            let len = (random.next_u64() % 9 * 8) as u32;
            let flags = if random.next_u64().is_multiple_of(8) { random.next_u64() as u32 } else { 1 | 8 };
            let mut message = [code, flags, len].map(u32::to_le_bytes).concat();
            for _ in 0..len / 8 {
                message.extend((nasty(&mut random) % 300).to_le_bytes());
            }
            if random.next_u64().is_multiple_of(10) {
                message.truncate(random.next_u64() as usize % message.len().max(1));
            }
            // The port may have hung up already.
            let _ = stream.write_all(&message);
        }
    }
    until("the last one is not gone", || {
        take(&mut port, &mut pool);
        !port.status().is_connected
    });
    let mut driver = Driver::attach(front(&address, 2), FEATURES, 1);
    driver.start_all();
    until_connected(&mut pool, &mut port);
    assert_serves(&mut port, &mut driver, &mut pool);
}

#[test]
fn two_threads_pass_frames_while_rings_come_and_go() {
    let (mut port, mut driver, mut pool) = linked(FEATURES);
    let is_done = Arc::new(AtomicBool::new(false));
    let done = Arc::clone(&is_done);
    let worker = std::thread::spawn(move || {
        while !done.load(Ordering::Relaxed) {
            take(&mut port, &mut pool);
            send(&mut port, &mut pool, &[&b"x"[..]; 4]);
        }
        assert_eq!(pool.free_count(), 256);
        port
    });
    for _ in 0..500 {
        (0..8).for_each(|_| driver.send(0, b"frame"));
        (0..8).for_each(|_| driver.give(0, 64));
        driver.share_memory();
        let base = [0, 1].map(|ring| driver.front.get_vring_base(ring).unwrap() as u16);
        // What was taken is given back, and no more is taken.
        let used = [0, 1].map(|ring| driver.used(ring).len());
        assert!(used[0] <= 16 * 500 && used[1] <= 8 * 500);
        driver.start(0, base[0]);
        driver.start(1, base[1]);
    }
    is_done.store(true, Ordering::Relaxed);
    let port = worker.join().unwrap();
    assert_eq!(port.counters().rx_drop_count, 0);
}
