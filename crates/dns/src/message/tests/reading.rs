//! What is read of a query, and what is refused.

use super::super::*;
use crate::name::{Name, NameBuf};

/// The header of a query with one question and this many records behind it, the question `www.Example. A IN`.
fn query(flags: u16, counts: [u16; 3], behind: &[u8]) -> Vec<u8> {
    let words = [0x1234, flags, 1, counts[0], counts[1], counts[2]];
    let header: Vec<u8> = words.iter().flat_map(|word: &u16| word.to_be_bytes()).collect();
    [&header, &b"\x03www\x07Example\x00\x00\x01\x00\x01"[..], behind].concat()
}

/// An OPT record with these options.
fn opt(version: u8, flags: u8, options: &[u8]) -> Vec<u8> {
    let len = (options.len() as u16).to_be_bytes();
    [&[0, 0, 41, 0x04, 0xd0, 0, version, flags, 0][..], &len, options].concat()
}

/// The rcode of the refusal, and whether it repeats the question and EDNS; `None` for silence.
fn refused(message: &[u8]) -> Option<(Rcode, bool, bool)> {
    match Query::parse(message, &mut NameBuf::new()) {
        Ok(query) => panic!("parsed: {query:?}"),
        Err(Refusal::Silence(_)) => None,
        Err(Refusal::Reply(reply)) => Some((reply.rcode, reply.question.is_some(), reply.edns.is_some())),
    }
}

#[test]
fn a_plain_query_is_read() {
    let message = query(0x0110, [0; 3], b"");
    let mut name = NameBuf::new();
    let query = Query::parse(&message, &mut name).unwrap();
    assert_eq!((query.id, query.opcode(), query.is_plain), (0x1234, Opcode::QUERY, true));
    assert!(query.flags.has(Flags::RD.with(Flags::CD)) && !query.flags.has(Flags::AD));
    assert_eq!(query.question.name.as_wire(), b"\x03www\x07Example\x00", "letter by letter");
    assert_eq!((query.question.rtype, query.question.class), (Rtype::A, Class::IN));
    assert!(query.edns.is_none() && query.tsig_at.is_none() && !query.dnssec_ok());
    assert_eq!(query.udp_len_max(1232), UDP_LEN_MIN);
}

#[test]
fn edns_and_its_options_are_read() {
    let options = b"\x00\x03\x00\x00\x00\x0a\x00\x10ABCDEFGHabcdefgh\x00\x0b\x00\x00\xff\xff\x00\x01x";
    let message = query(0, [0, 0, 1], &opt(0, 0x80, options));
    let mut name = NameBuf::new();
    let edns = Query::parse(&message, &mut name).unwrap().edns.unwrap();
    assert_eq!((edns.udp_size, edns.dnssec_ok), (1232, true));
    assert!(edns.wants_nsid && edns.wants_keepalive && !edns.wants_expire);
    assert_eq!(edns.cookie, Some(Cookie { client: b"ABCDEFGH", server: b"abcdefgh" }));
    assert_eq!(edns.options().map(|option| option.code.0).collect::<Vec<_>>(), [3, 10, 11, 0xffff]);
}

/// RFC 6891 section 6.2.3: values below 512 are treated as 512.
#[test]
fn the_size_for_udp_lies_between_512_and_our_own() {
    let claiming = |size: u16| {
        let mut opt = opt(0, 0, b"");
        opt[3..5].copy_from_slice(&size.to_be_bytes());
        query(0, [0, 0, 1], &opt)
    };
    let size = |claimed| Query::parse(&claiming(claimed), &mut NameBuf::new()).unwrap().udp_len_max(1232);
    assert_eq!([size(0), size(511), size(600), size(1232), size(4096)], [512, 512, 600, 1232, 1232]);
}

/// RFC 7873 section 5.2.2: 8 octets, or 16 to 40.
#[test]
fn a_cookie_of_a_wrong_length_is_a_format_error() {
    for len in 0..50_u8 {
        let options = [&[0, 10, 0, len][..], &vec![7; usize::from(len)]].concat();
        let message = query(0, [0, 0, 1], &opt(0, 0, &options));
        let is_right = len == 8 || (16..=40).contains(&len);
        assert_eq!(Query::parse(&message, &mut NameBuf::new()).is_ok(), is_right, "{len} octets");
    }
}

/// RFC 7873 section 5.2: the first one.
#[test]
fn of_two_cookies_the_first_counts() {
    let message = query(0, [0, 0, 1], &opt(0, 0, b"\x00\x0a\x00\x08ABCDEFGH\x00\x0a\x00\x01?"));
    let mut name = NameBuf::new();
    let cookie = Query::parse(&message, &mut name).unwrap().edns.unwrap().cookie.unwrap();
    assert_eq!(cookie.client, b"ABCDEFGH");
}

#[test]
fn a_question_with_pointers_is_read_as_if_it_had_none() {
    // "www" and a pointer to "Example." in the OPT record's owner's stead: behind the question.
    let header = query(0, [0; 3], b"")[..12].to_vec();
    let message = [&header[..], b"\x03www\xc0\x16\x00\x01\x00\x01\x07Example\x00"].concat();
    let mut name = NameBuf::new();
    let query = Query::parse(&message, &mut name).unwrap();
    assert_eq!(query.question.name.as_wire(), b"\x03www\x07Example\x00");
    assert!(!query.is_plain);
    let mut out = [0; 100];
    let len = Writer::answering(&query, &mut out, 100).unwrap().finish();
    assert_eq!(&out[12..len], b"\x03www\x07Example\x00\x00\x01\x00\x01", "the answer has it in full");
}

#[test]
fn what_tells_nothing_gets_silence() {
    assert_eq!(refused(b""), None);
    assert_eq!(refused(&query(0, [0; 3], b"")[..11]), None);
    assert_eq!(refused(&query(0x8000, [0; 3], b"")), None, "a response");
    assert_eq!(refused(&[0xff; 12]), None);
}

#[test]
fn what_cannot_be_read_is_a_format_error() {
    let whole = query(0, [0; 3], b"");
    for len in 12..whole.len() {
        assert_eq!(refused(&whole[..len]), Some((Rcode::FORMERR, false, false)), "cut to {len}");
    }
    let with_opt = query(0, [0, 0, 1], &opt(0, 0, b"\x00\x03\x00\x00"));
    for len in whole.len()..with_opt.len() {
        assert_eq!(refused(&with_opt[..len]), Some((Rcode::FORMERR, true, false)), "cut to {len}");
    }
}

#[test]
fn any_other_number_of_questions_is_a_format_error() {
    for count in [0, 2, 0xffff_u16] {
        let mut message = query(0, [0; 3], b"");
        message[4..6].copy_from_slice(&count.to_be_bytes());
        assert_eq!(refused(&message), Some((Rcode::FORMERR, false, false)));
    }
}

#[test]
fn another_opcode_is_not_implemented() {
    for opcode in (1..16).filter(|opcode| *opcode != 4) {
        assert_eq!(refused(&query(opcode << 11, [0; 3], b"")), Some((Rcode::NOTIMP, false, false)));
    }
    assert!(Query::parse(&query(4 << 11, [0; 3], b""), &mut NameBuf::new()).is_ok(), "NOTIFY");
}

#[test]
fn another_version_of_edns_is_bad() {
    let message = query(0, [0, 0, 1], &opt(1, 0x80, b"??"));
    assert_eq!(refused(&message), Some((Rcode::BADVERS, true, true)));
    let mut name = NameBuf::new();
    let Err(Refusal::Reply(reply)) = Query::parse(&message, &mut name) else { panic!("parsed") };
    let mut out = [0xaa; 64];
    let len = reply.emit(1232, &mut out).unwrap();
    let behind = query(0, [0; 3], b"").len();
    assert_eq!(&out[..12], b"\x12\x34\x80\x00\x00\x01\x00\x00\x00\x00\x00\x01");
    assert_eq!(&out[behind..len], b"\x00\x00\x29\x04\xd0\x01\x00\x80\x00\x00\x00");
}

/// RFC 6891 section 6.1.1: one OPT, of the root.
#[test]
fn a_second_opt_or_one_with_an_owner_is_a_format_error() {
    let two = query(0, [0, 0, 2], &opt(0, 0, b"").repeat(2));
    assert_eq!(refused(&two), Some((Rcode::FORMERR, true, true)));
    let owned = [&b"\x01a"[..], &opt(0, 0, b"")].concat();
    assert_eq!(refused(&query(0, [0, 0, 1], &owned)), Some((Rcode::FORMERR, true, false)));
}

/// RFC 8945 section 5.1: the last record, and once.
#[test]
fn tsig_is_last_or_a_format_error() {
    let tsig = b"\x03key\x00\x00\xfa\x00\xff\x00\x00\x00\x00\x00\x00";
    let signed = query(0, [0, 0, 2], &[&opt(0, 0, b"")[..], tsig].concat());
    let at = query(0, [0; 3], b"").len() + 11;
    assert_eq!(Query::parse(&signed, &mut NameBuf::new()).unwrap().tsig_at, Some(at));
    let early = query(0, [0, 0, 2], &[&tsig[..], &opt(0, 0, b"")].concat());
    assert_eq!(refused(&early), Some((Rcode::FORMERR, true, false)));
}

#[test]
fn only_transfers_and_notifies_bring_records() {
    let soa = b"\xc0\x0c\x00\x06\x00\x01\x00\x00\x00\x00\x00\x00";
    assert_eq!(refused(&query(0, [1, 0, 0], soa)), Some((Rcode::FORMERR, true, false)));
    assert_eq!(refused(&query(0, [0, 1, 0], soa)), Some((Rcode::FORMERR, true, false)));
    assert!(Query::parse(&query(4 << 11, [1, 0, 0], soa), &mut NameBuf::new()).is_ok());
    let mut ixfr = query(0, [0, 1, 0], soa);
    ixfr[26] = 251;
    assert_eq!(Query::parse(&ixfr, &mut NameBuf::new()).unwrap().question.rtype, Rtype::IXFR);
}

#[test]
fn records_of_no_meaning_here_are_stepped_over() {
    let other = b"\x01x\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x04\x7f\x00\x00\x01";
    let message = query(0, [0, 0, 2], &[&other[..], &opt(0, 0x80, b""), b"behind it all"].concat());
    assert!(Query::parse(&message, &mut NameBuf::new()).unwrap().dnssec_ok());
}

#[test]
fn a_reply_to_what_is_refused_repeats_what_was_read() {
    let mut name = NameBuf::new();
    let message = query(0x2910, [0; 3], b"");
    let Err(Refusal::Reply(reply)) = Query::parse(&message, &mut name) else { panic!("parsed") };
    let mut out = [0; 12];
    assert_eq!(reply.emit(1232, &mut out), Some(12));
    assert_eq!(
        out, *b"\x12\x34\xa9\x04\x00\x00\x00\x00\x00\x00\x00\x00",
        "UPDATE: NOTIMP, RD kept and CD not"
    );
    assert_eq!(reply.emit(1232, &mut out[..11]), None);
}

#[test]
fn codes_have_their_names() {
    assert_eq!(Rtype::NSEC3PARAM.to_string(), "NSEC3PARAM");
    assert_eq!(Rtype(65280).to_string(), "TYPE65280");
    assert_eq!("aaaa".parse(), Ok(Rtype::AAAA));
    assert_eq!("type28".parse(), Ok(Rtype::AAAA));
    assert_eq!("CLASS255".parse(), Ok(Class::ANY));
    assert!("TYPE65536".parse::<Rtype>().is_err() && "TYPE+1".parse::<Rtype>().is_err());
    assert!("NOSUCH".parse::<Rtype>().is_err());
    assert_eq!(Rcode(23).to_string(), "BADCOOKIE");
    assert!(Rtype::ANY.is_meta() && Rtype::OPT.is_meta() && !Rtype::URI.is_meta());
    assert!(Rtype::NAMED.iter().all(|rtype| rtype.to_string().parse() == Ok(*rtype)));
    assert_eq!(Name::ROOT.to_string(), ".");
}
