//! The Rust definitions against the type information (BTF) of the compiled object.

use std::collections::BTreeMap;
use std::mem::{offset_of, size_of};

use libbpf_rs::btf::types::{Enum, Struct};
use libbpf_rs::btf::{Btf, HasSize};

use super::*;
use crate::object;

fn btf() -> Btf<'static> {
    Btf::from_raw("tidegate", object::bytes()).expect("the object's BTF can be read").expect("it has BTF")
}

/// Name in C and number of each enumerator.
fn enumerators(name: &str) -> BTreeMap<String, i64> {
    let btf = btf();
    let kind = btf.type_by_name::<Enum<'_>>(name).unwrap_or_else(|| panic!("no `enum {name}` in the object"));
    let text =
        |name: Option<&std::ffi::OsStr>| name.expect("enumerators have names").to_string_lossy().into();
    kind.iter().map(|member| (text(member.name), member.value)).collect()
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
    let mut expected: BTreeMap<String, i64> = Reason::ALL
        .into_iter()
        .map(|reason| (format!("REASON_{}", reason.name().to_uppercase()), reason as i64))
        .collect();
    expected.insert("REASON_COUNT".to_owned(), Reason::ALL.len() as i64);
    assert_eq!(enumerators("reason"), expected);
}

#[test]
fn verdicts_have_the_numbers_of_the_program() {
    let expected = [("VERDICT_PASS", Verdict::Pass), ("VERDICT_SOCKET", Verdict::Socket)];
    let expected = expected.into_iter().map(|(name, verdict)| (name.to_owned(), verdict as i64)).collect();
    assert_eq!(enumerators("verdict"), expected);
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
