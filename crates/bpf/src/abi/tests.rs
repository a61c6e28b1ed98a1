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

const HEADER: &str = include_str!("../xdp/abi.h");
const OFFLOAD_HEADER: &str = include_str!("../xdp/offload/abi.h");

/// Name and number of each enumerator of a header whose name begins with `prefix`.
fn enumerators(header: &'static str, prefix: &str) -> BTreeMap<&'static str, u32> {
    let lines = header.lines().map(str::trim);
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

/// Size of a structure of ours, and the offset of each member named.
macro_rules! ours {
    ($kind:ident { $($member:ident),* }) => {
        (size_of::<$kind>(), members([$((stringify!($member), offset_of!($kind, $member))),*]))
    };
}

#[test]
fn reasons_have_the_numbers_of_the_program() {
    let mut found = enumerators(HEADER, "REASON_");
    assert_eq!(found.remove("COUNT"), Some(Reason::ALL.len() as u32));
    let found: BTreeMap<_, _> =
        found.into_iter().map(|(name, number)| (name.to_lowercase(), number)).collect();
    let expected = Reason::ALL.into_iter().map(|reason| (reason.name().to_owned(), reason as u32));
    assert_eq!(found, expected.collect());
}

#[test]
fn verdicts_have_the_numbers_of_the_program() {
    let expected = [
        ("PASS", Verdict::Pass),
        ("SOCKET", Verdict::Socket),
        ("SLOT_SOCKET", Verdict::SlotSocket),
        ("DEVICE", Verdict::Device),
        ("DROP", Verdict::Drop),
        ("ANSWER", Verdict::Answer),
    ];
    assert_eq!(
        enumerators(HEADER, "VERDICT_"),
        expected.map(|(name, verdict)| (name, verdict as u32)).into()
    );
}

#[test]
fn egress_verdicts_have_the_numbers_of_the_program() {
    let mut found = enumerators(HEADER, "EGRESS_");
    assert_eq!(found.remove("COUNT"), Some(EgressVerdict::ALL.len() as u32));
    let found: BTreeMap<_, _> =
        found.into_iter().map(|(name, number)| (name.to_lowercase(), number)).collect();
    let expected = EgressVerdict::ALL.into_iter().map(|verdict| (verdict.name().to_owned(), verdict as u32));
    assert_eq!(found, expected.collect());
}

#[test]
fn stacks_ends_are_numbered_as_the_program_takes_them_to_be() {
    assert!(HEADER.contains(&format!("#define STACK_END_IFINDEX_MIN {STACK_END_IFINDEX_MIN}\n")));
}

#[test]
fn reasons_are_numbered_by_their_order() {
    for (index, reason) in Reason::ALL.into_iter().enumerate() {
        assert_eq!(reason as usize, index);
    }
}

#[test]
fn the_key_of_tuples_has_the_layout_of_the_program() {
    assert_eq!(layout("tuple"), ours!(TupleKey { address, port, protocol, ip_version }));
}

#[test]
fn map_values_have_the_layout_of_the_program() {
    assert_eq!(layout("steering"), ours!(SteeringValue { verdict, slot }));
    assert_eq!(layout("settings"), ours!(Settings { own_device }));
    assert_eq!(layout("nic"), ours!(NicValue { ifindex, mtu, mac, is_redirected_by_xdp, padding }));
    assert_eq!(layout("pace"), ours!(PaceValue { byte_cost, burst, full_at }));
    assert_eq!(layout("address"), ours!(AddressKey { address, ip_version }));
    let stack = ours!(StackValue { to_frames, to_bytes, wrong_queue_frames, from_bytes, from_frames });
    assert_eq!(layout("stack_counters"), stack);
}

#[test]
fn what_the_offload_counts_has_the_numbers_of_the_program() {
    let mut outcomes = enumerators(OFFLOAD_HEADER, "OFFLOAD_");
    assert_eq!(outcomes.remove("COUNT"), Some(OffloadOutcome::ALL.len() as u32));
    let named: BTreeMap<_, _> =
        outcomes.into_iter().map(|(name, number)| (name.to_lowercase(), number)).collect();
    let expected = OffloadOutcome::ALL.into_iter().map(|outcome| (outcome.name().to_owned(), outcome as u32));
    assert_eq!(named, expected.collect());

    let mut places = enumerators(OFFLOAD_HEADER, "PLACE_");
    assert_eq!(places.remove("COUNT"), Some(OffloadPlace::ALL.len() as u32));
    let named: BTreeMap<_, _> =
        places.into_iter().map(|(name, number)| (name.to_lowercase(), number)).collect();
    let expected = OffloadPlace::ALL.into_iter().map(|place| (place.name().to_owned(), place as u32));
    assert_eq!(named, expected.collect());
}

#[test]
fn the_offloads_maps_have_the_layout_of_the_program() {
    assert_eq!(layout("service"), ours!(ServiceValue { table }));
    assert_eq!(layout("offload"), ours!(OffloadValue { mtu, mac, padding }));
    assert!(OFFLOAD_HEADER.contains("#define TABLE_PAGE_SHIFT 16\n") && OFFLOAD_PAGE_LEN == 1 << 16);
}
