//! What was recorded is replayed, byte for byte.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use tidegate_packet::{Batch, HeapMemory, Pool};

use super::*;
use crate::joined_by_move;

fn pool(chunk_count: usize) -> Pool {
    Pool::new(Box::new(HeapMemory::new(chunk_count * 2048)), 2048).unwrap()
}

/// A file of one test, removed with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("tidegate-{}-{}.pcap", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Scratch(std::env::temp_dir().join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn frames(pool: &mut Pool, lens: &[usize]) -> Batch {
    let mut batch = Batch::new();
    for (index, len) in lens.iter().enumerate() {
        let mut frame = pool.alloc().unwrap();
        assert!(frame.extend(&vec![index as u8; *len]));
        batch.push(frame).unwrap();
    }
    batch
}

fn record(file: &Scratch, lens: &[usize]) {
    let mut pool = pool(16);
    let mut port = PcapPort::new(None, Some(Capture::create(&file.0).unwrap()));
    let mut out = frames(&mut pool, lens);
    port.tx(&mut pool, &mut out);
    assert_eq!(port.counters().tx_packet_count, lens.len() as u64);
    assert_eq!(pool.free_count(), 16);
}

#[test]
fn recorded_frames_are_replayed_byte_for_byte() {
    let file = Scratch::new();
    record(&file, &[60, 1514, 1]);
    let mut pool = pool(16);
    let mut port = PcapPort::new(Some(Replay::open(&file.0).unwrap()), None);
    let mut batch = Batch::new();
    assert_eq!(port.rx(&mut pool, &mut batch), 3);
    let seen: Vec<_> = batch.iter().map(|frame| (frame.len(), frame.data()[0])).collect();
    assert_eq!(seen, [(60, 0), (1514, 1), (1, 2)]);
    assert_eq!(port.rx(&mut pool, &mut batch), 0);
    assert!(port.is_ended());
    batch.drain().for_each(|frame| pool.free(frame));
    assert_eq!(pool.free_count(), 16);
}

#[test]
fn a_replay_waits_for_free_chunks() {
    let file = Scratch::new();
    record(&file, &[60, 61, 62]);
    let mut pool = pool(2);
    let mut port = PcapPort::new(Some(Replay::open(&file.0).unwrap()), None);
    let mut batch = Batch::new();
    assert_eq!(port.rx(&mut pool, &mut batch), 2);
    assert!(!port.is_ended());
    batch.drain().for_each(|frame| pool.free(frame));
    assert_eq!(port.rx(&mut pool, &mut batch), 1);
    assert_eq!(batch.iter().map(|frame| frame.len()).collect::<Vec<_>>(), [62]);
    batch.drain().for_each(|frame| pool.free(frame));
}

#[test]
fn a_damaged_file_ends_the_replay_where_it_breaks() {
    let file = Scratch::new();
    record(&file, &[60, 60]);
    let bytes = std::fs::read(&file.0).unwrap();
    std::fs::write(&file.0, &bytes[..bytes.len() - 10]).unwrap();
    let mut pool = pool(4);
    let mut port = PcapPort::new(Some(Replay::open(&file.0).unwrap()), None);
    let mut batch = Batch::new();
    assert_eq!(port.rx(&mut pool, &mut batch), 1);
    assert!(port.is_ended());
    batch.drain().for_each(|frame| pool.free(frame));
}

#[test]
fn a_port_is_recorded_in_both_directions() {
    let file = Scratch::new();
    let mut pool = pool(8);
    let (left, mut right) = joined_by_move(1, 1514);
    let mut left = CapturedPort::new(left, Capture::create(&file.0).unwrap());
    let mut out = frames(&mut pool, &[100, 101]);
    left.tx(&mut pool, &mut out);
    let mut back = frames(&mut pool, &[200]);
    right.tx(&mut pool, &mut back);
    let mut batch = Batch::new();
    left.rx(&mut pool, &mut batch);
    drop(left);

    let mut replay = PcapPort::new(Some(Replay::open(&file.0).unwrap()), None);
    let mut seen = Batch::new();
    replay.rx(&mut pool, &mut seen);
    let lens: Vec<_> = seen.iter().map(|frame| frame.len()).collect();
    assert_eq!(lens, [100, 200], "the frame that found the wire full was not sent");
}

#[test]
fn files_that_are_no_captures_are_refused_by_name() {
    let file = Scratch::new();
    assert!(Replay::open(&file.0).unwrap_err().to_string().contains("open the capture file"));
    std::fs::write(&file.0, b"plain text, and long enough for a header").unwrap();
    assert!(Replay::open(&file.0).unwrap_err().to_string().contains("no pcap file"));
    assert!(Capture::create("/absent/file").unwrap_err().to_string().contains("/absent/file"));
}

#[test]
fn a_capture_is_read_with_the_times_since_its_first_frame() {
    let scratch = Scratch::new();
    let mut pool = pool(4);
    let mut capture = Capture::create(&scratch.0).unwrap();
    for frame in frames(&mut pool, &[60, 1500]).drain() {
        capture.record(&frame).unwrap();
        pool.free(frame);
    }
    drop(capture);
    let read: Vec<_> = Replay::open(&scratch.0).unwrap().recorded().collect();
    assert_eq!(read.iter().map(|frame| frame.data.clone()).collect::<Vec<_>>(), [vec![0; 60], vec![1; 1500]]);
    assert_eq!(read[0].at, Duration::ZERO);
    assert!(read[1].at < Duration::from_secs(60));
}
