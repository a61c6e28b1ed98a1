//! Files come, change and go; what is served stays whole and inside the root.

use super::*;
use crate::scratch_dir::ScratchDir;
use crate::tests::{drain, noise, pool};
use crate::{HeadTemplate, HeadWriter, Mode, Packer, Response, Stamp};
use proptest::prelude::*;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(10);

/// Heads that say what they are for.
struct Labels;

impl Present for Labels {
    fn head(&self, subject: &Subject<'_>) -> HeadTemplate {
        let path = String::from_utf8_lossy(subject.path);
        let also = if subject.is_negotiated { "*" } else { "" };
        HeadWriter::new().text(format!("{path} {}{also}|", subject.encoding.token())).finish()
    }

    fn not_modified(&self, subject: &Subject<'_>) -> HeadTemplate {
        HeadWriter::new().text(subject.meta.size.to_string()).finish()
    }
}

/// A library with one worker.
struct Desk {
    library: Library,
    reader: Reader,
    woken: mpsc::Receiver<()>,
}

impl Desk {
    fn open(config: &LibraryConfig) -> Self {
        let library = Library::open(config, Arc::new(Labels)).unwrap();
        assert!(library.watch_error().is_none(), "{:?}", library.watch_error());
        let (wake, woken) = mpsc::channel();
        let reader = library.reader(Arc::new(move || wake.send(()).unwrap_or_default()));
        Self { library, reader, woken }
    }

    fn of(root: &ScratchDir) -> Self {
        Self::open(&LibraryConfig::new(root.path()))
    }

    fn document(&mut self, path: &str) -> Option<Arc<Document>> {
        match self.reader.find(path.as_bytes()) {
            Some(Entry::File(document)) => Some(Arc::clone(document)),
            _ => None,
        }
    }

    fn load(&mut self, path: &str) -> Result<Arc<Loaded>, LoadError> {
        self.load_as(path, Encoding::Identity)
    }

    fn load_as(&mut self, path: &str, encoding: Encoding) -> Result<Arc<Loaded>, LoadError> {
        let document = self.document(path).ok_or(LoadError::Gone)?;
        match self.reader.request(&document, encoding, 7) {
            Requested::Ready(loaded) => Ok(loaded),
            Requested::Queued => self.completion().outcome,
            Requested::Refused => panic!("the queue is empty"),
        }
    }

    fn completion(&mut self) -> Completion {
        self.woken.recv_timeout(SOON).expect("woken");
        let completion = self.reader.poll().expect("a completion per wake-up");
        assert_eq!(completion.ticket, 7);
        completion
    }

    fn text(&mut self, path: &str) -> Result<String, LoadError> {
        self.load(path).map(|loaded| String::from_utf8_lossy(&bytes(&response(&loaded))).into_owned())
    }

    /// Waits until `path` is served as `expected`.
    fn wait_for(&mut self, path: &str, expected: Result<&str, LoadError>) {
        let end = Instant::now() + SOON;
        while self.text(path).as_deref() != expected.as_deref() {
            assert!(Instant::now() < end, "{path}: {:?}, not {expected:?}", self.text(path));
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn response(loaded: &Loaded) -> Response {
    Response::whole(Arc::clone(&loaded.full), Stamp::new(0, false))
}

fn bytes(response: &Response) -> Vec<u8> {
    drain(&mut Packer::new(Mode::MemCopy), response, 1448, &mut pool(4))
}

#[test]
fn a_file_is_loaded_when_it_is_asked_for_and_then_there() {
    let root = ScratchDir::new();
    root.write("sub/page.html", "hello");
    let mut desk = Desk::of(&root);
    assert_eq!(desk.library.counters().loaded_count, 0);
    assert_eq!(desk.text("sub/page.html").unwrap(), "sub/page.html identity|hello");
    let document = desk.document("sub/page.html").unwrap();
    assert!(matches!(desk.reader.request(&document, Encoding::Identity, 8), Requested::Ready(_)));
    assert_eq!(desk.library.counters().loaded_count, 1);
}

#[test]
fn directories_are_known_and_nothing_else_is() {
    let root = ScratchDir::new();
    root.write("a/b/c", "");
    let mut desk = Desk::of(&root);
    for path in ["", "a", "a/b"] {
        assert!(matches!(desk.reader.find(path.as_bytes()), Some(Entry::Directory(_))), "{path}");
    }
    for path in ["/", "a/", "/a", "a//b", "a/b/c/", "a/../a", "."] {
        assert!(desk.reader.find(path.as_bytes()).is_none(), "{path}");
    }
    assert_eq!(desk.text("a/b/c").unwrap(), "a/b/c identity|", "an empty file is a file");
    assert_eq!(desk.library.counters().entry_count, 4);
}

#[test]
fn codings_beside_a_file_are_its_variants() {
    let root = ScratchDir::new();
    root.write("a.js", "plain");
    root.write("a.js.br", "brotli");
    root.write("a.js.zst", "zstandard");
    root.write("lone.gz", "no plain file beside it");
    let mut desk = Desk::of(&root);
    let mut text = |path, encoding| bytes(&response(&desk.load_as(path, encoding).unwrap()));
    assert_eq!(text("a.js", Encoding::Brotli), b"a.js br*|brotli");
    assert_eq!(text("a.js", Encoding::Zstd), b"a.js zstd*|zstandard");
    assert_eq!(text("a.js", Encoding::Gzip), b"a.js identity*|plain");
    assert_eq!(text("a.js.br", Encoding::Identity), b"a.js.br identity|brotli");
    assert_eq!(text("lone.gz", Encoding::Gzip), b"lone.gz identity|no plain file beside it");
    assert_eq!(desk.document("a.js").unwrap().variants().len(), 3);
}

#[test]
fn a_changed_file_is_swapped_and_what_is_under_way_stays_whole() {
    let root = ScratchDir::new();
    let first = noise(50_000);
    let file = root.write("data", &first);
    let mut desk = Desk::of(&root);
    let under_way = response(&desk.load("data").unwrap());
    fs::write(&file, "second").unwrap();
    desk.wait_for("data", Ok("data identity|second"));
    assert_eq!(bytes(&under_way)[b"data identity|".len()..], first);
    assert!(under_way.is_intact());
    assert!(desk.library.counters().reloaded_count >= 1);
}

#[test]
fn files_that_come_and_go_are_followed() {
    let root = ScratchDir::new();
    root.write("old", "old");
    let mut desk = Desk::of(&root);
    root.write("new/deep/page", "1");
    desk.wait_for("new/deep/page", Ok("new/deep/page identity|1"));
    fs::rename(root.path().join("new"), root.path().join("moved")).unwrap();
    desk.wait_for("moved/deep/page", Ok("moved/deep/page identity|1"));
    desk.wait_for("new/deep/page", Err(LoadError::Gone));
    assert!(desk.reader.find(b"new").is_none());
    let fresh = root.write("fresh", "2");
    fs::rename(fresh, root.path().join("old")).unwrap();
    desk.wait_for("old", Ok("old identity|2"));
    desk.wait_for("fresh", Err(LoadError::Gone));
    fs::remove_dir_all(root.path().join("moved")).unwrap();
    desk.wait_for("moved/deep/page", Err(LoadError::Gone));
    root.write("old.br", "2");
    desk.wait_for("old", Ok("old identity*|2"));
    fs::remove_file(root.path().join("old.br")).unwrap();
    desk.wait_for("old", Ok("old identity|2"));
}

#[test]
fn a_file_that_became_a_directory_and_back() {
    let root = ScratchDir::new();
    let path = root.write("x", "1");
    let mut desk = Desk::of(&root);
    fs::remove_file(&path).unwrap();
    root.write("x/y", "2");
    desk.wait_for("x/y", Ok("x/y identity|2"));
    assert!(matches!(desk.reader.find(b"x"), Some(Entry::Directory(_))));
    fs::remove_dir_all(&path).unwrap();
    root.write("x", "3");
    desk.wait_for("x", Ok("x identity|3"));
    desk.wait_for("x/y", Err(LoadError::Gone));
}

#[test]
fn a_change_that_leaves_size_and_time_is_seen() {
    let root = ScratchDir::new();
    let path = root.write("page", "one");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let mut desk = Desk::of(&root);
    desk.wait_for("page", Ok("page identity|one"));
    fs::write(&path, "two").unwrap();
    File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    desk.wait_for("page", Ok("page identity|two"));
}

#[test]
fn a_renewed_library_has_every_document_anew() {
    let root = ScratchDir::new();
    root.write("a/b.txt", b"same");
    root.write("c.txt", b"same");
    let mut desk = Desk::of(&root);
    let (before, generation) = (desk.document("a/b.txt").unwrap(), desk.reader.generation());
    desk.library.renew();
    while desk.document("a/b.txt").is_none_or(|now| Arc::ptr_eq(&now, &before)) {
        std::thread::yield_now();
    }
    assert!(desk.reader.generation() > generation, "what was remembered of the old one is void");
    assert_eq!(desk.text("c.txt").unwrap(), "c.txt identity|same");
}

#[test]
fn an_unchanged_document_survives_a_rescan() {
    let root = ScratchDir::new();
    root.write("a/page", "1");
    let mut desk = Desk::of(&root);
    desk.load("a/page").unwrap();
    desk.library.rescan();
    while desk.library.counters().reloaded_count == 0 {
        std::thread::yield_now();
    }
    assert!(desk.document("a/page").unwrap().variants()[0].loaded().is_some());
}

#[test]
fn links_inside_are_followed_and_seen_to_change() {
    let root = ScratchDir::new();
    let real = root.write("v1/page", "1");
    root.write("v2/page", "2");
    symlink("v1", root.path().join("current")).unwrap();
    symlink(&real, root.path().join("absolute")).unwrap();
    let mut desk = Desk::of(&root);
    desk.wait_for("current/page", Ok("current/page identity|1"));
    desk.wait_for("absolute", Ok("absolute identity|1"));
    fs::write(&real, "1b").unwrap();
    desk.wait_for("current/page", Ok("current/page identity|1b"));
    desk.wait_for("absolute", Ok("absolute identity|1b"));
    symlink("v2", root.path().join("next")).unwrap();
    fs::rename(root.path().join("next"), root.path().join("current")).unwrap();
    desk.wait_for("current/page", Ok("current/page identity|2"));
}

#[test]
fn a_root_behind_a_link_is_swapped_whole_when_the_link_is_turned() {
    let dir = ScratchDir::new();
    dir.write("releases/1/page", "1");
    dir.write("releases/1/old", "1");
    dir.write("releases/2/page", "2");
    let (current, next) = (dir.path().join("current"), dir.path().join("next"));
    symlink("releases/1", &current).unwrap();
    let mut desk = Desk::open(&LibraryConfig::new(&current));
    desk.wait_for("page", Ok("page identity|1"));
    let under_way = response(&desk.load("old").unwrap());
    symlink("releases/2", &next).unwrap();
    fs::rename(&next, &current).unwrap();
    desk.wait_for("page", Ok("page identity|2"));
    assert!(desk.reader.find(b"old").is_none());
    assert_eq!(bytes(&under_way), b"old identity|1");
    fs::write(current.join("page"), "2b").unwrap();
    desk.wait_for("page", Ok("page identity|2b"));
}

#[test]
fn a_rescan_finds_what_was_not_watched() {
    let root = ScratchDir::new();
    let mut config = LibraryConfig::new(root.path());
    config.is_watched = false;
    let mut desk = Desk::open(&config);
    root.write("sub/page", "1");
    assert_eq!(desk.text("sub/page").err(), Some(LoadError::Gone));
    desk.library.rescan();
    desk.wait_for("sub/page", Ok("sub/page identity|1"));
}

#[test]
fn a_streamed_file_that_broke_is_opened_anew() {
    let root = ScratchDir::new();
    let path = root.write("big", noise(20_000));
    let mut config = LibraryConfig::new(root.path());
    (config.stream_from, config.is_watched) = (10_000, false);
    let mut desk = Desk::open(&config);
    let loaded = desk.load("big").unwrap();
    assert!(loaded.full.is_streamed());
    std::thread::sleep(Duration::from_millis(20));
    fs::write(&path, vec![1; 20_000]).unwrap();
    let broken = Packer::new(Mode::MemCopy).fetch(&response(&loaded), 0, 1428, &mut pool(1));
    assert!(broken.is_none() && !loaded.full.is_intact());
    assert_eq!(desk.text("big").unwrap().len(), "big identity|".len() + 20_000);
}

#[test]
fn each_load_is_of_one_version_while_files_are_replaced() {
    let root = ScratchDir::new();
    let version = |n: u8| vec![b'a' + n % 26; 30_000 + usize::from(n) * 100];
    root.write("page", version(0));
    let mut desk = Desk::of(&root);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..100 {
                let next = root.write("next", version(n));
                fs::rename(next, root.path().join("page")).unwrap();
                std::thread::sleep(Duration::from_millis(3));
            }
            is_done.store(true, Ordering::Release);
        });
        let mut seen = std::collections::BTreeSet::new();
        while !is_done.load(Ordering::Acquire) {
            let body = bytes(&response(&desk.load("page").unwrap())).split_off("page identity|".len());
            assert!(body.iter().all(|byte| *byte == body[0]), "two versions in one answer");
            seen.insert(body.len());
        }
        assert!(seen.len() >= 3, "{seen:?}");
    });
    let last = String::from_utf8(version(99)).unwrap();
    desk.wait_for("page", Ok(&format!("page identity|{last}")));
}

#[test]
fn no_link_leads_out_of_the_root() {
    let outside = ScratchDir::new();
    outside.write("secret", "secret");
    let root = ScratchDir::new();
    root.write("page", "page");
    root.write("sub/page", "page");
    symlink(outside.path().join("secret"), root.path().join("absolute")).unwrap();
    symlink(outside.path(), root.path().join("directory")).unwrap();
    let name = outside.path().file_name().unwrap();
    symlink(Path::new("../..").join(name).join("secret"), root.path().join("sub/relative")).unwrap();
    let mut desk = Desk::of(&root);
    for path in ["absolute", "directory", "directory/secret", "sub/relative"] {
        assert!(desk.reader.find(path.as_bytes()).is_none(), "{path}");
    }
    // Swapped after it was listed, before the watcher says so: the open itself refuses.
    let page = desk.document("page").unwrap();
    let deep = desk.document("sub/page").unwrap();
    fs::remove_file(root.path().join("page")).unwrap();
    symlink(outside.path().join("secret"), root.path().join("page")).unwrap();
    fs::remove_dir_all(root.path().join("sub")).unwrap();
    outside.write("page", "secret");
    symlink(outside.path(), root.path().join("sub")).unwrap();
    for document in [page, deep] {
        assert!(matches!(desk.reader.request(&document, Encoding::Identity, 7), Requested::Queued));
        assert_eq!(desk.completion().outcome.err(), Some(LoadError::Denied));
    }
}

#[test]
fn links_in_a_circle_end() {
    let root = ScratchDir::new();
    root.write("a/page", "1");
    root.write("b/page", "2");
    symlink("..", root.path().join("a/up")).unwrap();
    symlink("../b", root.path().join("a/other")).unwrap();
    symlink("../a", root.path().join("b/other")).unwrap();
    symlink("self", root.path().join("self")).unwrap();
    let mut desk = Desk::of(&root);
    assert!(desk.reader.find(b"a/up").is_none());
    assert_eq!(desk.text("a/other/page").unwrap(), "a/other/page identity|2");
    assert!(desk.library.counters().entry_count < 20);
}

#[test]
fn what_took_a_files_place_is_not_read() {
    let root = ScratchDir::new();
    let path = root.write("page", "1");
    let mut config = LibraryConfig::new(root.path());
    config.is_watched = false;
    let mut desk = Desk::open(&config);
    fs::remove_file(&path).unwrap();
    assert_eq!(desk.text("page").err(), Some(LoadError::Gone));
    fs::create_dir(&path).unwrap();
    assert_eq!(desk.text("page").err(), Some(LoadError::Denied));
    assert_eq!(desk.library.counters().failed_count, 2);
}

#[test]
fn what_is_held_stays_within_the_budget() {
    let root = ScratchDir::new();
    for i in 0..40 {
        root.write(&format!("f{i}"), noise(50_000));
    }
    let mut config = LibraryConfig::new(root.path());
    config.memory = 1 << 20;
    let mut desk = Desk::open(&config);
    for i in 0..40 {
        desk.load("f0").unwrap();
        desk.load(&format!("f{i}")).unwrap();
        assert!(desk.library.counters().held_bytes <= config.memory);
    }
    let counters = desk.library.counters();
    assert_eq!((counters.loaded_count, counters.streamed_count), (40, 0), "what is used stays");
    assert!(counters.held_bytes > config.memory / 2 && counters.evicted_count >= 20);
}

#[test]
fn when_all_memory_is_under_way_files_are_streamed() {
    let root = ScratchDir::new();
    for i in 0..30 {
        root.write(&format!("f{i}"), noise(100_000));
    }
    let mut config = LibraryConfig::new(root.path());
    (config.memory, config.open_count_max) = (1 << 20, 4);
    let mut desk = Desk::open(&config);
    let under_way: Vec<_> = (0..30).map(|i| response(&desk.load(&format!("f{i}")).unwrap())).collect();
    assert!(desk.library.counters().held_bytes <= config.memory);
    assert!(desk.library.counters().streamed_count >= 15);
    for (i, response) in under_way.iter().enumerate() {
        assert_eq!(bytes(response)[format!("f{i} identity|").len()..], noise(100_000));
    }
    drop(under_way);
    desk.load("f29").unwrap();
    assert!(desk.library.counters().held_bytes <= config.memory);
}

#[test]
fn memory_comes_back_when_documents_are_replaced() {
    let root = ScratchDir::new();
    let path = root.write("page", noise(100_000));
    let mut desk = Desk::of(&root);
    desk.load("page").unwrap();
    assert!(desk.library.counters().held_bytes > 100_000);
    fs::write(&path, "small").unwrap();
    desk.wait_for("page", Ok("page identity|small"));
    assert!(desk.library.counters().held_bytes < 3_000);
}

#[test]
fn ten_thousand_files_are_found_and_loaded() {
    let root = ScratchDir::new();
    for i in 0..10_000 {
        root.write(&format!("d{}/e{}/f{i}", i % 10, i % 100), i.to_string());
    }
    let mut desk = Desk::of(&root);
    assert_eq!(desk.library.counters().entry_count, 10_000 + 100 + 10 + 1);
    for i in 0..10_000 {
        let path = format!("d{}/e{}/f{i}", i % 10, i % 100);
        assert_eq!(desk.text(&path).unwrap(), format!("{path} identity|{i}"));
    }
    fs::write(root.path().join("d3/e33/f1233"), "changed").unwrap();
    desk.wait_for("d3/e33/f1233", Ok("d3/e33/f1233 identity|changed"));
}

#[test]
fn a_full_queue_refuses_and_recovers() {
    /// Heads that wait until they are told to go on.
    struct Gate(std::sync::Mutex<mpsc::Receiver<()>>);
    impl Present for Gate {
        fn head(&self, _: &Subject<'_>) -> HeadTemplate {
            self.0.lock().unwrap().recv_timeout(SOON).unwrap();
            HeadWriter::new().finish()
        }
        fn not_modified(&self, _: &Subject<'_>) -> HeadTemplate {
            HeadWriter::new().finish()
        }
    }
    let root = ScratchDir::new();
    root.write("page", "1");
    let mut config = LibraryConfig::new(root.path());
    config.queue_len = 2;
    let (open, gate) = mpsc::channel();
    let library = Library::open(&config, Arc::new(Gate(std::sync::Mutex::new(gate)))).unwrap();
    let (wake, woken) = mpsc::channel();
    let mut reader = library.reader(Arc::new(move || wake.send(()).unwrap_or_default()));
    let Some(Entry::File(page)) = reader.find(b"page").cloned() else { panic!("not found") };
    let mut queued = 0;
    let end = Instant::now() + SOON;
    while matches!(reader.request(&page, Encoding::Identity, queued), Requested::Queued) {
        queued += 1;
        assert!(queued <= 3 && Instant::now() < end);
    }
    assert_eq!(library.counters().refused_count, 1);
    open.send(()).unwrap();
    for ticket in 0..queued {
        woken.recv_timeout(SOON).unwrap();
        let completion = reader.poll().unwrap();
        assert!(completion.ticket == ticket && completion.outcome.is_ok());
    }
    assert!(matches!(reader.request(&page, Encoding::Identity, 9), Requested::Ready(_)));
    assert_eq!(library.counters().loaded_count, 1, "asked three times, loaded once");
}

#[test]
fn a_root_that_cannot_be_read_is_named() {
    let config = LibraryConfig::new("/nonexistent/root");
    let text = Library::open(&config, Arc::new(Labels)).err().unwrap().to_string();
    assert!(text.contains("/nonexistent/root"), "{text}");
}

/// Something that a person does to a tree; paths are picked from a few, so that they meet.
#[derive(Clone, Debug)]
enum Deed {
    Write(String),
    Remove(String),
    Rename(String, String),
    Link(String, String),
}

impl Deed {
    /// Does it; what cannot be done is left.
    fn apply(&self, root: &ScratchDir) {
        let at = |path: &String| root.path().join(path);
        let _ = match self {
            Self::Write(path) => {
                at(path).parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(at(path), path))
            }
            Self::Remove(path) => fs::remove_file(at(path)).or_else(|_| fs::remove_dir_all(at(path))),
            Self::Rename(from, to) => fs::rename(at(from), at(to)),
            Self::Link(from, to) => symlink(at(to), at(from)),
        };
    }
}

fn deeds() -> impl Strategy<Value = Deed> {
    let path = || "[ab](/[ab]){0,2}(\\.gz)?".prop_map(String::from);
    prop_oneof![
        4 => path().prop_map(Deed::Write),
        2 => path().prop_map(Deed::Remove),
        2 => (path(), path()).prop_map(|(from, to)| Deed::Rename(from, to)),
        1 => (path(), path()).prop_map(|(from, to)| Deed::Link(from, to)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn what_was_followed_is_what_a_fresh_look_finds(
        before in prop::collection::vec(deeds(), 0..12), after in prop::collection::vec(deeds(), 1..12),
    ) {
        let root = ScratchDir::new();
        before.iter().for_each(|deed| deed.apply(&root));
        let desk = Desk::of(&root);
        after.iter().for_each(|deed| deed.apply(&root));
        let fresh = Desk::of(&root).library.shared.catalogue.load().paths();
        let end = Instant::now() + SOON;
        while desk.library.shared.catalogue.load().paths() != fresh {
            let known = desk.library.shared.catalogue.load().paths();
            prop_assert!(Instant::now() < end, "{:?} instead of {:?}", known, fresh);
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
