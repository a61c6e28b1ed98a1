//! memif with a peer of others: DPDK's testpmd sends each frame back, over either role.
//!
//! ```text
//!   our port == control socket, shared memory == net_memif -> testpmd, io mode -> net_memif
//! ```
//! `scripts/testpmd` puts the program where this looks for it.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tidegate_packet::{Batch, HeapMemory, Pool};
use tidegate_port::{MemifConfig, MemifPort, MemifRole, Port, open_memif};
use tidegate_testbed::{Pages, Testpmd};

/// How many frames are under way at most: fewer than the rings and testpmd's burst can hold.
const WINDOW: u32 = 128;
const COUNT: u32 = 100_000;
const LEN_MAX: u32 = 1514;

/// testpmd at the other end of a link, sending each frame back.
fn testpmd(role: &str, socket: &Path, more: &str) -> Testpmd {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("testpmd");
    assert!(root.exists(), "{} is missing: run scripts/testpmd", root.display());
    let device = format!("net_memif0,role={role},socket={},socket-abstract=no{more}", socket.display());
    Testpmd::start(&root, Pages::Ordinary, &[device], &["-a", "--forward-mode=io", "--total-num-mbufs=4096"])
        .unwrap()
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("tidegate-dpdk-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("memif.sock")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn until(what: &str, port: &MemifPort, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}: {:?}", port.status());
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn until_up(port: &mut MemifPort, pool: &mut Pool) {
    let start = Instant::now();
    while !port.is_connected() {
        assert!(start.elapsed() < Duration::from_secs(60), "no link came up: {:?}", port.status());
        port.tx_room(pool);
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn len_of(number: u32) -> usize {
    (60 + number % (LEN_MAX - 59)) as usize
}

fn byte_of(number: u32) -> u8 {
    (number ^ number >> 8) as u8
}

/// Sends numbered frames of all lengths and takes them back, in order and whole.
fn all_come_back(port: &mut MemifPort, pool: &mut Pool) {
    let (mut sent, mut seen) = (0_u32, 0_u32);
    let (mut out, mut back) = (Batch::new(), Batch::new());
    let start = Instant::now();
    while seen < COUNT {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{seen} of {COUNT} came back: {:?}",
            port.status()
        );
        while sent < COUNT && sent - seen < WINDOW && out.room() > 0 {
            let mut frame = pool.alloc().unwrap();
            let room = frame.push_back(len_of(sent)).unwrap();
            room.fill(byte_of(sent));
            room[..4].copy_from_slice(&sent.to_be_bytes());
            out.push(frame).unwrap();
            sent += 1;
        }
        port.tx(pool, &mut out);
        port.flush(pool);
        if port.rx(pool, &mut back) == 0 {
            std::thread::yield_now();
        }
        for frame in back.iter() {
            let (number, rest) = frame.data().split_first_chunk().unwrap();
            assert_eq!((u32::from_be_bytes(*number), frame.len()), (seen, len_of(seen)));
            assert!(rest.iter().all(|byte| *byte == byte_of(seen)), "frame {seen}");
            seen += 1;
        }
        pool.free_batch(&mut back);
    }
    assert_eq!(port.counters().rx_drop_count, 0);
}

fn open(socket: &Path, role: MemifRole, change: impl Fn(&mut MemifConfig)) -> MemifPort {
    let mut config = MemifConfig::new(socket.to_str().unwrap(), role);
    change(&mut config);
    open_memif(config).unwrap().remove(0)
}

fn pool() -> Pool {
    Pool::new(Box::new(HeapMemory::new(512 * 2048)), 2048).unwrap()
}

#[test]
fn dpdk_as_the_client_gets_frames_and_returns_them_and_comes_again_after_its_death() {
    let (scratch, mut pool) = (Scratch::new("client"), pool());
    let mut port = open(&scratch.socket(), MemifRole::Server, |config| config.secret = "shared".into());
    // Buffers shorter than the frames, so that most go in parts.
    for more in [",rsize=9,secret=shared", ",rsize=10,bsize=512,secret=shared"] {
        let peer = testpmd("client", &scratch.socket(), more);
        until_up(&mut port, &mut pool);
        assert!(port.status().peer.is_some());
        all_come_back(&mut port, &mut pool);
        peer.kill();
        while port.is_connected() {
            port.tx_room(&mut pool);
            std::thread::yield_now();
        }
    }
    let _wrong = testpmd("client", &scratch.socket(), ",secret=other");
    until("a wrong secret was let in", &port, || {
        port.status().last_error.is_some_and(|said| said.contains("secrets differ"))
    });
}

#[test]
fn dpdk_as_the_server_gets_frames_and_returns_them() {
    let (scratch, mut pool) = (Scratch::new("server"), pool());
    let mut port = open(&scratch.socket(), MemifRole::Client, |config| config.ring_log2 = 8);
    let _testpmd = testpmd("server", &scratch.socket(), "");
    until_up(&mut port, &mut pool);
    all_come_back(&mut port, &mut pool);
}
