//! Texts that somebody could leave where a zone file should be: read, or refused with a reason.
//!
//! A zone that is read is written down in generic form and read again: the same records must come out.
#![no_main]

use std::fmt::Write as _;

use tidegate_dns::name::NameBuf;
use tidegate_dns::zone::Zone;
use tidegate_dns::zone::file::{Limits, read_text_within};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let apex: NameBuf = "example.".parse().expect("a name");
    let limits = Limits { records: 1_000, include_depth: 0 };
    let Ok(loaded) = read_text_within("fuzz", bytes, &apex, limits) else { return };
    let again = read_text_within("again", generic(&loaded.zone).as_bytes(), &apex, limits);
    let again = again.unwrap_or_else(|error| panic!("{error}")).zone;
    assert!(loaded.zone.records().eq(again.records()));
});

/// Every record in the form of RFC 3597.
fn generic(zone: &Zone) -> String {
    let mut text = String::new();
    for record in zone.records() {
        let (rtype, len) = (record.rtype.to_int(), record.rdata.len());
        write!(text, "{} {} TYPE{rtype} \\# {len} ", record.owner, record.ttl).expect("a string");
        record.rdata.iter().for_each(|byte| write!(text, "{byte:02x}").expect("a string"));
        text.push('\n');
    }
    text
}
