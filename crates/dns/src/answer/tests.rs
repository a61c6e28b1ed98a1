//! Every case of the algorithm as a table: what is asked, and what each section then has.
//!
//! ```text
//!   # which rule, and of which RFC
//!   name type [do] [size=octets]
//!   rcode flags [ede extended error]
//!   an|ns|ar name TTL type data         in the order of the message
//! ```
//! The tables and their zones lie in the folder beside this file. A signature is shown by what it covers, a hashed
//! owner by the name that it stands for.

use super::trail::LINK_COUNT_MAX;
use super::{Policy, answer};
use crate::message::{Opt, Query, Rtype, Writer};
use crate::name::{Name, NameBuf};
use crate::zone::{Catalog, file};
use domain::base::{Message, Record};
use domain::rdata::AllRecordData;
use std::fmt::Write;
use std::sync::Arc;

const PLAIN: &[(&str, &str)] = &[
    ("t.", include_str!("tests/plain.zone")),
    ("u.", include_str!("tests/beside.zone")),
    ("both.t.", include_str!("tests/child.zone")),
];
const NSEC: &[(&str, &str)] = &[("s.", include_str!("tests/nsec.zone"))];
const NSEC3: &[(&str, &str)] = &[("n.", include_str!("tests/nsec3.zone"))];

fn name(text: &str) -> NameBuf {
    text.parse().unwrap()
}

fn catalog(zones: &[(&str, &str)]) -> Catalog {
    zones.iter().fold(Catalog::new(), |catalog, (apex, text)| {
        let read = file::read_text(apex, text.as_bytes(), &name(apex)).unwrap();
        catalog.with(Arc::new(read.zone))
    })
}

/// A question as the first line of a case has it: the message, and how long its answer may be.
fn question(line: &str) -> (Vec<u8>, usize) {
    let mut words = line.split_whitespace();
    let (owner, rtype) = (name(words.next().unwrap()), words.next().unwrap().parse::<Rtype>().unwrap());
    let mut message = vec![0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1];
    message.extend_from_slice(owner.as_wire());
    message.extend_from_slice(&rtype.0.to_be_bytes());
    message.extend_from_slice(&[0, 1]);
    let (mut dnssec_ok, mut size) = (0, 4096);
    for word in words {
        match word.strip_prefix("size=") {
            Some(octets) => size = octets.parse().unwrap(),
            None => dnssec_ok = u8::from(word == "do") << 7,
        }
    }
    message.extend_from_slice(&[0, 0, 41, 16, 0, 0, 0, dnssec_ok, 0, 0, 0]);
    (message, size)
}

/// What is answered, as the other lines of a case have it.
fn answered(catalog: &Catalog, line: &str) -> String {
    let (message, size) = question(line);
    let (mut decompressed, mut room) = (NameBuf::new(), vec![0; size]);
    let query = Query::parse(&message, &mut decompressed).unwrap();
    let mut writer = Writer::answering(&query, &mut room, size).unwrap();
    writer.set_opt(Opt::new(1232, query.dnssec_ok())).unwrap();
    let rcode = answer(catalog, &query, &Policy::default(), &mut writer);
    let error = writer.opt().and_then(|opt| opt.extended_error);
    let len = writer.finish();
    let mut text = rcode.to_string();
    text += if room[2] & 4 != 0 { " aa" } else { "" };
    text += if room[2] & 2 != 0 { " tc" } else { "" };
    text += &error.map_or(String::new(), |error| format!(" ede {}", error.0));
    text + "\n" + &sections(&room[..len])
}

fn sections(message: &[u8]) -> String {
    let message = Message::from_octets(message).unwrap();
    let sections = [("an", message.answer()), ("ns", message.authority()), ("ar", message.additional())];
    let mut text = String::new();
    for (section, records) in sections {
        for record in records.unwrap().limit_to::<AllRecordData<_, _>>() {
            let record = record.unwrap();
            if !matches!(record.data(), AllRecordData::Opt(_)) {
                writeln!(text, "{section} {}", shown(&record)).unwrap();
            }
        }
    }
    text
}

fn shown<Octs: AsRef<[u8]>, N: std::fmt::Display>(record: &Record<N, AllRecordData<Octs, N>>) -> String
where
    AllRecordData<Octs, N>: std::fmt::Display,
{
    let (owner, ttl, rtype) = (record.owner(), record.ttl().as_secs(), record.rtype());
    match record.data() {
        AllRecordData::Rrsig(sig) => format!("{owner} {ttl} RRSIG {}", sig.type_covered()),
        AllRecordData::Nsec3(_) => format!("{owner} {ttl} NSEC3"),
        data => format!("{owner} {ttl} {rtype} {data}"),
    }
}

/// A hashed owner is given as `H(name)`: the zone file says whose it is.
fn unhashed(text: &str, zone: &str) -> String {
    let named = zone.lines().filter_map(|line| line.split_once(" ; ").zip(line.split_once(' ')));
    named.fold(text.to_owned(), |text, ((_, name), (hash, _))| text.replace(hash, name))
}

/// Holds a table against what is answered; every case that differs is told.
fn holds(zones: &[(&str, &str)], table: &str) {
    let catalog = catalog(zones);
    let cases = table.split("\n\n").map(str::trim).filter(|case| !case.is_empty());
    let mut faults = String::new();
    for case in cases {
        let mut lines = case.lines();
        let (rule, asked) = (lines.next().unwrap(), lines.next().unwrap());
        let expected: String = lines.map(|line| format!("{line}\n")).collect();
        let found = zones.iter().fold(answered(&catalog, asked), |text, (_, zone)| unhashed(&text, zone));
        if found != expected {
            write!(faults, "{rule}\n{asked}\n{found}\n").unwrap();
        }
    }
    assert!(faults.is_empty(), "answered otherwise than the table says:\n\n{faults}");
}

#[test]
fn unsigned_zones_answer_as_the_table_says() {
    holds(PLAIN, include_str!("tests/plain.cases"));
}

#[test]
fn nsec_zones_answer_as_the_table_says() {
    holds(NSEC, include_str!("tests/nsec.cases"));
}

#[test]
fn nsec3_zones_answer_as_the_table_says() {
    holds(NSEC3, include_str!("tests/nsec3.cases"));
}

#[test]
fn a_dname_into_itself_ends_with_the_longest_chain() {
    let text = answered(&catalog(PLAIN), "x.round.t A");
    let links = text.lines().filter(|line| line.contains(" CNAME ")).count();
    assert_eq!((links, text.lines().next()), (LINK_COUNT_MAX + 1, Some("NOERROR aa")), "{text}");
}

#[test]
fn a_name_too_long_for_its_dname_is_yxdomain() {
    // RFC 6672 section 2.2: 63 + 63 + 63 + 50 octets fit below dname.t. and not below what takes its place.
    let zone = format!("@ SOA ns host 1 2 3 4 60\n@ NS ns\nns A 192.0.2.1\nd DNAME {}.l\n", "y".repeat(60));
    let long = format!("{0}.{0}.{0}.d.l.", "x".repeat(63));
    let catalog = catalog(&[("l.", &format!("$TTL 300\n{zone}"))]);
    let text = answered(&catalog, &format!("{long} A"));
    assert!(text.starts_with("YXDOMAIN aa\nan d.l 300 DNAME "), "{text}");
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(Name::from_wire(name(&long).as_wire()).is_ok());
}
