//! What is counted where.

use super::*;
use crate::name::NameBuf;

/// `. TYPE IN`, with EDNS and DO.
fn query(rtype: u16) -> Vec<u8> {
    let [high, low] = rtype.to_be_bytes();
    let mut message = vec![0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, high, low, 0, 1];
    message.extend(b"\x00\x00\x29\x04\xd0\x00\x00\x80\x00\x00\x00");
    message
}

fn counted(rtypes: &[u16]) -> DnsCounters {
    let tally = DnsTally::default();
    for rtype in rtypes {
        let message = query(*rtype);
        tally.on_query(Transport::Udp6, &Query::parse(&message, &mut NameBuf::new()).unwrap());
        tally.on_response(Rcode::NOERROR, 100, false);
    }
    tally.read()
}

#[test]
fn queries_count_by_transport_type_and_opcode() {
    let counters = counted(&[1, 1, 28, 257, 258, 65_280]);
    assert_eq!(counters.query_count(), 6);
    assert_eq!(counters.by_transport(Transport::Udp6), 6);
    assert_eq!(counters.by_transport(Transport::Tcp6), 0);
    assert_eq!(
        [Rtype::A, Rtype::AAAA, Rtype::CAA, Rtype(300)].map(|rtype| counters.by_rtype(rtype)),
        [2, 1, 1, 2]
    );
    assert_eq!(counters.by_opcode(Opcode::QUERY), 6);
    assert_eq!((counters.scalars.edns_count, counters.scalars.dnssec_ok_count), (6, 6));
}

#[test]
fn answers_count_by_rcode_and_size() {
    let tally = DnsTally::default();
    for (rcode, len) in
        [(Rcode::NXDOMAIN, 12), (Rcode::BADCOOKIE, 32), (Rcode(4000), 33), (Rcode(30), 65_535)]
    {
        tally.on_response(rcode, len, len == 33);
    }
    let counters = tally.read();
    assert_eq!(counters.response_count(), 4);
    assert_eq!([3, 23, 24].map(|rcode| counters.by_rcode(Rcode(rcode))), [1, 1, 2]);
    let sizes: Vec<_> = counters.by_size().filter(|(_, count)| *count != 0).collect();
    assert_eq!(sizes, [(32, 2), (64, 1), (65_536, 1)]);
    assert_eq!((counters.scalars.truncated_count, counters.scalars.response_bytes), (1, 65_612));
}

#[test]
fn every_length_has_its_size_class() {
    for len in 0..70_000_usize {
        let index = size_index(len);
        let len = len.min(65_536) as u32;
        assert!(len <= size_max(index) && (index == 0 || len > size_max(index - 1)), "{len}");
    }
}

#[test]
fn what_is_not_answered_counts_under_its_reason() {
    let tally = DnsTally::default();
    tally.on_silence(Silence::TooShort);
    tally.on_silence(Silence::IsResponse);
    tally.on_no_frame();
    for verdict in [RateVerdict::Send, RateVerdict::Slip, RateVerdict::Drop] {
        tally.on_rate_verdict(verdict);
    }
    for verdict in [CookieVerdict::ClientOnly, CookieVerdict::Good, CookieVerdict::Bad] {
        tally.on_cookie(verdict);
    }
    tally.on_refused(Transport::Tcp4, Opcode::UPDATE);
    let counters = tally.read();
    let once: Vec<_> =
        counters.samples().filter(|sample| sample.value == 1).map(|sample| sample.name).collect();
    let expected = [
        "query_transport_count",
        "query_opcode_count",
        "cookie_client_only_count",
        "cookie_good_count",
        "cookie_bad_count",
        "rate_dropped_count",
        "rate_slipped_count",
        "dropped_short_count",
        "dropped_response_count",
        "dropped_no_frame_count",
    ];
    assert_eq!(once, expected);
}

#[test]
fn workers_add_up() {
    let mut sum = counted(&[1, 2]);
    sum.merge(&counted(&[2, 300]));
    assert_eq!(sum, counted(&[1, 2, 2, 300]));
    let mut unchanged = sum.clone();
    unchanged.merge(&DnsCounters::new());
    assert_eq!(unchanged, sum);
}

#[test]
fn samples_have_names_for_an_exporter() {
    let samples: Vec<_> = counted(&[1, 65_280]).samples().collect();
    let label = |name: &str, value: &str| {
        let mut labels =
            samples.iter().filter(|sample| sample.name == name).filter_map(|sample| sample.label.as_ref());
        labels.any(|(_, text)| text == value)
    };
    assert!(label("query_type_count", "A") && label("query_type_count", "other"));
    assert!(label("response_rcode_count", "NOERROR") && label("response_size_count", "128"));
    assert!(label("query_transport_count", "udp6") && label("query_opcode_count", "QUERY"));
    assert!(samples.iter().all(|sample| sample.help.ends_with('.')));
}
