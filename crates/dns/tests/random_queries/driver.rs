//! Reads any bytes as a query and answers it, checking what must hold whatever they are. Shared by the test
//! beside it and by the fuzz target `dns_query`.
//!
//! What is refused must get no more octets than it had; an answer must keep to its limit, repeat what it
//! answers, and be read to its last octet by the crate `domain`.

use std::cell::RefCell;
use std::sync::{Arc, LazyLock};

use domain::base::name::ToName;
use domain::base::{Message, ParsedName};
use domain::rdata::AllRecordData;
use tidegate_dns::answer::{Policy, answer};
use tidegate_dns::message::{ErrorReply, MESSAGE_LEN_MAX, Opt, Query, Refusal, Writer};
use tidegate_dns::name::NameBuf;
use tidegate_dns::zone::{Catalog, Zone, file};

/// What a server of ours takes and sends over UDP.
const UDP_LEN_MAX: u16 = 1232;

macro_rules! zones {
    ($($apex:literal: $path:literal,)+) => {
        /// The apexes and texts of the zones.
        pub(crate) const ZONES: &[(&str, &[u8])] =
            &[$(($apex, include_bytes!(concat!("../differential/zones/", $path)))),+];
    };
}

zones! {
    "basic.test": "plain/basic.test.zone",
    "alias.test": "plain/alias.test.zone",
    "dname.test": "plain/dname.test.zone",
    "wild.test": "plain/wild.test.zone",
    "ent.test": "plain/ent.test.zone",
    "parent.test": "plain/parent.test.zone",
    "types.test": "plain/types.test.zone",
    "long.test": "plain/long.test.zone",
    "nsec.test": "signed/nsec.test.zone",
    "nsec3.test": "signed/nsec3.test.zone",
    "optout.test": "signed/optout.test.zone",
}

/// The zones, read once.
pub(crate) fn zones() -> Vec<Arc<Zone>> {
    let read = |(apex, text): &(&str, &[u8])| {
        let apex: NameBuf = apex.parse().unwrap();
        Arc::new(file::read_text("zone", text, &apex).unwrap().zone)
    };
    ZONES.iter().map(read).collect()
}

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| Catalog::new().with_all(zones()));

/// Octets behind an answer's limit that must stay as they were.
const FENCE: [u8; 64] = [0xee; 64];

thread_local! {
    /// Where answers are written: to clear it for each would cost more than the answer.
    static ROOM: RefCell<Box<[u8]>> = RefCell::new(vec![0; MESSAGE_LEN_MAX + FENCE.len()].into());
}

/// Looks at `bytes`; panics where an invariant breaks.
pub(crate) fn drive(bytes: &[u8]) {
    let mut name = NameBuf::new();
    match Query::parse(bytes, &mut name) {
        Err(Refusal::Silence(_)) => {}
        Err(Refusal::Reply(reply)) => refuse(bytes, &reply),
        Ok(query) => {
            check_answer(&query, query.udp_len_max(usize::from(UDP_LEN_MAX)));
            let truncated = check_answer(&query, MESSAGE_LEN_MAX);
            assert!(!truncated, "every answer fits the longest message");
        }
    }
}

fn refuse(bytes: &[u8], reply: &ErrorReply<'_>) {
    let mut out = [0; 1024];
    let len = reply.emit(UDP_LEN_MAX, &mut out).unwrap();
    assert!(len <= bytes.len(), "{len} octets for {}", bytes.len());
    assert_eq!(out[..2], bytes[..2]);
    check_message(&out[..len]);
}

/// Answers in at most `limit` octets, and gives whether the answer is truncated.
fn check_answer(query: &Query<'_>, limit: usize) -> bool {
    ROOM.with_borrow_mut(|room| check_answer_in(room, query, limit))
}

fn check_answer_in(out: &mut [u8], query: &Query<'_>, limit: usize) -> bool {
    out[limit..][..FENCE.len()].copy_from_slice(&FENCE);
    let mut writer = Writer::answering(query, out, limit).unwrap();
    if query.edns.is_some() {
        writer.set_opt(Opt { nsid: Some(b"ns1"), ..Opt::new(UDP_LEN_MAX, query.dnssec_ok()) }).unwrap();
    }
    let policy = Policy { version: Some("v".to_owned()), identity: None };
    let rcode = answer(&CATALOG, query, &policy, &mut writer);
    let len = writer.finish();
    assert!(len <= limit);
    assert_eq!(out[limit..][..FENCE.len()], FENCE, "nothing beyond the limit");
    let message = check_message(&out[..len]);
    assert_eq!(message.header().id(), query.id);
    assert_eq!(message.header().rcode().to_int(), (rcode.0 & 0xf) as u8);
    let question = message.sole_question().unwrap();
    assert_eq!(question.qname().to_vec().as_slice(), query.question.name.as_wire(), "letter by letter");
    assert_eq!(question.qtype().to_int(), query.question.rtype.0);
    assert_eq!(message.opt().is_some(), query.edns.is_some());
    message.header().tc()
}

/// A response that is read to its last octet.
pub(crate) fn check_message(octets: &[u8]) -> Message<&[u8]> {
    let message = Message::from_octets(octets).unwrap();
    assert!(message.header().qr() && !message.header().ra());
    let mut section = message.answer().unwrap();
    let end = loop {
        for record in section.by_ref() {
            let record = record.unwrap();
            let _ = record.to_any_record::<AllRecordData<_, ParsedName<_>>>().unwrap();
        }
        let end = section.pos();
        match section.next_section().unwrap() {
            Some(next) => section = next,
            None => break end,
        }
    };
    assert_eq!(end, octets.len());
    message
}
