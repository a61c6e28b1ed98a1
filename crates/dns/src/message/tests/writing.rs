//! What a writer puts where, and what it takes back.

use super::super::*;
use crate::name::{Name, NameBuf};

const FLAGS: Flags = Flags::QR.with(Flags::AA);

fn name(text: &str) -> NameBuf {
    text.parse().unwrap()
}

fn question(name: &Name) -> Question<'_> {
    Question { name, rtype: Rtype::MX, class: Class::IN }
}

/// A writer with the question `example. MX IN`, of at most `limit` octets.
fn writer(out: &mut [u8], limit: usize) -> Writer<'_> {
    let mut writer = Writer::new(out, limit, 0xbeef, FLAGS).unwrap();
    writer.question(&question(&name("Example."))).unwrap();
    writer
}

fn put(writer: &mut Writer<'_>, owner: &str, rtype: Rtype, data: &[u8]) -> Result<(), Full> {
    writer.record(&name(owner), rtype, Class::IN, 60, data)
}

#[test]
fn names_point_to_the_question() {
    let mut out = [0; 512];
    let mut writer = writer(&mut out, 512);
    writer.begin(Section::Answer);
    put(&mut writer, "example.", Rtype::MX, b"\x00\x0a\x04mail\x07example\x00").unwrap();
    writer.begin(Section::Additional);
    put(&mut writer, "mail.example.", Rtype::A, b"\x7f\x00\x00\x01").unwrap();
    let len = writer.finish();
    let expected = [
        &b"\xbe\xef\x84\x00\x00\x01\x00\x01\x00\x00\x00\x01"[..],
        b"\x07Example\x00\x00\x0f\x00\x01",
        b"\xc0\x0c\x00\x0f\x00\x01\x00\x00\x00\x3c\x00\x09\x00\x0a\x04mail\xc0\x0c",
        b"\xc0\x27\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\x7f\x00\x00\x01",
    ];
    assert_eq!(out[..len], expected.concat());
}

/// RFC 3597 section 4: names in the data of newer types stay whole.
#[test]
fn names_in_newer_types_are_not_compressed() {
    let mut out = [0; 512];
    let mut writer = writer(&mut out, 512);
    writer.begin(Section::Answer);
    let data = b"\x00\x01\x00\x02\x00\x35\x07example\x00";
    put(&mut writer, "example.", Rtype::SRV, data).unwrap();
    assert!(writer.written().ends_with(data));
}

#[test]
fn the_records_of_a_set_share_their_owner() {
    let mut out = [0; 512];
    let mut writer = writer(&mut out, 512);
    writer.begin(Section::Answer);
    let data: [&[u8]; 2] = [b"\x01\x02\x03\x04", b"\x05\x06\x07\x08"];
    writer.rrset(&name("new.example."), Rtype::A, Class::IN, 1, data).unwrap();
    assert_eq!(&writer.written()[25..31], b"\x03new\xc0\x0c");
    assert_eq!(&writer.written()[45..47], b"\xc0\x19");
    assert_eq!(writer.count(Section::Answer), 2);
}

#[test]
fn data_that_is_not_what_its_type_says_goes_through() {
    let mut out = [0; 512];
    let mut writer = writer(&mut out, 512);
    writer.begin(Section::Answer);
    for data in [&b""[..], b"\x01", b"\x00\x0a\x07exam", b"\x00\x0a\xc0\x0c"] {
        put(&mut writer, "example.", Rtype::MX, data).unwrap();
        assert!(writer.written().ends_with(data));
    }
}

#[test]
fn a_set_that_does_not_fit_leaves_no_trace() {
    let mut out = [0; 512];
    let mut writer = writer(&mut out, 25 + 20 + 15);
    writer.begin(Section::Answer);
    let before = writer.written().to_vec();
    let data: [&[u8]; 3] = [b"\x01\x02\x03\x04"; 3];
    let outcome = writer.rrset(&name("x.example."), Rtype::A, Class::IN, 1, data);
    assert_eq!(outcome, Err(Full));
    assert_eq!((writer.written(), writer.count(Section::Answer)), (&before[..], 0));
    put(&mut writer, "x.example.", Rtype::A, b"\x01\x02\x03\x04").unwrap();
    assert_eq!(&writer.written()[25..29], b"\x01x\xc0\x0c", "no pointer to what was taken back");
}

#[test]
fn rolling_back_reopens_the_section_before() {
    let mut out = [0; 512];
    let mut writer = writer(&mut out, 512);
    writer.begin(Section::Answer);
    let mark = writer.mark();
    put(&mut writer, "a.example.", Rtype::A, b"\x01\x02\x03\x04").unwrap();
    writer.begin(Section::Authority);
    put(&mut writer, "b.example.", Rtype::A, b"\x01\x02\x03\x04").unwrap();
    writer.roll_back(mark);
    assert_eq!((writer.section(), writer.position()), (Section::Answer, mark.position()));
    writer.set_flags(Flags::TC);
    let len = writer.finish();
    assert_eq!(out[..12], *b"\xbe\xef\x86\x00\x00\x01\x00\x00\x00\x00\x00\x00");
    assert_eq!(len, 25);
}

#[test]
fn the_opt_record_always_fits() {
    let mut out = [0xaa; 512];
    let opt_record = Opt { nsid: Some(b"ns1"), ..Opt::new(1232, true) };
    let limit = 25 + 16 + opt_record.wire_len();
    let mut writer = writer(&mut out, limit);
    writer.set_opt(opt_record).unwrap();
    writer.begin(Section::Answer);
    put(&mut writer, "example.", Rtype::A, b"\x01\x02\x03\x04").unwrap();
    assert_eq!(writer.room(), 0);
    assert_eq!(put(&mut writer, "example.", Rtype::A, b"\x01\x02\x03\x04"), Err(Full));
    writer.set_extended_error(ExtendedError::OTHER);
    writer.set_rcode(Rcode::BADCOOKIE);
    assert_eq!(writer.finish(), limit);
    assert_eq!(&out[41..limit], b"\x00\x00\x29\x04\xd0\x01\x00\x80\x00\x00\x07\x00\x03\x00\x03ns1");
    assert_eq!((out[3], out[11]), (7, 1), "the low bits of the rcode, one additional record");
    assert_eq!(out[limit], 0xaa);
}

#[test]
fn every_option_is_written() {
    let opt = Opt {
        nsid: Some(b"n"),
        cookie: Some(*b"clientccserverserverserv"),
        extended_error: Some(ExtendedError::NOT_READY),
        keepalive: Some(100),
        expire_s: Some(86400),
        ..Opt::new(1400, false)
    };
    let mut out = [0; 100];
    let len = opt.emit(Rcode::NOERROR, &mut out).unwrap();
    assert_eq!(len, opt.wire_len());
    let options = b"\x00\x03\x00\x01n\x00\x0a\x00\x18clientccserverserverserv\x00\x0f\x00\x02\x00\x0e\
        \x00\x0b\x00\x02\x00\x64\x00\x09\x00\x04\x00\x01\x51\x80";
    assert_eq!(&out[11..len], options);
    assert_eq!(opt.emit(Rcode::NOERROR, &mut out[..len - 1]), None);
}

#[test]
fn room_that_is_reserved_stays_free() {
    let mut out = [0; 64];
    let mut writer = writer(&mut out, 64);
    writer.reserve(30).unwrap();
    assert_eq!(writer.room(), 64 - 25 - 30);
    assert_eq!(writer.reserve(10), Err(Full));
    assert_eq!(put(&mut writer, "example.", Rtype::A, b"\x01\x02\x03\x04"), Err(Full));
}

#[test]
fn a_pointer_reaches_16383_octets() {
    let mut out = vec![0; MESSAGE_LEN_MAX];
    let mut writer = writer(&mut out, MESSAGE_LEN_MAX);
    writer.begin(Section::Answer);
    let filler = vec![0; 16_383 - 25 - 12];
    put(&mut writer, "example.", Rtype::NULL, &filler).unwrap();
    assert_eq!(writer.position(), 16_383);
    put(&mut writer, "near.test.", Rtype::A, b"\x01\x02\x03\x04").unwrap();
    put(&mut writer, "near.test.", Rtype::A, b"\x01\x02\x03\x04").unwrap();
    assert_eq!(&writer.written()[16_383 + 25..][..2], b"\xff\xff");
    let at = writer.position();
    put(&mut writer, "far.test.", Rtype::A, b"\x01\x02\x03\x04").unwrap();
    put(&mut writer, "far.test.", Rtype::A, b"\x01\x02\x03\x04").unwrap();
    assert_eq!(&writer.written()[at..][..10], b"\x03far\x04test\x00");
    assert_eq!(&writer.written()[at + 24..][..10], b"\x03far\x04test\x00");
}

#[test]
fn more_names_than_there_are_targets_are_written_out() {
    let mut out = vec![0; MESSAGE_LEN_MAX];
    let mut writer = writer(&mut out, MESSAGE_LEN_MAX);
    writer.begin(Section::Answer);
    for n in 0..1000 {
        put(&mut writer, &format!("n{n}.example."), Rtype::A, b"\x01\x02\x03\x04").unwrap();
    }
    assert_eq!(writer.count(Section::Answer), 1000);
}

#[test]
fn composed_records_are_appended_as_they_are() {
    let mut out = [0; 64];
    let mut writer = writer(&mut out, 64);
    writer.begin(Section::Authority);
    writer.composed(b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x00", 1).unwrap();
    assert_eq!(writer.composed(&[0; 60], 1), Err(Full));
    assert_eq!(writer.finish(), 37);
    assert_eq!(out[8..10], [0, 1]);
}

#[test]
fn a_buffer_without_room_for_a_header_has_no_writer() {
    assert!(Writer::new(&mut [0; 11], 512, 0, FLAGS).is_none());
    assert!(Writer::new(&mut [0; 512], 11, 0, FLAGS).is_none());
    let mut out = [0; 20];
    assert_eq!(
        Writer::new(&mut out, 20, 0, FLAGS).unwrap().question(&question(&name("example."))),
        Err(Full)
    );
}
