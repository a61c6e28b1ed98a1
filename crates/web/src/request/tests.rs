//! Tables of heads and bodies: what is read, what is refused and with which status; splits change nothing.

use super::body::{BodySkip, Skipped};
use super::scan::{HeadLimits, HeadScan, Scanned};
use super::*;
use proptest::prelude::*;

/// What a head comes to, without its borrowed parts.
#[derive(PartialEq, Eq, Debug, Clone)]
struct Seen {
    method: Method,
    target: Option<Vec<u8>>,
    framing: Framing,
    keep_alive: bool,
}

fn read(head: &[u8]) -> Result<Seen, Status> {
    let mut scan = HeadScan::default();
    let len = match scan.advance(head, &HeadLimits::default()) {
        Scanned::Whole(len) => len,
        Scanned::Partial => panic!("no whole head: {:?}", String::from_utf8_lossy(head)),
        Scanned::Refused(status) => return Err(status),
    };
    let mut storage = FieldStorage::new();
    let request = Request::parse(&head[..len], &mut storage)?;
    if let Some(status) = request.refusal() {
        return Err(status);
    }
    let target = match request.target {
        Target::Path { path, .. } => Some(path.to_vec()),
        Target::Server => None,
    };
    Ok(Seen { method: request.line.method, target, framing: request.framing, keep_alive: request.keep_alive })
}

fn status_of(head: &str) -> u16 {
    read(head.as_bytes()).map_or_else(Status::code, |_| 200)
}

fn with_fields(fields: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n")
}

#[test]
fn plain_get() {
    let seen = read(b"GET /a/b?c=d HTTP/1.1\r\nHost: example.org:80\r\n\r\n").unwrap();
    assert_eq!(
        seen,
        Seen {
            method: Method::Get,
            target: Some(b"/a/b".to_vec()),
            framing: Framing::Empty,
            keep_alive: true
        }
    );
}

#[test]
fn request_lines() {
    let cases = [
        ("GET / HTTP/1.1", 200),
        ("HEAD / HTTP/1.1", 200),
        ("OPTIONS * HTTP/1.1", 200),
        ("OPTIONS / HTTP/1.1", 200),
        ("GET / HTTP/1.0", 200),
        ("GET / HTTP/1.9", 200),
        ("GET * HTTP/1.1", 400),
        ("GET http://a/x HTTP/1.1", 200),
        ("GET HTTP://a HTTP/1.1", 200),
        ("GET http://a?q HTTP/1.1", 200),
        ("GET http:///x HTTP/1.1", 400),
        ("GET http://u@a/x HTTP/1.1", 400),
        ("GET http://:80/x HTTP/1.1", 400),
        ("GET https://a/x HTTP/1.1", 421),
        ("GET ftp://a/x HTTP/1.1", 400),
        ("GET a HTTP/1.1", 400),
        ("GET /a#b HTTP/1.1", 400),
        ("POST / HTTP/1.1", 405),
        ("CONNECT a:80 HTTP/1.1", 405),
        ("BREW / HTTP/1.1", 501),
        ("get / HTTP/1.1", 501),
        ("GET / HTTP/2.0", 505),
        ("PRI * HTTP/2.0", 505),
        ("GET / HTTP/0.9", 505),
        ("GET / HTTP/1.10", 400),
        ("GET / http/1.1", 400),
        ("GET /", 400),
        ("GET", 400),
        ("GET  / HTTP/1.1", 400),
        ("GET /  HTTP/1.1", 400),
        ("GET / HTTP/1.1 ", 400),
        (" GET / HTTP/1.1", 400),
        ("GET\t/\tHTTP/1.1", 400),
        ("GET /\u{b} HTTP/1.1", 400),
        ("GET /\0 HTTP/1.1", 400),
        ("GET /\u{7f} HTTP/1.1", 400),
        ("G(T / HTTP/1.1", 400),
    ];
    for (line, want) in cases {
        assert_eq!(status_of(&format!("{line}\r\nHost: a\r\n\r\n")), want, "{line:?}");
    }
}

#[test]
fn host_rules() {
    let cases = [
        ("HTTP/1.1", "", 400),
        ("HTTP/1.0", "", 200),
        ("HTTP/1.1", "Host:\r\n", 200),
        ("HTTP/1.1", "Host: a\r\nHost: a\r\n", 400),
        ("HTTP/1.0", "Host: a\r\nHost: a\r\n", 400),
        ("HTTP/1.1", "Host: a b\r\n", 400),
        ("HTTP/1.1", "Host: a/b\r\n", 400),
        ("HTTP/1.1", "Host: a@b\r\n", 400),
        ("HTTP/1.1", "Host: a, b\r\n", 400),
        ("HTTP/1.1", "Host: a:80\r\n", 200),
        ("HTTP/1.1", "Host: a:8x\r\n", 400),
        ("HTTP/1.1", "Host: [fd77::2]:80\r\n", 200),
        ("HTTP/1.1", "Host: [fd77::2\r\n", 400),
        ("HTTP/1.1", "Host: [fd77::2]x\r\n", 400),
        ("HTTP/1.1", "Host: a%41\r\n", 200),
        ("HTTP/1.1", "Host: a%4\r\n", 400),
    ];
    for (version, fields, want) in cases {
        assert_eq!(status_of(&format!("GET / {version}\r\n{fields}\r\n")), want, "{version} {fields:?}");
    }
}

#[test]
fn connection_rules() {
    let cases = [
        ("HTTP/1.1", "", true),
        ("HTTP/1.0", "", false),
        ("HTTP/1.0", "Connection: keep-alive\r\n", true),
        ("HTTP/1.0", "Connection: Keep-Alive, foo\r\n", true),
        ("HTTP/1.1", "Connection: close\r\n", false),
        ("HTTP/1.1", "Connection: foo , CLOSE\r\n", false),
        ("HTTP/1.1", "Connection: keep-alive\r\nConnection: close\r\n", false),
        ("HTTP/1.1", "Connection: closed\r\n", true),
        ("HTTP/1.1", "Content-Length: 3\r\n", true),
        ("HTTP/1.1", "Content-Length: 3\r\nExpect: 100-continue\r\n", false),
        ("HTTP/1.1", "Expect: 100-continue\r\n", true),
    ];
    for (version, fields, want) in cases {
        let head = format!("GET / {version}\r\nHost: a\r\n{fields}\r\n");
        assert_eq!(read(head.as_bytes()).unwrap().keep_alive, want, "{version} {fields:?}");
    }
}

#[test]
fn bodies_that_have_one_reading() {
    let cases = [
        ("Content-Length: 0\r\n", Framing::Empty),
        ("Content-Length: 007\r\n", Framing::Length(7)),
        ("content-length:\t7 \r\n", Framing::Length(7)),
        ("Transfer-Encoding: chunked\r\n", Framing::Chunked),
        ("Transfer-Encoding: , Chunked\r\n", Framing::Chunked),
    ];
    for (fields, want) in cases {
        assert_eq!(read(with_fields(fields).as_bytes()).unwrap().framing, want, "{fields:?}");
    }
}

#[test]
fn smuggling_shapes() {
    let cases = [
        ("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", 400),
        ("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", 400),
        ("Content-Length: 3\r\nContent-Length: 4\r\n", 400),
        ("Content-Length: 3\r\nContent-Length: 3\r\n", 400),
        ("Content-Length: 3, 3\r\n", 400),
        ("Content-Length: 3,4\r\n", 400),
        ("Content-Length: +3\r\n", 400),
        ("Content-Length: -3\r\n", 400),
        ("Content-Length: 0x3\r\n", 400),
        ("Content-Length: 3 4\r\n", 400),
        ("Content-Length:\r\n", 400),
        ("Content-Length: 99999999999999999999\r\n", 413),
        ("Transfer-Encoding: gzip\r\n", 400),
        ("Transfer-Encoding: chunked, gzip\r\n", 400),
        ("Transfer-Encoding: gzip, chunked\r\n", 501),
        ("Transfer-Encoding: chunked, chunked\r\n", 400),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", 400),
        ("Transfer-Encoding: xchunked\r\n", 400),
        ("Transfer-Encoding: \u{b}chunked\r\n", 400),
        ("Transfer-Encoding:\r\n", 400),
        ("Transfer-Encoding : chunked\r\n", 400),
        ("Content-Length : 3\r\n", 400),
        (" Content-Length: 3\r\n", 400),
        ("X: a\r\n Content-Length: 3\r\n", 400),
        ("X: a\r\n\tb\r\n", 400),
        ("X: a\rb\r\n", 400),
        ("X: a\nContent-Length: 3\r\n", 400),
        ("X: a\0b\r\n", 400),
        ("X: a\u{1}b\r\n", 400),
        ("X: a\u{7f}b\r\n", 400),
        ("X\0: a\r\n", 400),
        ("X(: a\r\n", 400),
        (": a\r\n", 400),
        ("no colon\r\n", 400),
        ("X: a\r\r\n", 400),
        ("\rX: a\r\n", 400),
    ];
    for (fields, want) in cases {
        assert_eq!(status_of(&with_fields(fields)), want, "{fields:?}");
    }
    let in_http10 = "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(status_of(in_http10), 400);
}

#[test]
fn bare_line_feeds_are_refused_at_once() {
    let scan = |bytes: &[u8]| HeadScan::default().advance(bytes, &HeadLimits::default());
    assert_eq!(scan(b"GET / HTTP/1.0\n"), Scanned::Refused(Status::BadRequest));
    assert_eq!(scan(b"\n"), Scanned::Refused(Status::BadRequest));
    assert_eq!(scan(b"GET / HTTP/1.0\r\n\n"), Scanned::Refused(Status::BadRequest));
}

#[test]
fn empty_lines_before_a_request_are_skipped() {
    assert_eq!(status_of("\r\n\r\nGET / HTTP/1.0\r\n\r\n"), 200);
}

#[test]
fn unknown_expectation() {
    assert_eq!(status_of(&with_fields("Expect: tea\r\n")), 417);
    assert_eq!(status_of("GET / HTTP/1.0\r\nExpect: tea\r\n\r\n"), 200);
}

#[test]
fn limits_are_met_before_the_head_is_whole() {
    let limits = HeadLimits { line_len_max: 20, head_len_max: 60, field_count_max: 2 };
    let scan = |text: &str| HeadScan::default().advance(text.as_bytes(), &limits);
    let line = "GET /45678 HTTP/1.1\r\n";
    assert_eq!(scan(&format!("{line}\r\n")), Scanned::Whole(23));
    assert_eq!(scan("GET /456789 HTTP/1.1"), Scanned::Partial);
    assert_eq!(scan("GET /456789 HTTP/1.1\r"), Scanned::Partial);
    assert_eq!(scan("GET /456789a HTTP/1.1\r"), Scanned::Refused(Status::UriTooLong));
    assert_eq!(scan("GET /456789a HTTP/1.1\r\n"), Scanned::Refused(Status::UriTooLong));
    assert_eq!(scan("GET /456789abcdefghijklm"), Scanned::Refused(Status::UriTooLong));
    assert_eq!(scan(&format!("{line}a: b\r\nc: d\r\ne: f\r\n")), Scanned::Refused(Status::FieldsTooLarge));
    assert_eq!(scan(&format!("{line}a: {}", "b".repeat(40))), Scanned::Refused(Status::FieldsTooLarge));
    assert_eq!(scan(&"\r\n".repeat(40)), Scanned::Refused(Status::FieldsTooLarge));
}

fn skip_in_pieces(framing: Framing, body: &[u8], budget: u64, piece_len: usize) -> Skipped {
    let mut skip = BodySkip::new(framing, budget).unwrap().unwrap();
    let mut used = 0;
    for piece in body.chunks(piece_len) {
        match skip.advance(piece) {
            Skipped::All => used += piece.len(),
            Skipped::Done(n) => return Skipped::Done(used + n),
            refused => return refused,
        }
    }
    Skipped::All
}

#[test]
fn chunked_bodies() {
    let cases: [(&[u8], Skipped); 13] = [
        (b"0\r\n\r\nGET", Skipped::Done(5)),
        (b"3\r\nabc\r\n0\r\n\r\nX", Skipped::Done(13)),
        (b"a;x=y\r\n0123456789\r\n0;q=\"\t\"\r\n\r\n", Skipped::Done(30)),
        (b"0\r\nA: b\r\nC: d\r\n\r\n", Skipped::Done(17)),
        (b"3\r\nab", Skipped::All),
        (b"3\nabc\r\n", Skipped::Refused(Status::BadRequest)),
        (b"3\r\nabcd\r\n", Skipped::Refused(Status::BadRequest)),
        (b"3 \r\nabc", Skipped::Refused(Status::BadRequest)),
        (b"0x3\r\nabc", Skipped::Refused(Status::BadRequest)),
        (b"-3\r\nabc", Skipped::Refused(Status::BadRequest)),
        (b"\r\n", Skipped::Refused(Status::BadRequest)),
        (b"0\r\nA\0: b\r\n\r\n", Skipped::Refused(Status::BadRequest)),
        (b"0000000000000003\r\nabc\r\n", Skipped::Refused(Status::ContentTooLarge)),
    ];
    for (body, want) in cases {
        for piece_len in 1..=body.len() {
            let seen = skip_in_pieces(Framing::Chunked, body, 100, piece_len);
            assert_eq!(seen, want, "{:?} by {piece_len}", String::from_utf8_lossy(body));
        }
    }
}

#[test]
fn bodies_over_the_budget() {
    assert_eq!(BodySkip::new(Framing::Length(11), 10), Err(Status::ContentTooLarge));
    assert_eq!(skip_in_pieces(Framing::Length(10), &[0; 12], 10, 5), Skipped::Done(10));
    let long = [b"ff\r\n".as_slice(), &[b'x'; 255]].concat();
    for piece_len in [1, 7, 100, 259] {
        let seen = skip_in_pieces(Framing::Chunked, &long, 100, piece_len);
        assert_eq!(seen, Skipped::Refused(Status::ContentTooLarge));
    }
}

/// Bytes that are likely to be nearly a head.
fn nearly_a_head() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "GET ",
        "HEAD ",
        "/",
        "/a",
        " ",
        "HTTP/1.1",
        "HTTP/1.0",
        "\r\n",
        "\n",
        "\r",
        "Host: a\r\n",
        "\r\n\r\n",
        "Content-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\n",
        ":",
        "\t",
        "\0",
        "%2e",
        "*",
        "x",
        "é",
        ",",
    ]);
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn never_panics(bytes in prop_oneof![nearly_a_head(), prop::collection::vec(any::<u8>(), 0..200)]) {
        let mut storage = FieldStorage::new();
        let _ = Request::parse(&bytes, &mut storage);
    }

    #[test]
    fn a_split_scan_ends_where_a_whole_one_does(bytes in nearly_a_head(), cut in 0_usize..200) {
        let limits = HeadLimits { line_len_max: 40, head_len_max: 100, field_count_max: 3 };
        let whole = HeadScan::default().advance(&bytes, &limits);
        let mut scan = HeadScan::default();
        let mut split = Scanned::Partial;
        for end in [cut.min(bytes.len()), bytes.len()] {
            if split == Scanned::Partial {
                split = scan.advance(&bytes[..end], &limits);
            }
        }
        prop_assert_eq!(split, whole);
    }

    #[test]
    fn a_chunked_body_ends_where_it_ends_however_it_is_split(
        bytes in prop::collection::vec(prop::sample::select(b"0123af;\r\n x".to_vec()), 1..60),
        piece_len in 1_usize..60,
    ) {
        let whole = skip_in_pieces(Framing::Chunked, &bytes, 50, bytes.len());
        prop_assert_eq!(skip_in_pieces(Framing::Chunked, &bytes, 50, piece_len), whole);
    }
}
