//! Golden responses, byte for byte: files in `golden/`, one a request. To write them anew, run with
//! `UPDATE_GOLDEN=1` and read the difference.
use crate::net::{Net, split, status_of};
use crate::tree::Tree;
use std::path::Path;

const SETTINGS: &str = r#"
[error_pages]
404 = "docs/index.html"
[[headers]]
files = "*.css"
set = { Cache-Control = "max-age=60" }
"#;

const TAG: &str = "\"2ebc98a1.0-24\"";

fn golden(name: &str, seen: &[u8]) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/site/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, seen).unwrap();
    }
    let want = std::fs::read(&file).unwrap_or_default();
    assert_eq!(String::from_utf8_lossy(seen), String::from_utf8_lossy(&want), "{name}");
}

#[test]
fn golden_responses() {
    let mut net = Net::new(Tree::standard(), SETTINGS);
    let cases = [
        ("index", "GET /", String::new()),
        ("head", "HEAD /a.css", String::new()),
        ("css", "GET /a.css", String::new()),
        ("empty", "GET /empty.txt", String::new()),
        ("not-modified", "GET /a.css", format!("If-None-Match: {TAG}\r\n")),
        ("precondition-failed", "GET /a.css", "If-Match: \"x\"\r\n".into()),
        ("range", "GET /a.css", "Range: bytes=10-19\r\n".into()),
        ("ranges", "GET /a.css", "Range: bytes=0-4,-5\r\n".into()),
        ("range-not-satisfiable", "GET /a.css", "Range: bytes=36-\r\n".into()),
        ("plain", "GET /page.html", String::new()),
        ("gzip", "GET /page.html", "Accept-Encoding: gzip\r\n".into()),
        ("brotli-range", "GET /page.html", "Accept-Encoding: gzip, br\r\nRange: bytes=1-3\r\n".into()),
        ("moved", "GET /docs?a=b", String::new()),
        ("not-found", "GET /nothing", String::new()),
        ("hidden", "GET /.secret", String::new()),
        ("forbidden", "GET /closed/", String::new()),
        ("method-not-allowed", "POST /", "Content-Length: 0\r\n".into()),
        ("options", "OPTIONS *", String::new()),
    ];
    for (name, line, fields) in cases {
        golden(name, &net.ask(line, &fields));
    }
    golden("bad-request", &net.exchange_to_end(b"GET / HTTP/1.1\r\n\r\n"));
    golden("version", &net.exchange_to_end(b"GET / HTTP/2.0\r\nHost: a\r\n\r\n"));
    golden("old-client", &net.exchange_to_end(b"GET / HTTP/1.0\r\n\r\n"));
}

#[test]
fn large_files_arrive_whole_by_any_method() {
    let mut net = Net::new(Tree::standard(), "[content]\nstream_from = 50000");
    let want: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
    let whole = net.ask("GET /big.bin", "");
    assert_eq!(split(&whole).1, want);
    let part = net.ask("GET /big.bin", "Range: bytes=12345-67890\r\n");
    assert_eq!(status_of(&part), 206);
    assert_eq!(split(&part).1, want[12345..=67890]);
    let parts = split(&net.ask("GET /big.bin", "Range: bytes=0-9999,50000-59999\r\n")).1;
    for range in [0..10_000, 50_000..60_000] {
        assert!(parts.windows(10_000).any(|w| w == &want[range.clone()]), "{range:?}");
    }
    let head = net.ask("HEAD /big.bin", "");
    assert_eq!(split(&head).1, b"");
    assert!(split(&head).0.contains("Content-Length: 100000\r\n"));
}

#[test]
fn a_changed_file_is_served_anew() {
    let mut net = Net::new(Tree::standard(), "");
    assert_eq!(split(&net.ask("GET /a.css", "")).1.len(), 36);
    let fresh = net.tree.root().join("a.css.new");
    std::fs::write(&fresh, b"new").unwrap();
    std::fs::rename(&fresh, net.tree.root().join("a.css")).unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while split(&net.ask("GET /a.css", "")).1 != b"new" {
        assert!(std::time::Instant::now() < deadline, "never noticed");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn repeated_requests_are_answered_from_memory() {
    let mut net = Net::new(Tree::standard(), "");
    let first = net.ask("GET /", "");
    let before = net.counters().repeated_count;
    assert_eq!(net.ask("GET /", ""), first);
    assert_eq!(net.counters().repeated_count, before + 1);
    assert_eq!(net.ask("GET /a.css", "Range: bytes=0-0\r\n"), net.ask("GET /a.css", "Range: bytes=0-0\r\n"));
}

#[test]
fn a_file_that_vanishes_before_it_is_loaded() {
    let tree = Tree::standard();
    tree.write("gone.txt", b"x");
    let mut net = Net::new(tree, "");
    std::fs::remove_file(net.tree.root().join("gone.txt")).unwrap();
    assert_eq!(status_of(&net.ask("GET /gone.txt", "")), 404);
}
