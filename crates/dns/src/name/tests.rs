//! Names against naive readings of the RFCs.

use std::cmp::Ordering;
use std::collections::HashSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn name(text: &str) -> NameBuf {
    text.parse().unwrap()
}

/// Any name, from its labels.
fn names() -> impl Strategy<Value = NameBuf> {
    vec(vec(any::<u8>(), 1..=20), 0..=10).prop_map(|labels| of_labels(&labels))
}

/// Names that often share labels, in either case.
fn kindred() -> impl Strategy<Value = NameBuf> {
    let label = prop_oneof![Just("a"), Just("A"), Just("b"), Just("ab"), Just("Ab"), Just("*"), Just("z-9")];
    vec(label.prop_map(|text| text.as_bytes().to_vec()), 0..=4).prop_map(|labels| of_labels(&labels))
}

fn of_labels(labels: &[Vec<u8>]) -> NameBuf {
    let root = NameBuf::new();
    labels.iter().rev().fold(root, |parent, label| NameBuf::child(label, &parent).unwrap())
}

fn lower_labels(name: &Name) -> Vec<Vec<u8>> {
    name.labels().map(<[u8]>::to_ascii_lowercase).collect()
}

#[test]
fn the_root_has_no_label_and_no_parent() {
    assert_eq!(Name::ROOT.label_count(), 0);
    assert!(Name::ROOT.parent().is_none() && Name::ROOT.is_root());
    assert_eq!(Name::ROOT.to_string(), ".");
    assert_eq!(Name::ROOT.ancestors().count(), 1);
}

#[test]
fn what_is_no_name_is_refused() {
    let refused = |wire: &[u8]| Name::from_wire(wire).err();
    assert_eq!(refused(b""), Some(NameError::Unfinished));
    assert_eq!(refused(b"\x03ab"), Some(NameError::Unfinished));
    assert_eq!(refused(b"\x03abc"), Some(NameError::Unfinished));
    assert_eq!(refused(b"\x00\x00"), Some(NameError::Trailing));
    assert_eq!(refused(b"\xc0\x0c"), Some(NameError::NotALabel));
    assert_eq!(refused(b"\x41abc\x00"), Some(NameError::NotALabel));
}

#[test]
fn a_name_ends_at_255_octets() {
    let mut wire = [vec![63; 1], vec![b'x'; 63]].concat().repeat(3);
    wire.extend([vec![61], vec![b'x'; 61], vec![0]].concat());
    assert_eq!(wire.len(), NAME_LEN_MAX);
    let longest = Name::from_wire(&wire).unwrap();
    assert_eq!(longest.label_count(), 4);
    assert_eq!(NameBuf::child(b"y", longest), Err(NameError::TooLong));
    let longer = [&b"\x01y"[..], &wire].concat();
    assert_eq!(Name::from_wire(&longer).err(), Some(NameError::TooLong));
}

#[test]
fn the_most_labels_fit() {
    let wire = [[1, b'a'].repeat(LABEL_COUNT_MAX), vec![0]].concat();
    let name = Name::from_wire(&wire).unwrap();
    assert_eq!(name.label_count(), LABEL_COUNT_MAX);
    assert_eq!(Folded::of(name).suffixes().count(), LABEL_COUNT_MAX + 1);
    assert_eq!(name.cmp(name), Ordering::Equal);
}

/// RFC 4034 section 6.1's own list.
#[test]
fn the_canonical_order_is_the_rfcs() {
    let sorted = [
        "example",
        "a.example",
        "yljkjljk.a.example",
        "Z.a.example",
        "zABC.a.EXAMPLE",
        "z.example",
        "\\001.z.example",
        "*.z.example",
        "\\200.z.example",
    ];
    for pair in sorted.windows(2) {
        assert!(name(pair[0]) < name(pair[1]), "{} before {}", pair[0], pair[1]);
    }
}

#[test]
fn text_with_escapes_is_read() {
    assert_eq!(name("a\\.b.c").as_wire(), b"\x03a.b\x01c\x00");
    assert_eq!(name("\\065\\000.").as_wire(), b"\x02A\x00\x00");
    assert_eq!(name("a\\.b.\\007.").to_string(), "a\\.b.\\007.");
    assert_eq!(name("example"), name("EXAMPLE."));
}

#[test]
fn text_that_is_no_name_is_refused() {
    let refused = |text: &str| text.parse::<NameBuf>().err();
    assert_eq!(refused(""), Some(NameError::EmptyLabel));
    assert_eq!(refused("a..b"), Some(NameError::EmptyLabel));
    assert_eq!(refused(".a"), Some(NameError::EmptyLabel));
    assert_eq!(refused("a\\"), Some(NameError::BadEscape));
    assert_eq!(refused("a\\25"), Some(NameError::BadEscape));
    assert_eq!(refused("a\\256"), Some(NameError::BadEscape));
    assert_eq!(refused(&"a".repeat(64)), Some(NameError::LabelTooLong));
    assert_eq!(refused(&"a.".repeat(128)), Some(NameError::TooLong));
}

#[test]
fn a_name_is_within_its_ancestors_only() {
    let www = name("www.Example.COM");
    assert!(www.is_within(&name("example.com")) && www.is_below(&name("example.com")));
    assert!(www.is_within(&www) && !www.is_below(&www));
    assert!(!www.is_within(&name("ample.com")), "labels count, not octets");
    assert!(www.is_below(Name::ROOT));
    assert_eq!(*www.shared_ancestor(&name("mail.example.com")), *name("example.com"));
    assert_eq!(*www.shared_ancestor(&name("example.org")), *Name::ROOT);
}

#[test]
fn a_dname_exchanges_the_tail() {
    let (from, to) = (name("old.example"), name("new.test"));
    let moved = NameBuf::substitute(&name("a.b.old.example"), &from, &to).unwrap();
    assert_eq!(moved, Ok(name("a.b.new.test")));
    assert!(NameBuf::substitute(&from, &from, &to).is_none(), "the owner itself is not redirected");
    let long = name(&"a.".repeat(120));
    let grown = NameBuf::substitute(&name("x.old.example"), &from, &long);
    assert_eq!(grown, Some(Ok(name(&format!("x.{}", "a.".repeat(120))))));
    let too_long = NameBuf::substitute(&name("a.b.c.d.e.f.g.h.old.example"), &from, &long);
    assert_eq!(too_long, Some(Err(NameError::TooLong)));
}

#[test]
fn pointers_are_followed() {
    let message = b"\x01c\x00\x01b\xc0\x00\x01a\xc0\x03!";
    let mut found = NameBuf::new();
    assert_eq!(found.decompress(message, 7), Ok(11));
    assert_eq!(found, name("a.b.c"));
    assert_eq!(found.decompress(b"\xc0\x02\x01z\x00", 0), Ok(2));
    assert_eq!(found, name("z"));
}

#[test]
fn pointers_that_lead_nowhere_are_refused() {
    let mut found = name("kept");
    assert_eq!(found.decompress(b"\xc0\x00", 0), Err(NameError::BadPointer));
    assert_eq!(found.decompress(b"\x01a\xc0\x00", 0), Err(NameError::TooLong));
    assert_eq!(found.decompress(b"\xc0\x09", 0), Err(NameError::BadPointer));
    assert_eq!(found.decompress(b"\xc0", 0), Err(NameError::Unfinished));
    assert_eq!(found.decompress(b"\x80\x00", 0), Err(NameError::NotALabel));
    assert_eq!(found, name("kept"));
}

#[test]
fn few_of_many_similar_names_share_low_hash_bits() {
    let hashes: HashSet<u64> = (0..10_000)
        .map(|n| Folded::of(&name(&format!("host{n}.example.com"))).hash() & 0xffff_ffff)
        .collect();
    assert!(hashes.len() > 9_990, "{} of 10000", hashes.len());
}

proptest! {
    #[test]
    fn folding_is_lower_casing(src in vec(any::<u8>(), 0..300)) {
        let mut dst = vec![0; src.len()];
        fold(&src, &mut dst);
        prop_assert_eq!(dst, src.to_ascii_lowercase());
    }

    #[test]
    fn text_comes_back(name in names()) {
        let text = name.to_string();
        let back: NameBuf = text.parse().unwrap();
        prop_assert_eq!(back.as_wire(), name.as_wire());
    }

    #[test]
    fn the_wire_comes_back(name in names(), behind in vec(any::<u8>(), 0..8)) {
        let bytes = [name.as_wire(), &behind].concat();
        let (found, rest) = Name::split_from(&bytes).unwrap();
        prop_assert_eq!(found.as_wire(), name.as_wire());
        prop_assert_eq!(rest, &behind[..]);
        let mut decompressed = NameBuf::new();
        prop_assert_eq!(decompressed.decompress(&bytes, 0), Ok(name.wire_len()));
        prop_assert_eq!(decompressed.as_wire(), name.as_wire());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..80), at in 0_usize..90) {
        let _ = Name::split_from(&bytes);
        let _ = NameBuf::new().decompress(&bytes, at);
    }

    #[test]
    fn order_and_equality_are_those_of_reversed_lower_labels(a in kindred(), b in kindred()) {
        let reversed = |name: &Name| lower_labels(name).into_iter().rev().collect::<Vec<_>>();
        prop_assert_eq!(a.cmp(&b), reversed(&a).cmp(&reversed(&b)));
        prop_assert_eq!(a == b, lower_labels(&a) == lower_labels(&b));
        prop_assert_eq!(a.is_within(&b), lower_labels(&a).ends_with(&lower_labels(&b)));
    }

    #[test]
    fn keys_are_equal_as_names_are(a in kindred(), b in kindred()) {
        let (folded_a, folded_b) = (Folded::of(&a), Folded::of(&b));
        prop_assert_eq!(folded_a == folded_b, a == b);
        prop_assert_eq!(folded_a.hash() == folded_b.hash(), a == b);
        prop_assert_eq!(folded_a.name().as_wire(), &a.as_wire().to_ascii_lowercase()[..]);
    }

    #[test]
    fn suffixes_are_the_ancestors_with_their_hashes(name in names()) {
        let folded = Folded::of(&name);
        let mut ancestors: Vec<Folded> = name.ancestors().map(Folded::of).collect();
        ancestors.reverse();
        let suffixes: Vec<Key> = folded.suffixes().collect();
        prop_assert_eq!(suffixes, ancestors.iter().map(Folded::key).collect::<Vec<_>>());
    }
}
