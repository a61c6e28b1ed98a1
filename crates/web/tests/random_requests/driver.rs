//! Reads any bytes as a request and plans its answer, checking what must hold whatever they are. Shared
//! by the test beside it and by the fuzz target `http_request`.
//!
//! What is read must not depend on where the bytes were split; a name that is looked up must lie below
//! the root; a `Location` must lead nowhere else; ranges must lie inside their file.

use tidegate_content::{Encoding, FileMeta};
use tidegate_web::field::range::ByteRange;
use tidegate_web::plan::{self, Decision, Found, Located, Naming};
use tidegate_web::request::Request;
use tidegate_web::request::body::{BodySkip, Skipped};
use tidegate_web::request::fields::FieldStorage;
use tidegate_web::request::scan::{HeadLimits, HeadScan, Scanned};

/// Small enough for a fuzzer to pass them.
const LIMITS: HeadLimits = HeadLimits { line_len_max: 64, head_len_max: 512, field_count_max: 8 };
const BODY_LEN_MAX: u64 = 64;
const FILE_LENS: [u64; 5] = [0, 1, 100, 1 << 32, u64::MAX / 2];
const CODINGS: [Encoding; 4] = [Encoding::Identity, Encoding::Gzip, Encoding::Brotli, Encoding::Zstd];

/// Looks at `bytes`; panics where an invariant breaks.
pub(crate) fn drive(bytes: &[u8]) {
    let Scanned::Whole(len) = scan(bytes) else { return };
    let (head, rest) = bytes.split_at(len);
    let mut storage = FieldStorage::new();
    let Ok(request) = Request::parse(head, &mut storage) else { return };
    locate(&request);
    decide(&request);
    if let Ok(Some(body)) = BodySkip::new(request.framing, BODY_LEN_MAX) {
        skip(body, rest);
    }
}

/// The same for all of the bytes at once and for one after the other.
fn scan(bytes: &[u8]) -> Scanned {
    let at_once = HeadScan::default().advance(bytes, &LIMITS);
    let mut scan = HeadScan::default();
    let one_by_one = (0..=bytes.len())
        .map(|len| scan.advance(&bytes[..len], &LIMITS))
        .find(|scanned| *scanned != Scanned::Partial)
        .unwrap_or(Scanned::Partial);
    assert_eq!(at_once, one_by_one);
    if let Scanned::Whole(len) = at_once {
        assert!(len <= LIMITS.head_len_max && bytes[..len].ends_with(b"\r\n\r\n"));
    }
    at_once
}

fn locate(request: &Request<'_, '_>) {
    for dotfiles in [false, true] {
        let naming = Naming { index: "index.html".into(), dotfiles, precompressed: true };
        let located = plan::locate(request, &naming, |name| {
            check_name(name, dotfiles);
            match name {
                b"" | b"d" => Some(Found::Directory),
                name if name.ends_with(b"/") => None,
                name => name.first().is_some_and(|&b| b > b'a').then(|| Found::Document(name.to_vec())),
            }
        });
        match located {
            Located::Moved(location) => check_location(&location),
            Located::Refused(status) => assert!(status.is_error()),
            Located::Document(_) | Located::Options => {}
        }
    }
}

/// Nothing that is looked up leads out of the root, or into what is hidden.
fn check_name(name: &[u8], dotfiles: bool) {
    assert!(!name.contains(&0));
    for segment in name.split(|&b| b == b'/').filter(|_| !name.is_empty()) {
        assert!(!segment.is_empty() && segment != b"." && segment != b"..", "{name:?}");
        assert!(dotfiles || segment[0] != b'.' || segment == b".well-known", "{name:?}");
    }
}

/// A `Location` ends no line and names no other host.
fn check_location(location: &[u8]) {
    assert!(location.starts_with(b"/") && !location.starts_with(b"//"));
    assert!(location.iter().all(u8::is_ascii_graphic));
    let authority = location.iter().position(|&b| b == b'\\');
    assert!(authority.is_none_or(|at| location[..at].contains(&b'?')), "some read a backslash as a slash");
}

fn decide(request: &Request<'_, '_>) {
    let naming = Naming { index: "index.html".into(), dotfiles: false, precompressed: true };
    let encoding = plan::negotiate(&request.fields, &naming, CODINGS);
    for size in FILE_LENS {
        let meta = FileMeta { size, modified_secs: 784_111_777, modified_nanos: 5, inode: 1 };
        let parts = match plan::decide(request, &meta, encoding) {
            Decision::Whole | Decision::NotModified => continue,
            Decision::Refused(status) => {
                assert!(status.is_error());
                continue;
            }
            Decision::Part(part) => vec![part],
            Decision::Parts(parts) => {
                assert!(parts.len() > 1);
                parts.to_vec()
            }
        };
        for (at, part) in parts.iter().enumerate() {
            assert!(part.start < part.end && part.end <= size, "{parts:?} of {size}");
            let apart = |other: &ByteRange| other.end < part.start || part.end < other.start;
            assert!(parts[..at].iter().all(apart), "{parts:?}");
        }
    }
}

/// The same for all of the bytes at once and for one after the other.
fn skip(body: BodySkip, rest: &[u8]) {
    let at_once = { body }.advance(rest);
    let mut skip = body;
    let mut one_by_one = Skipped::All;
    for (at, byte) in rest.chunks(1).enumerate() {
        one_by_one = match skip.advance(byte) {
            Skipped::All => continue,
            Skipped::Done(len) => Skipped::Done(at + len),
            refused => refused,
        };
        break;
    }
    assert_eq!(at_once, one_by_one);
}
