//! Zones built by hand: each case of a lookup, and each reason to refuse one.

use super::*;

pub(super) fn name(text: &str) -> NameBuf {
    text.parse().unwrap()
}

pub(super) fn folded(text: &str) -> Folded {
    Folded::of(&name(text))
}

/// Data that consists of one name.
fn pointing(text: &str) -> Vec<u8> {
    name(text).as_wire().to_vec()
}

fn soa_data(serial: u32) -> Vec<u8> {
    let mut data = pointing("ns.example.");
    data.extend(pointing("host.example."));
    for number in [serial, 7200, 600, 86_400, 300] {
        data.extend(u32::to_be_bytes(number));
    }
    data
}

pub(super) fn builder() -> ZoneBuilder {
    let mut builder = ZoneBuilder::new(&name("Example."));
    builder.add(&name("example."), Rtype::SOA, 3600, &soa_data(7)).unwrap();
    builder.add(&name("example."), Rtype::NS, 3600, &pointing("ns.example.")).unwrap();
    builder
}

fn add(builder: &mut ZoneBuilder, owner: &str, rtype: Rtype, rdata: &[u8]) {
    builder.add(&name(owner), rtype, 300, rdata).unwrap();
}

fn zone_of(records: &[(&str, Rtype, &[u8])]) -> Zone {
    let mut builder = builder();
    for (owner, rtype, rdata) in records {
        add(&mut builder, owner, *rtype, rdata);
    }
    builder.finish().unwrap()
}

fn sample() -> Zone {
    let a: &[u8] = &[192, 0, 2, 1];
    zone_of(&[
        ("ns.example.", Rtype::A, a),
        ("a.b.c.example.", Rtype::A, a),
        ("*.w.example.", Rtype::A, a),
        ("sub.example.", Rtype::NS, &pointing("ns.deep.sub.example.")),
        ("ns.deep.sub.example.", Rtype::A, a),
        ("alias.example.", Rtype::DNAME, &pointing("example.org.")),
        ("under.alias.example.", Rtype::A, a),
    ])
}

fn owner_of(node: Node<'_>) -> String {
    node.name().to_string()
}

#[test]
fn the_soa_is_read_and_negative_answers_live_no_longer_than_it() {
    let soa = *sample().soa();
    let wanted = SoaTimes { serial: 7, refresh: 7200, retry: 600, expire: 86_400, negative_ttl: 300 };
    assert_eq!(soa, wanted);
}

#[test]
fn a_name_is_found_in_either_case() {
    let zone = sample();
    let Lookup::Exact(node) = zone.find(&folded("NS.Example.")) else { panic!("no such node") };
    let set = node.rrset(Rtype::A).unwrap();
    assert_eq!(set.rdatas().collect::<Vec<_>>(), [[192, 0, 2, 1]]);
    assert_eq!((set.ttl(), set.len()), (300, 1));
    assert!(node.rrset(Rtype::AAAA).is_none());
}

#[test]
fn ancestors_of_names_exist_without_data() {
    let zone = sample();
    for between in ["c.example.", "b.c.example.", "w.example."] {
        let Lookup::Exact(node) = zone.find(&folded(between)) else { panic!("{between} is missing") };
        assert!(node.is_empty_non_terminal());
    }
}

#[test]
fn a_missing_name_has_a_closest_encloser() {
    let zone = sample();
    let encloser = |text| match zone.find(&folded(text)) {
        Lookup::Missing { encloser } => owner_of(encloser),
        other => panic!("{other:?}"),
    };
    assert_eq!(encloser("x.example."), "example.");
    assert_eq!(encloser("x.y.b.c.example."), "b.c.example.");
    assert_eq!(encloser("x.a.b.c.example."), "a.b.c.example.");
}

#[test]
fn a_wildcard_answers_below_its_parent_alone() {
    let zone = sample();
    match zone.find(&folded("x.y.w.example.")) {
        Lookup::Wildcard { encloser, wildcard } => {
            assert_eq!(owner_of(encloser), "w.example.");
            assert_eq!(owner_of(wildcard), "*.w.example.");
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(zone.find(&folded("*.w.example.")), Lookup::Exact(_)));
    assert!(matches!(zone.find(&folded("x.*.w.example.")), Lookup::Missing { .. }));
}

#[test]
fn what_is_at_or_below_a_cut_is_referred() {
    let zone = sample();
    let cut = |text| match zone.find(&folded(text)) {
        Lookup::Cut { cut, at_cut } => (owner_of(cut), at_cut),
        other => panic!("{other:?}"),
    };
    assert_eq!(cut("sub.example."), ("sub.example.".into(), true));
    for below in ["ns.deep.sub.example.", "deep.sub.example.", "x.sub.example.", "x.y.z.sub.example."] {
        assert_eq!(cut(below), ("sub.example.".into(), false));
    }
    assert!(zone.node(&folded("ns.deep.sub.example.")).unwrap().is_occluded());
}

#[test]
fn what_is_below_a_dname_is_redirected() {
    let zone = sample();
    assert!(matches!(zone.find(&folded("alias.example.")), Lookup::Exact(node) if node.has_dname()));
    for below in ["under.alias.example.", "x.y.alias.example."] {
        assert!(
            matches!(zone.find(&folded(below)), Lookup::Dname { owner } if owner_of(owner) == "alias.example.")
        );
    }
}

#[test]
fn the_records_start_with_the_soa_and_each_comes_once() {
    let zone = sample();
    let records: Vec<_> = zone.records().map(|record| (record.owner.to_string(), record.rtype)).collect();
    assert_eq!(records.len(), 9);
    assert_eq!(records[0], ("example.".into(), Rtype::SOA));
    assert!(records[1..].iter().all(|(_, rtype)| *rtype != Rtype::SOA));
}

#[test]
fn records_go_on_from_where_they_were_left() {
    let zone = sample();
    let all: Vec<_> = zone.records().collect();
    for split in 0..all.len() {
        let mut records = zone.records();
        assert_eq!(records.by_ref().take(split).collect::<Vec<_>>(), all[..split]);
        assert_eq!(zone.records_from(records.cursor()).collect::<Vec<_>>(), all[split..]);
    }
}

#[test]
fn duplicates_count_once_and_removed_records_not_at_all() {
    let mut builder = builder();
    add(&mut builder, "a.example.", Rtype::MX, &[&[0, 5][..], name("Mail.example.").as_wire()].concat());
    add(&mut builder, "a.example.", Rtype::MX, &[&[0, 5][..], name("mail.EXAMPLE.").as_wire()].concat());
    add(&mut builder, "b.x.example.", Rtype::A, &[1, 2, 3, 4]);
    builder.remove(&name("B.x.example."), Rtype::A, &[1, 2, 3, 4]).unwrap();
    let zone = builder.finish().unwrap();
    assert_eq!(zone.node(&folded("a.example.")).unwrap().rrset(Rtype::MX).unwrap().len(), 1);
    assert!(zone.node(&folded("b.x.example.")).is_none() && zone.node(&folded("x.example.")).is_none());
}

#[test]
fn what_is_no_zone_is_refused() {
    let fault = |records: &[(&str, Rtype, &[u8])]| {
        let mut builder = builder();
        let added =
            records.iter().try_for_each(|(owner, rtype, data)| builder.add(&name(owner), *rtype, 1, data));
        added.and_then(|()| builder.finish().map(drop)).unwrap_err().fault
    };
    let a: &[u8] = &[1, 2, 3, 4];
    let elsewhere = &pointing("elsewhere.");
    let apex = || "example.".to_string();
    assert_eq!(fault(&[("example.org.", Rtype::A, a)]), Fault::OutOfZone { apex: apex() });
    assert_eq!(fault(&[("a.example.", Rtype::A, &a[1..])]), Fault::BadData);
    assert_eq!(fault(&[("a.example.", Rtype::ANY, a)]), Fault::MetaType);
    assert_eq!(fault(&[("example.", Rtype::SOA, &soa_data(8))]), Fault::NotSingle);
    assert_eq!(fault(&[("a.example.", Rtype::SOA, &soa_data(7))]), Fault::SoaBelowApex { apex: apex() });
    let beside = Fault::CnameAndOther { other: Rtype::A };
    assert_eq!(fault(&[("a.example.", Rtype::CNAME, elsewhere), ("a.example.", Rtype::A, a)]), beside);
    let second = pointing("two.");
    assert_eq!(
        fault(&[("a.example.", Rtype::CNAME, elsewhere), ("a.example.", Rtype::CNAME, &second)]),
        Fault::NotSingle
    );
}

#[test]
fn a_zone_without_soa_or_servers_is_refused() {
    let mut bare = ZoneBuilder::new(&name("example."));
    add(&mut bare, "a.example.", Rtype::A, &[1, 2, 3, 4]);
    assert_eq!(bare.finish().unwrap_err().fault, Fault::NoSoa);
    let mut soa_only = ZoneBuilder::new(&name("example."));
    add(&mut soa_only, "example.", Rtype::SOA, &soa_data(1));
    assert_eq!(soa_only.finish().unwrap_err().fault, Fault::NoApexNs);
}

#[test]
fn the_catalog_gives_the_longest_match() {
    let zone = |apex: &str| {
        let mut builder = ZoneBuilder::new(&name(apex));
        add(&mut builder, apex, Rtype::SOA, &soa_data(1));
        add(&mut builder, apex, Rtype::NS, &pointing("ns.example."));
        std::sync::Arc::new(builder.finish().unwrap())
    };
    let catalog = Catalog::new().with(zone("example.")).with(zone("a.b.example."));
    let apex = |hosting: Option<&Hosting>| hosting.map(|hosting| hosting.zone().unwrap().apex().to_string());
    assert_eq!(apex(catalog.find(&folded("x.a.B.example."))).as_deref(), Some("a.b.example."));
    assert_eq!(apex(catalog.find(&folded("a.b.example."))).as_deref(), Some("a.b.example."));
    assert_eq!(apex(catalog.find(&folded("b.example."))).as_deref(), Some("example."));
    assert_eq!(apex(catalog.find_above(&folded("a.b.example."))).as_deref(), Some("example."));
    assert!(catalog.find(&folded("org.")).is_none() && catalog.find_above(&folded("example.")).is_none());
    let smaller = catalog.without(&name("example.")).with_unavailable(&name("example."), Lack::Awaited);
    assert!(matches!(smaller.find(&folded("b.example.")), Some(Hosting::Unavailable(Lack::Awaited))));
    let root = Catalog::new().with(zone("."));
    assert_eq!(apex(root.find(&folded("org."))).as_deref(), Some("."));
}
