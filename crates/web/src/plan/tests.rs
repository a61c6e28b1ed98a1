//! Tables of requests and what is answered, without a library or a connection.

use super::*;
use crate::request::fields::FieldStorage;

const DAY: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

fn meta() -> FileMeta {
    FileMeta { size: 100, modified_secs: 784_111_777, modified_nanos: 5, inode: 1 }
}

fn naming() -> Naming {
    Naming { index: "index.html".into(), dotfiles: false, precompressed: true }
}

fn with<T>(line: &str, fields: &str, look: impl FnOnce(&Request<'_, '_>) -> T) -> T {
    let head = format!("{line} HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
    let mut storage = FieldStorage::new();
    look(&Request::parse(head.as_bytes(), &mut storage).unwrap())
}

fn find(name: &[u8]) -> Option<Found<String>> {
    match name {
        b"" | b"docs" | b"empty" | b"sp ace" => Some(Found::Directory),
        b"index.html" | b"docs/index.html" | b"a.css" | b".env" | b".well-known/x" => {
            Some(Found::Document(String::from_utf8_lossy(name).into_owned()))
        }
        _ => None,
    }
}

#[test]
fn where_requests_lead() {
    let document = |name: &str| Located::Document(name.to_owned());
    let cases = [
        ("GET /", document("index.html")),
        ("HEAD /", document("index.html")),
        ("GET /?a=b", document("index.html")),
        ("GET http://b/docs/?x", document("docs/index.html")),
        ("GET /docs/.", document("docs/index.html")),
        ("GET /a.css", document("a.css")),
        ("GET /%61.css", document("a.css")),
        ("GET /../a.css", document("a.css")),
        ("GET /a.css/", Located::Refused(Status::NotFound)),
        ("GET /docs", Located::Moved(b"/docs/".to_vec())),
        ("GET /docs?a=b", Located::Moved(b"/docs/?a=b".to_vec())),
        ("GET /sp%20ace", Located::Moved(b"/sp%20ace/".to_vec())),
        ("GET //docs", Located::Moved(b"/docs/".to_vec())),
        ("GET /empty/", Located::Refused(Status::Forbidden)),
        ("GET /nothing", Located::Refused(Status::NotFound)),
        ("GET /.env", Located::Refused(Status::NotFound)),
        ("GET /.well-known/x", document(".well-known/x")),
        ("GET /%00", Located::Refused(Status::BadRequest)),
        ("GET /docs%2f", Located::Refused(Status::NotFound)),
        ("OPTIONS *", Located::Options),
        ("OPTIONS /docs", Located::Options),
        ("POST /", Located::Refused(Status::MethodNotAllowed)),
        ("BREW /", Located::Refused(Status::NotImplemented)),
    ];
    for (line, want) in cases {
        let seen = with(line, "", |request| locate(request, &naming(), find));
        assert_eq!(seen, want, "{line}");
    }
}

#[test]
fn dotfiles_by_leave() {
    let naming = Naming { dotfiles: true, ..naming() };
    let seen = with("GET /.env", "", |request| locate(request, &naming, find));
    assert_eq!(seen, Located::Document(".env".into()));
}

fn tag() -> String {
    format!("\"{}\"", opaque_tag(&meta(), Encoding::Identity))
}

fn parts(of: &[(u64, u64)]) -> Decision {
    let ranges: Vec<_> = of.iter().map(|&(start, end)| ByteRange { start, end }).collect();
    match ranges.as_slice() {
        [one] => Decision::Part(*one),
        _ => Decision::Parts(ranges.into_iter().collect()),
    }
}

#[test]
fn how_documents_are_answered() {
    let tag = tag();
    let refused = Decision::Refused;
    let cases = [
        ("GET /", String::new(), Decision::Whole),
        ("GET /", format!("If-None-Match: {tag}\r\n"), Decision::NotModified),
        ("HEAD /", format!("If-None-Match: {tag}\r\n"), Decision::NotModified),
        ("GET /", format!("If-Modified-Since: {DAY}\r\n"), Decision::NotModified),
        ("GET /", "If-Match: \"z\"\r\n".into(), refused(Status::PreconditionFailed)),
        ("GET /", "Range: bytes=0-9\r\n".into(), parts(&[(0, 10)])),
        ("HEAD /", "Range: bytes=0-9\r\n".into(), Decision::Whole),
        ("GET /", "Range: bytes=0-9,20-29\r\n".into(), parts(&[(0, 10), (20, 30)])),
        ("GET /", "Range: bytes=100-\r\n".into(), refused(Status::RangeNotSatisfiable)),
        ("GET /", "Range: bytes=0-9\r\nRange: bytes=1-2\r\n".into(), Decision::Whole),
        ("GET /", format!("Range: bytes=0-9\r\nIf-Range: {tag}\r\n"), parts(&[(0, 10)])),
        ("GET /", format!("Range: bytes=0-9\r\nIf-Range: W/{tag}\r\n"), Decision::Whole),
        ("GET /", "Range: bytes=0-9\r\nIf-Range: \"z\"\r\n".into(), Decision::Whole),
        ("GET /", "Range: bytes=100-\r\nIf-Range: \"z\"\r\n".into(), Decision::Whole),
        ("GET /", format!("Range: bytes=0-9\r\nIf-Range: {DAY}\r\n"), parts(&[(0, 10)])),
        ("GET /", format!("Range: bytes=100-\r\nIf-None-Match: {tag}\r\n"), Decision::NotModified),
    ];
    for (line, fields, want) in cases {
        let seen = with(line, &fields, |request| decide(request, &meta(), Encoding::Identity));
        assert_eq!(seen, want, "{line} {fields:?}");
    }
}

#[test]
fn each_coding_has_a_tag_of_its_own() {
    let tags = Encoding::ALL.map(|coding| opaque_tag(&meta(), coding));
    for (at, tag) in tags.iter().enumerate() {
        assert!(!tags[..at].contains(tag), "{tag}");
    }
    let fields = format!("If-None-Match: {}\r\n", tag());
    let seen = with("GET /", &fields, |request| decide(request, &meta(), Encoding::Gzip));
    assert_eq!(seen, Decision::Whole);
}

#[test]
fn coded_forms_are_sent_only_where_they_are_wanted() {
    let available = [Encoding::Identity, Encoding::Gzip];
    let of = |fields: &str, naming: &Naming| {
        with("GET /", fields, |request| negotiate(&request.fields, naming, available))
    };
    assert_eq!(of("Accept-Encoding: gzip, br\r\n", &naming()), Encoding::Gzip);
    assert_eq!(of("", &naming()), Encoding::Identity);
    let plain = Naming { precompressed: false, ..naming() };
    assert_eq!(of("Accept-Encoding: gzip, br\r\n", &plain), Encoding::Identity);
}
