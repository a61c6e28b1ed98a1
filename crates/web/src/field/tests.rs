//! Tables of field values and what each comes to, by the section that defines it; and properties that hold for any.

use super::coding::{CodingSet, choose};
use super::precondition::{Validators, Verdict, evaluate, range_applies};
use super::range::{ByteRange, Ranges, parse};
use super::validator::{EntityTag, EntityTags, HttpSecond};
use crate::request::fields::{FieldStorage, Fields};
use proptest::prelude::*;
use tidegate_content::Encoding;

fn with<T>(lines: &str, look: impl FnOnce(&Fields<'_, '_>) -> T) -> T {
    let head = format!("{lines}\r\n");
    let mut storage = FieldStorage::new();
    look(&Fields::parse(head.as_bytes(), &mut storage).unwrap())
}

#[test]
fn entity_tags() {
    let tag = |text: &'static str| EntityTag::parse(text.as_bytes());
    assert_eq!(tag("\"a\""), Some(EntityTag { is_weak: false, opaque: b"a" }));
    assert_eq!(tag("W/\"a,b\""), Some(EntityTag { is_weak: true, opaque: b"a,b" }));
    assert_eq!(tag("\"\""), Some(EntityTag { is_weak: false, opaque: b"" }));
    for none in ["a", "\"a", "w/\"a\"", "\"a b\"", "\"a\"x", ""] {
        assert_eq!(tag(none), None, "{none:?}");
    }
    let list: Vec<_> = EntityTags::of(b" \"a\" ,, W/\"b,c\",\"d\" junk, \"e\"").map(|t| t.opaque).collect();
    assert_eq!(list, [b"a".as_slice(), b"b,c", b"d"]);
}

const DAY: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
const EARLIER: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
const LATER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

fn now() -> Validators<'static> {
    Validators {
        etag: EntityTag { is_weak: false, opaque: b"x" },
        modified: HttpSecond::parse(DAY.as_bytes()).unwrap(),
    }
}

#[test]
fn dates_in_all_three_forms() {
    let want = Some(HttpSecond(784_111_777));
    for text in [DAY, "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
        assert_eq!(HttpSecond::parse(text.as_bytes()), want, "{text}");
    }
    assert_eq!(HttpSecond::parse(b"yesterday"), None);
    assert_eq!(HttpSecond::parse(b"\xff"), None);
    assert_eq!(HttpSecond(784_111_777).to_imf_fixdate(), DAY);
    assert_eq!(HttpSecond(u64::MAX).to_imf_fixdate(), "Fri, 31 Dec 9999 23:59:59 GMT");
}

#[test]
fn preconditions_in_order() {
    use Verdict::{Failed, NotModified, Proceed};
    let cases = [
        (String::new(), Proceed),
        ("If-Match: \"x\"\r\n".into(), Proceed),
        ("If-Match: \"y\"\r\n".into(), Failed),
        ("If-Match: \"y\", \"x\"\r\n".into(), Proceed),
        ("If-Match: \"y\"\r\nIf-Match: \"x\"\r\n".into(), Proceed),
        ("If-Match: W/\"x\"\r\n".into(), Failed),
        ("If-Match: *\r\n".into(), Proceed),
        ("If-Match: \r\n".into(), Failed),
        (format!("If-Unmodified-Since: {DAY}\r\n"), Proceed),
        (format!("If-Unmodified-Since: {LATER}\r\n"), Proceed),
        (format!("If-Unmodified-Since: {EARLIER}\r\n"), Failed),
        ("If-Unmodified-Since: never\r\n".into(), Proceed),
        (format!("If-Match: \"x\"\r\nIf-Unmodified-Since: {EARLIER}\r\n"), Proceed),
        ("If-None-Match: \"x\"\r\n".into(), NotModified),
        ("If-None-Match: W/\"x\"\r\n".into(), NotModified),
        ("If-None-Match: \"y\"\r\n".into(), Proceed),
        ("If-None-Match: \"y\", \"x\"\r\n".into(), NotModified),
        ("If-None-Match: *\r\n".into(), NotModified),
        (format!("If-Modified-Since: {DAY}\r\n"), NotModified),
        (format!("If-Modified-Since: {LATER}\r\n"), NotModified),
        (format!("If-Modified-Since: {EARLIER}\r\n"), Proceed),
        ("If-Modified-Since: soon\r\n".into(), Proceed),
        (format!("If-Modified-Since: {DAY}\r\nIf-Modified-Since: {DAY}\r\n"), Proceed),
        (format!("If-None-Match: \"y\"\r\nIf-Modified-Since: {LATER}\r\n"), Proceed),
        (format!("If-None-Match: \"x\"\r\nIf-Modified-Since: {EARLIER}\r\n"), NotModified),
        ("If-Match: \"y\"\r\nIf-None-Match: \"x\"\r\n".into(), Failed),
        ("If-Match: \"x\"\r\nIf-None-Match: \"x\"\r\n".into(), NotModified),
    ];
    for (lines, want) in cases {
        assert_eq!(with(&lines, |fields| evaluate(fields, &now())), want, "{lines:?}");
    }
}

#[test]
fn if_range_needs_a_strong_validator() {
    let cases = [
        (String::new(), true),
        ("If-Range: \"x\"\r\n".into(), true),
        ("If-Range: W/\"x\"\r\n".into(), false),
        ("If-Range: \"y\"\r\n".into(), false),
        (format!("If-Range: {DAY}\r\n"), true),
        (format!("If-Range: {LATER}\r\n"), false),
        (format!("If-Range: {EARLIER}\r\n"), false),
        ("If-Range: x\r\n".into(), false),
        ("If-Range: \"x\"\r\nIf-Range: \"x\"\r\n".into(), false),
    ];
    for (lines, want) in cases {
        assert_eq!(with(&lines, |fields| range_applies(fields, &now())), want, "{lines:?}");
    }
}

fn parts(text: &str, len: u64) -> Option<Vec<(u64, u64)>> {
    match parse(text.as_bytes(), len) {
        Ranges::Parts(parts) => Some(parts.iter().map(|p| (p.start, p.end)).collect()),
        Ranges::Unsatisfiable => Some(vec![]),
        Ranges::Ignored => None,
    }
}

#[test]
fn ranges() {
    type Case = (&'static str, Option<&'static [(u64, u64)]>);
    let cases: [Case; 26] = [
        ("bytes=0-0", Some(&[(0, 1)])),
        ("bytes=0-", Some(&[(0, 100)])),
        ("BYTES=5-9", Some(&[(5, 10)])),
        ("bytes=90-200", Some(&[(90, 100)])),
        ("bytes=-1", Some(&[(99, 100)])),
        ("bytes=-200", Some(&[(0, 100)])),
        ("bytes=-0", Some(&[])),
        ("bytes=100-", Some(&[])),
        ("bytes=100-,-5", Some(&[(95, 100)])),
        ("bytes=0-1, 5-6", Some(&[(0, 2), (5, 7)])),
        ("bytes=5-6,0-1", Some(&[(5, 7), (0, 2)])),
        ("bytes=8-9,0-1,4-5,2-8", Some(&[(0, 10)])),
        ("bytes=20-29,8-9,0-1,4-5,2-8", Some(&[(20, 30), (0, 10)])),
        ("bytes=0-4,3-6", Some(&[(0, 7)])),
        ("bytes=0-4,5-6", Some(&[(0, 7)])),
        ("bytes=0-0,,2-2", Some(&[(0, 1), (2, 3)])),
        ("bytes=0-99999999999999999999999", Some(&[(0, 100)])),
        ("bytes=99999999999999999999999-", Some(&[])),
        ("bytes=9-5", None),
        ("bytes=", None),
        ("bytes=a-b", None),
        ("bytes=1", None),
        ("bytes=--1", None),
        ("bytes=1-2-3", None),
        ("lines=0-1", None),
        ("bytes 0-1", None),
    ];
    for (text, want) in cases {
        assert_eq!(parts(text, 100).as_deref(), want, "{text:?}");
    }
}

#[test]
fn too_many_ranges_get_the_whole() {
    let of = |count: u64| (0..count).map(|n| format!("{}-{}", 2 * n, 2 * n)).collect::<Vec<_>>().join(",");
    assert_eq!(parts(&format!("bytes={}", of(16)), 1000).map(|p| p.len()), Some(16));
    assert_eq!(parts(&format!("bytes={}", of(17)), 1000), None);
}

#[test]
fn an_empty_document_has_no_ranges() {
    assert_eq!(parts("bytes=0-", 0), Some(vec![]));
    assert_eq!(parts("bytes=-5", 0), Some(vec![]));
}

#[test]
fn codings() {
    use Encoding::{Brotli, Gzip, Identity, Zstd};
    let all = CodingSet::default().with(Gzip).with(Brotli).with(Zstd);
    let gzip = CodingSet::default().with(Gzip);
    let cases = [
        ("", all, Identity),
        ("Accept-Encoding:\r\n", all, Identity),
        ("Accept-Encoding: gzip\r\n", all, Gzip),
        ("Accept-Encoding: x-GZIP\r\n", all, Gzip),
        ("Accept-Encoding: gzip, deflate, br, zstd\r\n", all, Brotli),
        ("Accept-Encoding: gzip, deflate, br, zstd\r\n", gzip, Gzip),
        ("Accept-Encoding: gzip, zstd\r\n", all, Zstd),
        ("Accept-Encoding: gzip;q=1.0, br;q=0.5\r\n", all, Gzip),
        ("Accept-Encoding: gzip;q=0.001\r\n", all, Gzip),
        ("Accept-Encoding: gzip;q=0\r\n", all, Identity),
        ("Accept-Encoding: gzip; Q=0.000\r\n", all, Identity),
        ("Accept-Encoding: *\r\n", all, Brotli),
        ("Accept-Encoding: *;q=0\r\n", all, Identity),
        ("Accept-Encoding: br;q=0, *\r\n", all, Zstd),
        ("Accept-Encoding: identity\r\n", all, Identity),
        ("Accept-Encoding: identity, gzip;q=0.5\r\n", all, Identity),
        ("Accept-Encoding: identity;q=0.5, gzip;q=0.5\r\n", all, Gzip),
        ("Accept-Encoding: identity;q=0, gzip\r\n", gzip, Gzip),
        ("Accept-Encoding: identity;q=0\r\n", all, Identity),
        ("Accept-Encoding: gzip\r\nAccept-Encoding: br\r\n", all, Brotli),
        ("Accept-Encoding: gzip;q=2\r\n", all, Identity),
        ("Accept-Encoding: gzip;q=0.1234\r\n", all, Identity),
        ("Accept-Encoding: gzip;q=\r\n", all, Identity),
        ("Accept-Encoding: br\r\n", CodingSet::default(), Identity),
    ];
    for (lines, available, want) in cases {
        assert_eq!(with(lines, |fields| choose(fields, available)), want, "{lines:?}");
    }
}

proptest! {
    #[test]
    fn ranges_are_inside_and_apart(
        specs in prop::collection::vec((0_u64..40, 0_u64..40), 1..6), len in 0_u64..40,
    ) {
        let text = specs.iter().map(|(a, b)| format!("{a}-{b}")).collect::<Vec<_>>().join(",");
        let Ranges::Parts(parts) = parse(format!("bytes={text}").as_bytes(), len) else { return Ok(()) };
        prop_assert!(parts.iter().all(|p| p.start < p.end && p.end <= len));
        let apart = |a: &ByteRange, b: &ByteRange| a.end < b.start || b.end < a.start;
        let pairs = parts.iter().enumerate().flat_map(|(at, a)| parts[..at].iter().map(move |b| (a, b)));
        prop_assert!(pairs.into_iter().all(|(a, b)| apart(a, b)));
        for byte in 0..len {
            let is_asked = specs.iter().any(|&(a, b)| a <= byte && byte <= b);
            prop_assert_eq!(parts.iter().any(|p| p.start <= byte && byte < p.end), is_asked);
        }
    }

    #[test]
    fn field_values_never_panic(value in prop::collection::vec(any::<u8>(), 0..60), len: u64) {
        let _ = (parse(&value, len), EntityTags::of(&value).count(), HttpSecond::parse(&value));
        let _ = parse(&[b"bytes=".as_slice(), &value].concat(), len);
        let line = [b"Accept-Encoding: ".as_slice(), &value, b"\r\n\r\n"].concat();
        let mut storage = FieldStorage::new();
        if let Ok(fields) = Fields::parse(&line, &mut storage) {
            choose(&fields, CodingSet::default().with(Encoding::Gzip));
        }
    }
}
