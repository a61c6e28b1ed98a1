//! Lines, and which queries have one.

use super::*;
use std::sync::Arc;

fn record(name: &str, rcode: Option<Rcode>, answer_len: Option<usize>) -> Record {
    Record {
        unix_ms: 1_795_235_400_123,
        client: "[2001:db8::1]:5353".parse().unwrap(),
        transport: Transport::Udp6,
        opcode: Opcode::QUERY,
        name: name.parse().unwrap(),
        rtype: Rtype(65_280),
        class: Class::IN,
        traits: Traits::default(),
        rcode,
        answer_len,
    }
}

fn line(record: &Record) -> String {
    let mut line = Vec::new();
    record.format(&mut line);
    String::from_utf8(line).unwrap()
}

#[test]
fn a_line_says_what_was_asked_and_what_came_of_it() {
    let answered = line(&record("www.example.org", Some(Rcode::NXDOMAIN), Some(84)));
    let expected =
        "2026-11-21T04:30:00.123Z 2001:db8::1#5353 udp6 QUERY www.example.org. IN TYPE65280 - NXDOMAIN 84\n";
    assert_eq!(answered, expected);
    assert!(line(&record(".", None, None)).ends_with(" QUERY . IN TYPE65280 - - -\n"));
    let transfer = record(".", None, None).answered_by_transfer();
    assert!(line(&transfer).ends_with(" QUERY . IN TYPE65280 - NOERROR -\n"));
    let refused = record(".", None, None).answered_by(b"\x00\x01\x81\x05\x00\x00\x00\x00\x00\x00\x00\x00");
    assert!(line(&refused).ends_with(" - REFUSED 12\n"));
}

#[test]
fn no_client_writes_a_line_of_its_own() {
    let text = line(&record("a\\010b\\032\\\"\\027.example", None, None));
    assert_eq!(text.matches('\n').count(), 1);
    assert!(text.contains("QUERY a\\010b\\032\\\"\\027.example. IN"), "{text}");
}

#[test]
fn what_the_query_says_beside_its_question_is_in_letters() {
    let mut message = vec![0, 1, 0x01, 0x10, 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 1, 0, 1];
    message.extend(b"\x00\x00\x29\x04\xd0\x00\x00\x80\x00\x00\x0c\x00\x0a\x00\x08clientcc");
    message.extend(b"\x03key\x00\x00\xfa\x00\xff\x00\x00\x00\x00\x00\x00");
    let mut name = NameBuf::new();
    let query = Query::parse(&message, &mut name).unwrap();
    let record = Record::of(&query, 0, "192.0.2.7:53".parse().unwrap(), Transport::Tcp4);
    assert_eq!(line(&record), "1970-01-01T00:00:00.000Z 192.0.2.7#53 tcp4 QUERY . IN A +EDCKS - -\n");
}

#[test]
fn one_in_so_many_is_logged_and_the_first_is() {
    let path = std::env::temp_dir().join(format!("tidegate-query-log-{}", std::process::id()));
    let (sender, writer) = open(&path, Arc::default()).unwrap();
    let mut log = QueryLog::new(sender.clone(), 3);
    let taken: Vec<_> = (0..7).map(|_| log.log(|| record(".", None, None)) == Logged::Taken).collect();
    assert_eq!(taken, [true, false, false, true, false, false, true]);
    let mut every = QueryLog::new(sender, 0);
    assert!((0..5).all(|_| every.log(|| record(".", None, None)) == Logged::Taken));
    drop(writer);
    assert_eq!(every.log(|| record(".", None, None)), Logged::Lost);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn dates_are_the_calendars() {
    let shown = |days: u64| UtcTime(days * 86_400_000).to_string()[..10].to_owned();
    assert_eq!(shown(0), "1970-01-01");
    assert_eq!(shown(59), "1970-03-01");
    assert_eq!(shown(11_016), "2000-02-29");
    assert_eq!(shown(11_017), "2000-03-01");
    assert_eq!(shown(19_722), "2023-12-31");
    assert_eq!(shown(47_540), "2100-02-28");
    assert_eq!(shown(47_541), "2100-03-01");
}
