//! What reaches the file, and what is given up.

use super::*;
use std::thread;

struct Word(&'static str);

impl Line for Word {
    fn format(&self, line: &mut Vec<u8>) {
        line.extend_from_slice(self.0.as_bytes());
        line.push(b'\n');
    }
}

/// A path of this test's own, without a file.
fn fresh(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("tidegate-logfile-{name}-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

#[test]
fn lines_come_in_order_and_are_flushed_at_the_end() {
    let path = fresh("order");
    let (sender, writer) = open(&path, Arc::default()).unwrap();
    let writing = thread::spawn(|| writer.run(|error| panic!("{error}")));
    assert!(["a", "b", "c"].into_iter().all(|word| sender.clone().try_log(Word(word))));
    drop(sender);
    writing.join().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a\nb\nc\n");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_rotated_file_is_left_alone() {
    let (path, rotated) = (fresh("current"), fresh("rotated"));
    let reopen = Arc::new(AtomicBool::new(false));
    let (sender, writer) = open(&path, Arc::clone(&reopen)).unwrap();
    let writing = thread::spawn(|| writer.run(|error| panic!("{error}")));
    assert!(sender.try_log(Word("before")));
    while std::fs::read(&path).unwrap().is_empty() {
        thread::yield_now();
    }
    std::fs::rename(&path, &rotated).unwrap();
    reopen.store(true, Ordering::Release);
    while !path.exists() {
        thread::yield_now();
    }
    assert!(sender.try_log(Word("after")));
    drop(sender);
    writing.join().unwrap();
    assert_eq!(std::fs::read_to_string(&rotated).unwrap(), "before\n");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "after\n");
    std::fs::remove_file(path).unwrap();
    std::fs::remove_file(rotated).unwrap();
}

#[test]
fn a_full_queue_refuses_and_waits_for_nobody() {
    let path = fresh("full");
    let (sender, writer) = open(&path, Arc::default()).unwrap();
    let taken = (0..QUEUE_LEN + 10).filter(|_| sender.try_log(Word("x"))).count();
    assert_eq!(taken, QUEUE_LEN);
    drop(writer);
    assert!(!sender.try_log(Word("x")), "nobody writes any more");
    std::fs::remove_file(path).unwrap();
}
