//! Zone files: what they mean, and what their keeper is told when they mean nothing.

use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::zone::tests::{folded, name};
use crate::zone::{Catalog, Record};
use domain::base::iana::Rtype;

const HEAD: &str = "$TTL 3600\n@ SOA ns host 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\n";

fn fixture(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/zones").join(path)
}

/// `body` behind a SOA, an NS and an address, which take the first four lines.
fn loaded(body: &str) -> Result<Loaded, FileError> {
    read_text("test.zone", format!("{HEAD}{body}").as_bytes(), &name("example."))
}

fn refusal(body: &str) -> String {
    loaded(body).unwrap_err().to_string()
}

fn warnings(body: &str) -> Vec<String> {
    loaded(body).unwrap().warnings.iter().map(FileError::to_string).collect()
}

/// Owner, TTL, type number and data of a record, as the golden files have them.
fn line(record: &Record<'_>) -> String {
    let data: String = record.rdata.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{} {} {} {data}", record.owner, record.ttl, record.rtype.to_int())
}

fn lines(zone: &Zone) -> Vec<String> {
    let mut lines: Vec<_> = zone.records().map(|record| line(&record)).collect();
    lines.sort();
    lines
}

/// What `body` adds to the zone.
fn added(body: &str) -> Vec<String> {
    let bare = lines(&loaded("").unwrap().zone);
    lines(&loaded(body).unwrap().zone).into_iter().filter(|line| !bare.contains(line)).collect()
}

#[test]
fn every_type_is_read_as_bind_reads_it() {
    let zone = read(&fixture("types.zone"), &name("types.example.")).unwrap().zone;
    let mut wanted: Vec<_> =
        include_str!("../../../tests/zones/types.wire").lines().map(str::to_owned).collect();
    wanted.sort();
    assert_eq!(lines(&zone), wanted);
}

#[test]
fn an_included_file_has_its_own_origin_and_owner() {
    let zone = read(&fixture("include/main.zone"), &name("include.example.")).unwrap().zone;
    let has = |owner: &str, rtype| zone.node(&folded(owner)).is_some_and(|node| node.rrset(rtype).is_some());
    assert!(has("www.include.example.", Rtype::A) && has("www.sub.include.example.", Rtype::A));
    assert!(has("www.elsewhere.include.example.", Rtype::A));
    assert!(has("ns.include.example.", Rtype::TXT));
    let later = zone.node(&folded("ns.include.example.")).unwrap().rrset(Rtype::TXT).unwrap();
    assert_eq!(later.ttl(), 60, "$TTL runs on behind the included file");
}

#[test]
fn files_that_include_each_other_are_refused() {
    let error = read(&fixture("include/loop.zone"), &name("loop.example.")).unwrap_err();
    assert!(error.path.ends_with("more/back.zone") && error.line == 1, "{error}");
    assert!(error.what.contains("includes itself"), "{error}");
}

#[test]
fn an_error_names_the_file_that_it_is_in() {
    let error = read(&fixture("include/broken.zone"), &name("broken.example.")).unwrap_err();
    assert!(error.path.ends_with("more/broken.zone") && error.line == 2, "{error}");
    assert!(error.what.contains("`192.0.2.256` is not an IPv4 address"), "{error}");
    let absent = read(&fixture("absent.zone"), &name("example.")).unwrap_err();
    assert!(absent.to_string().contains("absent.zone: cannot be read"), "{absent}");
}

#[test]
fn a_text_cannot_include_files() {
    assert!(refusal("$INCLUDE /etc/hostname\n").contains("$INCLUDE is not allowed here"));
}

#[test]
fn errors_name_the_line_and_what_is_wrong() {
    let wrong = [
        ("a A 1.2.3\n", "test.zone:5: a.example. A: `1.2.3` is not an IPv4 address"),
        ("a A\n", "test.zone:5: a.example. A: the record ends too early; a field is missing"),
        ("a A 1.2.3.4 5\n", "test.zone:5: a.example. A: `5` is more than the record can take"),
        ("a\n", "test.zone:5: the record ends before its type"),
        ("a BOGUS x\n", "test.zone:5: `BOGUS` is no record type known here; write TYPE and its number"),
        ("a CH A 1.2.3.4\n", "test.zone:5: class CH cannot be served"),
        ("a 1x A 1.2.3.4\n", "test.zone:5: `1x` is not a TTL"),
        ("$BOGUS\n", "test.zone:5: $BOGUS is no directive known here"),
        ("$TTL soon\n", "test.zone:5: `soon` is not a TTL"),
        ("a..b A 1.2.3.4\n", "test.zone:5: `a..b`: two dots in a row"),
        ("a TXT \"open\n", "test.zone:5: `\"` that is not closed on its line"),
        ("a TXT ( b\n\n", "test.zone:5: `(` that is not closed before the end of the file"),
        ("a TXT b )\n", "test.zone:5: `)` without `(`"),
        ("a TXT \\256\n", "test.zone:5: a.example. TXT: `\\` wants one character or three digits"),
        ("a MX (\n 70000\n b )\n", "test.zone:6: a.example. MX: `70000` is not a number from 0 to 65535"),
        ("a TYPE65280 x\n", "test.zone:5: a.example. TYPE65280: TYPE65280 has no format of its own here"),
        ("a A \\# 3 010203\n", "test.zone:5: a.example. A: the data is malformed for its type"),
        ("a A \\# 4 010203\n", "test.zone:5: a.example. A: `\\# 4` is followed by 3 bytes"),
        ("a.org. A 1.2.3.4\n", "test.zone:5: a.org. A: the name is outside the zone example."),
        ("@ SOA ns host 2 2 3 4 5\n", "example. SOA: there is more than one such record"),
        ("b A 1.2.3.4\nb CNAME c\n", "test.zone:5: b.example. CNAME: a CNAME record allows no other data"),
        ("b AXFR 1\n", "test.zone:5: b.example. AXFR: AXFR has no format of its own here"),
        ("$GENERATE 5-1 a$ A 1.2.3.$\n", "test.zone:5: `5-1` is not a range"),
        ("$GENERATE 1-2 a${x} A 1.2.3.$\n", "test.zone:5: `${` wants OFFSET"),
        (
            "$GENERATE 255-256 a$ A 1.2.3.$\n",
            "test.zone:5: the record made of 256: a256.example. A: `1.2.3.256`",
        ),
        ("a SVCB 1 . mandatory=port\n", "mandatory names key3, which is not there"),
        ("a SVCB 1 . port=1 port=2\n", "key3 stands twice"),
        ("a CAA 0 issue\n", "test.zone:5: a.example. CAA: the record ends too early"),
    ];
    for (body, wanted) in wrong {
        let error = refusal(body);
        assert!(error.contains(wanted), "{body:?} gave {error:?}, not {wanted:?}");
    }
}

#[test]
fn a_zone_needs_a_soa_and_servers() {
    let read = |text: &str| read_text("z", text.as_bytes(), &name("example.")).unwrap_err().to_string();
    assert_eq!(read(""), "z: example. SOA: the zone has no SOA record; add one at its top");
    assert!(read("@ 1 SOA a b 1 2 3 4 5\n").contains("the zone has no NS record at its top"));
    assert!(read("@ A 1.2.3.4\n").contains("the record has no TTL; put `$TTL 3600` before the first record"));
    assert!(read("  A 1.2.3.4\n").contains("the record has no owner"));
}

#[test]
fn a_ttl_is_given_or_defaults_or_is_the_last_one() {
    let ttls = |text: &str| {
        let zone = read_text("z", text.as_bytes(), &name("example.")).unwrap().zone;
        ["a.example.", "b.example."]
            .map(|owner| zone.node(&folded(owner)).unwrap().rrset(Rtype::A).unwrap().ttl())
    };
    assert_eq!(ttls("@ SOA a b 1 2 3 4 5\n@ NS a\na 60 A 1.2.3.4\nb A 1.2.3.4\n"), [60, 60]);
    assert_eq!(ttls("@ SOA a b 1 2 3 4 5\n@ NS a\na A 1.2.3.4\nb A 1.2.3.4\n"), [5, 5]);
    assert_eq!(
        ttls("$TTL 1h30m\n@ 1 SOA a b 1 2 3 4 5\n@ NS a\na 2D A 1.2.3.4\nb IN A 1.2.3.4\n"),
        [172_800, 5_400]
    );
}

#[test]
fn times_have_units_in_any_case() {
    let time = |text: &str| ttl::parse(text.as_bytes());
    assert_eq!(time("1w2D3h4M5s"), Some(604_800 + 172_800 + 10_800 + 240 + 5));
    assert_eq!([time("0"), time("4294967295")], [Some(0), Some(u32::MAX)]);
    assert_eq!([time("4294967296"), time(""), time("h"), time("1hh"), time("-1")], [None; 5]);
}

#[test]
fn generate_counts_and_pads() {
    let hosts = added("$GENERATE 8-10 h$ A 10.0.0.$\n");
    assert_eq!(
        hosts,
        ["h10.example. 3600 1 0a00000a", "h8.example. 3600 1 0a000008", "h9.example. 3600 1 0a000009"]
    );
    assert_eq!(added("$GENERATE 1-1 ${9,4,x}.$$ 5 A 1.2.3.4\n"), ["000a.\\$.example. 5 1 01020304"]);
    assert_eq!(
        added("$GENERATE 2-3/2 m$ MX \"$ m$\"\n"),
        ["m2.example. 3600 15 0002026d32076578616d706c6500"]
    );
}

#[test]
fn generate_stops_at_the_limit_of_records() {
    let text = format!("{HEAD}$GENERATE 0-2147483647 h$ A 10.0.0.1\n");
    let limits = Limits { records: 100, include_depth: 0 };
    let error = read_text_within("z", text.as_bytes(), &name("example."), limits).unwrap_err();
    assert!(error.what.contains("more than 100 records"), "{error}");
}

#[test]
fn what_is_odd_is_served_and_told() {
    let told = [
        ("a 60 A 1.2.3.4\na A 1.2.3.5\n", "test.zone:5: a.example. A: records of one set differ in TTL"),
        (
            "d NS ns.d\n",
            "test.zone:5: d.example. NS: ns.d.example. is inside the zone and has no address record",
        ),
        ("m MX 1 al\nal CNAME ns\n", "test.zone:5: m.example. MX: al.example. is an alias"),
        ("d NS ns\nx.d TXT y\n", "test.zone:6: x.d.example. TXT: the name is hidden below d.example."),
        ("d DNAME e.\nx.d A 1.2.3.4\n", "test.zone:6: x.d.example. A: the name is hidden below d.example."),
        (
            "d DS 1 8 2 00\n",
            "test.zone:5: d.example. DS: a DS record stands where the zone does not delegate",
        ),
        (
            "@ NSEC3PARAM 1 0 0 -\n",
            "example. NSEC3PARAM: NSEC3PARAM names parameters that no NSEC3 record has",
        ),
    ];
    for (body, wanted) in told {
        let told = warnings(body);
        assert!(told.iter().any(|told| told.contains(wanted)), "{body:?} gave {told:?}, not {wanted:?}");
    }
    assert_eq!(warnings("d NS ns.d\nns.d A 1.2.3.4\nx.d AAAA ::1\n"), [""; 0]);
}

#[test]
fn a_reload_that_fails_leaves_the_catalog_alone() {
    let good = ZoneSource::new(&name("types.example."), fixture("types.zone"));
    let (catalog, zone, _) = good.reload(&Catalog::new()).unwrap();
    assert_eq!((catalog.len(), zone.serial()), (1, 2_026_112_101));
    let broken = ZoneSource::new(&name("types.example."), fixture("include/broken.zone"));
    assert!(broken.reload(&catalog).is_err());
    assert!(catalog.find(&folded("a.types.example.")).is_some());
}

proptest! {
    /// Whatever stands in a file, it is read or refused.
    #[test]
    fn no_text_makes_the_reader_fall(body in r#"([a-z@*.$\\"();\n\t {}0-9-]|A |TXT |SVCB |NSEC3 |LOC |APL |CAA |\\# ){0,60}"#) {
        let limits = Limits { records: 1_000, include_depth: 0 };
        let _ = read_text_within("z", format!("{HEAD}{body}").as_bytes(), &name("example."), limits);
    }

    /// Data in generic form is the data.
    #[test]
    fn generic_data_is_taken_as_it_is(data in proptest::collection::vec(any::<u8>(), 0..80)) {
        let hex: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
        let body = format!("g TYPE65280 \\# {} {hex}\n", data.len());
        prop_assert_eq!(added(&body), [format!("g.example. 3600 65280 {hex}")]);
    }
}
