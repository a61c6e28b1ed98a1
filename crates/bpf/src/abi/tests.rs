//! The Rust definitions against the header, and against the type information (BTF) of the compiled object.

use std::collections::BTreeMap;
use std::mem::{offset_of, size_of};

use libbpf_rs::btf::types::Struct;
use libbpf_rs::btf::{Btf, HasSize};

use super::*;
use crate::object;

fn btf() -> Btf<'static> {
    Btf::from_raw("tidegate", object::bytes()).expect("the object's BTF can be read").expect("it has BTF")
}

/// Name and number of each enumerator of the header whose name begins with `prefix`.
fn enumerators(prefix: &str) -> BTreeMap<&'static str, u32> {
    let lines = include_str!("../xdp/abi.h").lines().map(str::trim);
    let enumerator = |line: &'static str| {
        let (name, rest) = line.split_once(" = ")?;
        let (number, _) = rest.split_once(',')?;
        Some((name.strip_prefix(prefix)?, number.parse().expect("enumerators have plain numbers")))
    };
    lines.filter_map(enumerator).collect()
}

/// Size, and byte offset of each member.
fn layout(name: &str) -> (usize, BTreeMap<String, usize>) {
    let btf = btf();
    let kind =
        btf.type_by_name::<Struct<'_>>(name).unwrap_or_else(|| panic!("no `struct {name}` in the object"));
    let text = |name: Option<&std::ffi::OsStr>| name.expect("members have names").to_string_lossy().into();
    let offset = |attr| match attr {
        libbpf_rs::btf::types::MemberAttr::Normal { offset } => offset as usize / 8,
        libbpf_rs::btf::types::MemberAttr::BitField { .. } => panic!("`struct {name}` has a bit field"),
    };
    (kind.size(), kind.iter().map(|member| (text(member.name), offset(member.attr))).collect())
}

fn members<const N: usize>(members: [(&str, usize); N]) -> BTreeMap<String, usize> {
    members.into_iter().map(|(name, offset)| (name.to_owned(), offset)).collect()
}

#[test]
fn reasons_have_the_numbers_of_the_program() {
    let mut found = enumerators("REASON_");
    assert_eq!(found.remove("COUNT"), Some(Reason::ALL.len() as u32));
    let found: BTreeMap<_, _> =
        found.into_iter().map(|(name, number)| (name.to_lowercase(), number)).collect();
    let expected = Reason::ALL.into_iter().map(|reason| (reason.name().to_owned(), reason as u32));
    assert_eq!(found, expected.collect());
}

#[test]
fn verdicts_have_the_numbers_of_the_program() {
    let expected = [("PASS", Verdict::Pass as u32), ("SOCKET", Verdict::Socket as u32)];
    assert_eq!(enumerators("VERDICT_"), expected.into());
}

#[test]
fn reasons_are_numbered_by_their_order() {
    for (index, reason) in Reason::ALL.into_iter().enumerate() {
        assert_eq!(reason as usize, index);
    }
}

#[test]
fn the_key_of_tuples_has_the_layout_of_the_program() {
    let expected = members([
        ("address", offset_of!(TupleKey, address)),
        ("port", offset_of!(TupleKey, port)),
        ("protocol", offset_of!(TupleKey, protocol)),
        ("ip_version", offset_of!(TupleKey, ip_version)),
    ]);
    assert_eq!(layout("tuple"), (size_of::<TupleKey>(), expected));
}

#[test]
fn map_values_have_the_layout_of_the_program() {
    let steering = members([("verdict", offset_of!(Steering, verdict))]);
    assert_eq!(layout("steering"), (size_of::<Steering>(), steering));
    let settings = members([("own_device", offset_of!(Settings, own_device))]);
    assert_eq!(layout("settings"), (size_of::<Settings>(), settings));
}
