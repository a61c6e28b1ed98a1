//! Any bytes as what a client sends, over a whole site: each request gets exactly one well-formed answer,
//! in order, and the same answers however the bytes were split. Shared by the test in `splits` and by the
//! fuzz target `http_connection`.
//!
//! How many requests there are is counted by the site's own parser, over the bytes in one piece; what
//! comes back is read by a reader that knows nothing of the site.

use crate::net::Net;
use crate::tree::Tree;
use tidegate_base::Rng;
use tidegate_web::Config;
use tidegate_web::request::body::{BodySkip, Skipped};
use tidegate_web::request::fields::FieldStorage;
use tidegate_web::request::line::Method;
use tidegate_web::request::scan::{HeadScan, Scanned};
use tidegate_web::request::{Request, is_head};

/// Limits that a few bytes pass.
const SETTINGS: &str = "[limits]\npipelined = 2\nrequest_line = 64\nrequest_head = 512\nfields = 8\n\
    request_body = 64\n[content]\nstream_from = 50000";
/// Longer than connections stay in TIME-WAIT.
const REST_MS: u64 = 61_000;
/// A stream is cut into pieces of up to so many bytes.
const PIECE_LEN_MAX: u64 = 48;

/// What is known of an answer before it comes.
struct Due {
    /// The status of a refusal.
    refused: Option<u16>,
    has_no_body: bool,
    is_last: bool,
}

/// A site that stays for any number of streams.
pub fn site() -> Net {
    let mut net = Net::new(Tree::standard(), SETTINGS);
    // What is loaded once is answered at once from then on.
    for path in ["/", "/a.css", "/page.html", "/docs/", "/empty.txt", "/big.bin"] {
        for coding in ["", "Accept-Encoding: gzip\r\n", "Accept-Encoding: br\r\n"] {
            net.ask(&format!("GET {path}"), coding);
        }
    }
    net
}

/// Sends `bytes` twice: the first four are the seed of how the rest is split the second time. Panics
/// where an answer is not what it must be.
pub fn drive(net: &mut Net, bytes: &[u8]) {
    let Some((seed, stream)) = bytes.split_first_chunk() else { return };
    let whole = answers(net, [stream]);
    check(&whole, &due(stream));
    let split = answers(net, pieces(stream, u32::from_le_bytes(*seed)));
    assert_eq!(String::from_utf8_lossy(&split), String::from_utf8_lossy(&whole));
}

fn pieces(mut stream: &[u8], seed: u32) -> Vec<&[u8]> {
    let mut rng = Rng::new(seed.into());
    let len_max = 1 + rng.below(PIECE_LEN_MAX);
    let mut pieces = Vec::new();
    while !stream.is_empty() {
        let (piece, rest) = stream.split_at(stream.len().min(1 + rng.below(len_max) as usize));
        pieces.push(piece);
        stream = rest;
    }
    pieces
}

fn answers<'a>(net: &mut Net, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let id = net.open();
    net.steps(2, 0);
    for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
        net.send(id, piece);
        net.step(0);
    }
    net.finish(id);
    net.run_until("ended by the server", |net| net.is_eof(id));
    let received = net.forget(id);
    net.steps(3, 0);
    net.steps(2, REST_MS);
    received
}

/// What the requests of a stream must get.
fn due(stream: &[u8]) -> Vec<Due> {
    let Config { limits, .. } = tidegate_config::parse(SETTINGS).expect("settings that are right");
    let (mut at, mut due) = (0, Vec::new());
    while at < stream.len() && due.last().is_none_or(|due: &Due| !due.is_last) {
        let rest = &stream[at..];
        let mut scan = HeadScan::default();
        let head = match scan.advance(rest, &limits.head()) {
            Scanned::Partial => break,
            Scanned::Refused(status) => {
                due.push(refusal(status.code(), &rest[..scan.scanned_len()]));
                break;
            }
            Scanned::Whole(len) => &rest[..len],
        };
        let Some(body_len) = due_for_head(head, &rest[head.len()..], limits.request_body.0, &mut due) else {
            break;
        };
        at += head.len() + body_len;
    }
    due
}

/// What one head must get, and how long the body behind it is, if it ends.
fn due_for_head(head: &[u8], rest: &[u8], body_len_max: u64, due: &mut Vec<Due>) -> Option<usize> {
    let mut storage = FieldStorage::new();
    let request = match Request::parse(head, &mut storage) {
        Ok(request) => request,
        Err(status) => {
            due.push(refusal(status.code(), head));
            return None;
        }
    };
    let body = match BodySkip::new(request.framing, body_len_max) {
        Ok(body) => body,
        Err(status) => {
            due.push(refusal(request.refusal().unwrap_or(status).code(), head));
            return None;
        }
    };
    due.push(Due {
        refused: request.refusal().map(|status| status.code()),
        has_no_body: request.line.method == Method::Head,
        is_last: !request.keep_alive,
    });
    match body.map_or(Skipped::Done(0), |mut body| body.advance(rest)) {
        Skipped::Done(len) => Some(len),
        Skipped::All | Skipped::Refused(_) => None,
    }
}

fn refusal(code: u16, head: &[u8]) -> Due {
    Due { refused: Some(code), has_no_body: is_head(head), is_last: true }
}

fn check(mut stream: &[u8], due: &[Due]) {
    for due in due {
        let head_len = stream.windows(4).position(|w| w == b"\r\n\r\n").expect("a head for each request") + 4;
        let (head, rest) = stream.split_at(head_len);
        let (code, len) = check_head(head, due.is_last);
        assert!(due.refused.is_none_or(|refused| refused == code), "{code}");
        let len = if due.has_no_body { 0 } else { len };
        assert!(len <= rest.len(), "the body is cut short");
        stream = &rest[len..];
    }
    assert_eq!(String::from_utf8_lossy(stream), "", "an answer that nobody asked for");
}

/// The status of a head, and the length of its content (RFC 9112 sections 4 to 6).
fn check_head(head: &[u8], is_last: bool) -> (u16, usize) {
    let text = std::str::from_utf8(head).expect("text");
    let mut lines = text.strip_suffix("\r\n\r\n").expect("an end").split("\r\n");
    let line = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")).expect("a status line");
    let (code, reason) = line.split_once(' ').expect("a reason");
    let code: u16 = code.parse().expect("a code");
    assert!((200..=505).contains(&code) && !reason.is_empty());
    let fields: Vec<(&str, &str)> = lines.map(|line| line.split_once(": ").expect("a field")).collect();
    for (name, value) in &fields {
        assert!(!name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'), "{name}");
        assert!(value.bytes().all(|b| (b' '..0x7f).contains(&b)), "{value}");
    }
    let value = |name: &str| {
        let mut values = fields.iter().filter(|field| field.0 == name).map(|field| field.1);
        let value = values.next();
        assert!(values.next().is_none(), "{name} twice");
        value
    };
    assert_eq!(value("Date").map(str::len), Some(29));
    assert_eq!(value("Connection").map(str::trim_end), Some(if is_last { "close" } else { "keep-alive" }));
    let len = value("Content-Length").map(|len| len.parse().expect("a length"));
    assert_eq!(len.is_none(), matches!(code, 204 | 304), "{text}");
    (code, len.unwrap_or(0))
}
