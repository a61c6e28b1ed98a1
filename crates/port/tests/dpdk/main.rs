//! Ports with a peer of others: DPDK's testpmd sends each frame back.
//!
//! ```text
//!   our port == control socket, shared memory == net_memif, virtio_user -> testpmd, io mode -> back by the same
//! ```
//! `scripts/testpmd` puts the program where this looks for it.
#![forbid(unsafe_code)]

mod memif;
mod vhost_user;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tidegate_packet::{Batch, Frame, HeapMemory, Pool};
use tidegate_port::Port;
use tidegate_testbed::{Pages, Testpmd};

/// How many frames are under way at most: fewer than the rings and testpmd's burst can hold.
const WINDOW: u32 = 128;
const COUNT: u32 = 100_000;
const LEN_MAX: u32 = 1514;
/// For as much as takes a moment on a machine that does nothing else.
const PATIENCE: Duration = Duration::from_secs(120);

/// testpmd on a device as DPDK's `--vdev` has it, with so many queues, sending each frame back.
fn testpmd(device: String, queue_count: u16) -> Testpmd {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("testpmd");
    assert!(root.exists(), "{} is missing: run scripts/testpmd", root.display());
    let queues = [format!("--rxq={queue_count}"), format!("--txq={queue_count}")];
    let options = ["-a", "--forward-mode=io", "--total-num-mbufs=4096", &queues[0], &queues[1]];
    Testpmd::start(&root, Pages::Ordinary, &[device], &options).unwrap()
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("tidegate-dpdk-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("socket")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn pool() -> Pool {
    Pool::new(Box::new(HeapMemory::new(512 * 2048)), 2048).unwrap()
}

/// Tries until the port says so.
fn until<P: Port>(
    what: &str,
    port: &mut P,
    say: impl Fn(&P) -> String,
    mut is_so: impl FnMut(&mut P) -> bool,
) {
    let start = Instant::now();
    while !is_so(port) {
        assert!(start.elapsed() < PATIENCE, "{what}: {}", say(port));
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn len_of(number: u32) -> usize {
    (60 + number % (LEN_MAX - 59)) as usize
}

fn byte_of(number: u32) -> u8 {
    (number ^ number >> 8) as u8
}

/// The number of frames that only ask whether anybody is there.
const PROBE: u32 = u32::MAX;

fn numbered(pool: &mut Pool, number: u32) -> Frame {
    let mut frame = pool.alloc().unwrap();
    let room = frame.push_back(len_of(number)).unwrap();
    room.fill(byte_of(number));
    room[..4].copy_from_slice(&number.to_be_bytes());
    frame
}

/// Sends a frame now and then until one comes back: what comes before testpmd forwards, it throws away.
fn until_forwarded<P: Port>(port: &mut P, pool: &mut Pool, say: impl Fn(&P) -> String) {
    let mut batch = Batch::new();
    until("nothing comes back", port, say, |port| {
        if port.tx_room(pool) > 0 {
            batch.push(numbered(pool, PROBE)).unwrap();
            port.tx(pool, &mut batch);
            port.flush(pool);
            pool.free_batch(&mut batch);
        }
        std::thread::sleep(Duration::from_millis(20));
        let count = port.rx(pool, &mut batch);
        pool.free_batch(&mut batch);
        count > 0
    });
}

/// Sends numbered frames of all lengths and takes them back, in order and whole.
fn all_come_back<P: Port>(port: &mut P, pool: &mut Pool, say: impl Fn(&P) -> String) {
    until_forwarded(port, pool, &say);
    let (mut sent, mut seen) = (0_u32, 0_u32);
    let (mut out, mut back) = (Batch::new(), Batch::new());
    let start = Instant::now();
    while seen < COUNT {
        assert!(start.elapsed() < PATIENCE, "{seen} of {COUNT} came back: {}", say(port));
        while sent < COUNT && sent - seen < WINDOW && out.room() > 0 {
            out.push(numbered(pool, sent)).unwrap();
            sent += 1;
        }
        port.tx(pool, &mut out);
        port.flush(pool);
        if port.rx(pool, &mut back) == 0 {
            std::thread::yield_now();
        }
        for frame in back.iter() {
            let (number, rest) = frame.data().split_first_chunk().unwrap();
            if *number == PROBE.to_be_bytes() {
                continue;
            }
            assert_eq!((u32::from_be_bytes(*number), frame.len()), (seen, len_of(seen)));
            assert!(rest.iter().all(|byte| *byte == byte_of(seen)), "frame {seen}");
            seen += 1;
        }
        pool.free_batch(&mut back);
    }
    assert_eq!(port.counters().rx_drop_count, 0);
}
