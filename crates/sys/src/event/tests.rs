//! Waiting for descriptors and for changes of files.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::clock;

#[test]
fn a_signal_wakes_the_poll_and_is_counted() {
    let event = EventFd::new().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| (event.signal().unwrap(), event.signal().unwrap()));
        assert_eq!(poll(&[(event.as_fd(), Interest::READ)], None).unwrap(), 1);
    });
    assert_eq!((event.clear().unwrap(), event.clear().unwrap()), (2, 0));
    assert_eq!(poll(&[(event.as_fd(), Interest::READ)], Some(Duration::ZERO)).unwrap(), 0);
}

#[test]
fn a_timeout_passes_and_not_less() {
    set_timer_slack(Duration::from_nanos(1)).unwrap();
    let before = clock::now();
    assert_eq!(poll(&[], Some(Duration::from_micros(500))).unwrap(), 0);
    assert!(clock::now() - before >= Duration::from_micros(500));
}

#[test]
fn more_descriptors_than_a_poll_holds_are_refused() {
    let event = EventFd::new().unwrap();
    let many: Vec<_> = (0..=POLL_COUNT_MAX).map(|_| (event.as_fd(), Interest::READ)).collect();
    assert_eq!(poll(&many, None).unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

/// A directory of one test, removed with it.
struct Tree(PathBuf);

impl Tree {
    fn new() -> Tree {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("tidegate-watch-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().canonicalize().unwrap().join(name);
        fs::create_dir(&path).unwrap();
        Tree(path)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn kinds(watch: &mut TreeWatch, path: &PathBuf) -> Vec<ChangeKind> {
    let changes = watch.try_changes().unwrap();
    changes.into_iter().filter(|change| change.path == *path).map(|change| change.kind).collect()
}

#[test]
fn a_file_written_replaced_and_removed() {
    let tree = Tree::new();
    let mut watch = TreeWatch::new(&tree.0).unwrap();
    let (page, draft) = (tree.0.join("page"), tree.0.join("draft"));
    assert_eq!(watch.try_changes().unwrap(), []);

    fs::write(&page, "one").unwrap();
    assert_eq!(kinds(&mut watch, &page), [ChangeKind::Created, ChangeKind::Written]);
    fs::write(&draft, "two").unwrap();
    fs::rename(&draft, &page).unwrap();
    assert_eq!(kinds(&mut watch, &page), [ChangeKind::Written]);
    fs::remove_file(&page).unwrap();
    assert_eq!(kinds(&mut watch, &page), [ChangeKind::Removed]);
}

#[test]
fn new_directories_are_watched_with_what_is_in_them() {
    let tree = Tree::new();
    let mut watch = TreeWatch::new(&tree.0).unwrap();
    let deep = tree.0.join("a/b");
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("early"), "").unwrap();
    assert!(kinds(&mut watch, &deep.join("early")).contains(&ChangeKind::Written));
    assert_eq!(watch.directory_count(), 3);

    fs::write(deep.join("late"), "").unwrap();
    assert_eq!(kinds(&mut watch, &deep.join("late")), [ChangeKind::Created, ChangeKind::Written]);
    assert!(poll(&[(watch.as_fd(), Interest::READ)], Some(Duration::ZERO)).unwrap() == 0);
}

#[test]
fn directories_removed_or_moved_away_are_forgotten() {
    let tree = Tree::new();
    let elsewhere = Tree::new();
    fs::create_dir_all(tree.0.join("a/b")).unwrap();
    fs::create_dir(tree.0.join("c")).unwrap();
    let mut watch = TreeWatch::new(&tree.0).unwrap();
    assert_eq!(watch.directory_count(), 4);

    fs::rename(tree.0.join("a"), elsewhere.0.join("a")).unwrap();
    fs::remove_dir(tree.0.join("c")).unwrap();
    assert!(kinds(&mut watch, &tree.0.join("a")).contains(&ChangeKind::Removed));
    assert_eq!(watch.directory_count(), 1);
    fs::write(elsewhere.0.join("a/b/file"), "").unwrap();
    assert_eq!(watch.try_changes().unwrap(), []);
}

#[test]
fn a_file_is_no_tree() {
    let text = TreeWatch::new("/proc/version").unwrap_err().to_string();
    assert!(text.contains("/proc/version") && text.contains("must be a directory"), "{text}");
}
