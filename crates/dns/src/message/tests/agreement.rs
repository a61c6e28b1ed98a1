//! The same messages, read by us and by the crate `domain`, and written by one and read by the other.

use domain::base as peer;
use domain::base::iana;
use domain::base::opt::cookie::{ClientCookie, Cookie as PeerCookie, ServerCookie};
use domain::base::rdata::ComposeRecordData;
use domain::rdata::AllRecordData;
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::*;
use crate::name::{Name, NameBuf};

type PeerName = peer::Name<Vec<u8>>;

fn of_labels(labels: &[Vec<u8>]) -> NameBuf {
    labels.iter().rev().fold(NameBuf::new(), |parent, label| NameBuf::child(label, &parent).unwrap())
}

fn any_names() -> impl Strategy<Value = NameBuf> {
    vec(vec(any::<u8>(), 1..=20), 0..=10).prop_map(|labels| of_labels(&labels))
}

/// Names that share tails, in either case.
fn kindred_names() -> impl Strategy<Value = NameBuf> {
    let label = prop_oneof![
        Just("ns1"),
        Just("NS1"),
        Just("mail"),
        Just("example"),
        Just("exAMPle"),
        Just("a"),
        Just("long-label-of-a-name")
    ];
    vec(label.prop_map(|text| text.as_bytes().to_vec()), 0..=5).prop_map(|labels| of_labels(&labels))
}

/// What a query of a peer's says.
#[derive(Clone, Debug)]
struct Asked {
    name: NameBuf,
    rtype: u16,
    class: u16,
    id: u16,
    flags: [bool; 3],
    edns: Option<AskedEdns>,
}

#[derive(Clone, Debug)]
struct AskedEdns {
    udp_size: u16,
    dnssec_ok: bool,
    nsid: bool,
    cookie: Option<([u8; 8], Vec<u8>)>,
}

fn asked() -> impl Strategy<Value = Asked> {
    let cookie =
        proptest::option::of((any::<[u8; 8]>(), prop_oneof![Just(vec![]), vec(any::<u8>(), 8..=32)]));
    let edns = (any::<u16>(), any::<bool>(), any::<bool>(), cookie)
        .prop_map(|(udp_size, dnssec_ok, nsid, cookie)| AskedEdns { udp_size, dnssec_ok, nsid, cookie });
    let head = (any_names(), any::<u16>(), any::<u16>(), any::<u16>(), any::<[bool; 3]>());
    (head, proptest::option::of(edns)).prop_map(|((name, rtype, class, id, flags), edns)| Asked {
        name,
        rtype,
        class,
        id,
        flags,
        edns,
    })
}

fn build(asked: &Asked) -> Vec<u8> {
    let mut builder = peer::MessageBuilder::new_vec();
    builder.header_mut().set_id(asked.id);
    builder.header_mut().set_rd(asked.flags[0]);
    builder.header_mut().set_cd(asked.flags[1]);
    builder.header_mut().set_ad(asked.flags[2]);
    let mut builder = builder.question();
    let name = PeerName::from_octets(asked.name.as_wire().to_vec()).unwrap();
    builder.push((name, iana::Rtype::from_int(asked.rtype), iana::Class::from_int(asked.class))).unwrap();
    let mut builder = builder.additional();
    if let Some(edns) = &asked.edns {
        builder.opt(|opt| push_edns(edns, opt)).unwrap();
    }
    builder.finish()
}

fn push_edns(
    edns: &AskedEdns,
    opt: &mut peer::message_builder::OptBuilder<'_, Vec<u8>>,
) -> Result<(), core::convert::Infallible> {
    opt.set_udp_payload_size(edns.udp_size);
    opt.set_dnssec_ok(edns.dnssec_ok);
    if edns.nsid {
        opt.push_raw_option(iana::OptionCode::NSID, 0, |_| Ok(()))?;
    }
    if let Some((client, server)) = &edns.cookie {
        let server = (!server.is_empty()).then(|| ServerCookie::from_octets(server));
        opt.push(&PeerCookie::new(ClientCookie::from_octets(*client), server))?;
    }
    Ok(())
}

fn lower(octets: &[u8]) -> Vec<u8> {
    octets.to_ascii_lowercase()
}

/// A record to be written.
#[derive(Clone, Debug)]
struct Entry {
    section: Section,
    owner: NameBuf,
    rtype: Rtype,
    ttl: u32,
    data: Vec<u8>,
}

fn data() -> impl Strategy<Value = (Rtype, Vec<u8>)> {
    let name = || kindred_names().prop_map(|name| name.as_wire().to_vec());
    let behind = |fixed: &'static [u8], name: Vec<u8>| [fixed, &name].concat();
    prop_oneof![
        any::<[u8; 4]>().prop_map(|data| (Rtype::A, data.to_vec())),
        any::<[u8; 16]>().prop_map(|data| (Rtype::AAAA, data.to_vec())),
        name().prop_map(|data| (Rtype::NS, data)),
        name().prop_map(|data| (Rtype::CNAME, data)),
        name().prop_map(|data| (Rtype::DNAME, data)),
        name().prop_map(move |data| (Rtype::MX, behind(b"\x00\x0a", data))),
        name().prop_map(move |data| (Rtype::SRV, behind(b"\x00\x01\x00\x02\x00\x03", data))),
        (name(), name(), any::<[u8; 20]>())
            .prop_map(|(a, b, numbers)| (Rtype::SOA, [&a[..], &b, &numbers].concat())),
        vec(any::<u8>(), 0..200).prop_map(|text| (Rtype::TXT, [&[text.len() as u8][..], &text].concat())),
    ]
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let section = prop_oneof![Just(Section::Answer), Just(Section::Authority), Just(Section::Additional)];
    let entry = (section, kindred_names(), any::<u32>(), data())
        .prop_map(|(section, owner, ttl, (rtype, data))| Entry { section, owner, rtype, ttl, data });
    vec(entry, 0..40).prop_map(|mut entries| {
        entries.sort_by_key(|entry| entry.section);
        entries
    })
}

/// What a peer reads back: section, owner, type, TTL and data, letters in lower case.
type Shown = (Section, Vec<u8>, u16, u32, Vec<u8>);

fn shown(entry: &Entry) -> Shown {
    (entry.section, lower(entry.owner.as_wire()), entry.rtype.0, entry.ttl, lower(&entry.data))
}

fn read_back(octets: &[u8]) -> Vec<Shown> {
    let message = peer::Message::from_octets(octets).unwrap();
    let sections = [
        (Section::Answer, message.answer()),
        (Section::Authority, message.authority()),
        (Section::Additional, message.additional()),
    ];
    let mut records = Vec::new();
    for (section, found) in sections {
        for record in found.unwrap() {
            let record = record.unwrap().to_any_record::<AllRecordData<_, _>>().unwrap();
            if record.rtype() == iana::Rtype::OPT {
                continue;
            }
            let mut data = Vec::new();
            record.data().compose_rdata(&mut data).unwrap();
            let owner = peer::name::ToName::to_vec(record.owner());
            let ttl = record.ttl().as_secs();
            records.push((section, lower(owner.as_slice()), record.rtype().to_int(), ttl, lower(&data)));
        }
    }
    records
}

proptest! {
    #[test]
    fn any_bytes_are_a_query_or_refused(bytes in vec(any::<u8>(), 0..120)) {
        let _ = Query::parse(&bytes, &mut NameBuf::new());
    }

    #[test]
    fn what_a_peer_asks_is_read(asked in asked()) {
        let message = build(&asked);
        let mut name = NameBuf::new();
        let query = Query::parse(&message, &mut name).unwrap();
        prop_assert_eq!(query.question.name.as_wire(), asked.name.as_wire());
        prop_assert_eq!((query.question.rtype.0, query.question.class.0), (asked.rtype, asked.class));
        prop_assert_eq!(query.id, asked.id);
        prop_assert_eq!([Flags::RD, Flags::CD, Flags::AD].map(|flag| query.flags.has(flag)), asked.flags);
        let edns = query.edns.map(|edns| AskedEdns {
            udp_size: edns.udp_size,
            dnssec_ok: edns.dnssec_ok,
            nsid: edns.wants_nsid,
            cookie: edns.cookie.map(|cookie| (*cookie.client, cookie.server.to_vec())),
        });
        prop_assert_eq!(format!("{edns:?}"), format!("{:?}", asked.edns));
    }

    /// A peer's query with a few octets changed or cut off is refused or means to both the same.
    #[test]
    fn what_is_read_of_a_spoilt_query_is_what_a_peer_reads(
        asked in asked(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        kept in 0_usize..200,
    ) {
        let mut message = build(&asked);
        for (place, octet) in &changes {
            *place.get_mut(&mut message) = *octet;
        }
        message.truncate(kept.max(HEADER_LEN));
        let mut name = NameBuf::new();
        let Ok(query) = Query::parse(&message, &mut name) else { return Ok(()) };
        // A peer may insist on pointers that point back.
        prop_assume!(query.is_plain);
        let theirs = peer::Message::from_octets(&message).unwrap();
        let question = theirs.sole_question().unwrap();
        let name = peer::name::ToName::to_vec(question.qname());
        prop_assert_eq!(name.as_slice(), query.question.name.as_wire());
        prop_assert_eq!(question.qtype().to_int(), query.question.rtype.0);
        prop_assert_eq!(question.qclass().to_int(), query.question.class.0);
        let theirs = theirs.opt().map(|opt| (opt.udp_payload_size(), opt.dnssec_ok()));
        prop_assert_eq!(theirs, query.edns.map(|edns| (edns.udp_size, edns.dnssec_ok)));
    }

    /// Whatever fits is read back, record for record; what does not leaves no trace.
    #[test]
    fn what_is_written_is_read_back(
        question in kindred_names(),
        entries in entries(),
        limit in 100_usize..3000,
        dnssec_ok in any::<bool>(),
    ) {
        let mut out = vec![0xee; 4096];
        let mut writer = Writer::new(&mut out, limit, 7, Flags::QR).unwrap();
        writer.set_opt(Opt::new(1232, dnssec_ok)).unwrap();
        let question = Question { name: &question, rtype: Rtype::ANY, class: Class::IN };
        prop_assume!(writer.question(&question).is_ok());
        let mut written = Vec::new();
        for entry in &entries {
            writer.begin(entry.section);
            if writer.record(&entry.owner, entry.rtype, Class::IN, entry.ttl, &entry.data).is_ok() {
                written.push(shown(entry));
            }
        }
        let len = writer.finish();
        prop_assert!(len <= limit);
        prop_assert!(out[limit..].iter().all(|octet| *octet == 0xee), "nothing past the limit");
        prop_assert_eq!(read_back(&out[..len]), written);
        let message = peer::Message::from_octets(&out[..len]).unwrap();
        prop_assert_eq!(message.opt().map(|opt| opt.dnssec_ok()), Some(dnssec_ok));
        let asked = peer::name::ToName::to_vec(message.sole_question().unwrap().qname());
        prop_assert_eq!(asked.as_slice(), question.name.as_wire());
    }

    /// Every mark can be gone back to, and what is written then is as if nothing had been.
    #[test]
    fn going_back_is_as_if_nothing_had_been(kept in entries(), dropped in entries()) {
        let name: NameBuf = "example.".parse().unwrap();
        let write = |detour: &[Entry]| {
            let mut out = vec![0; 8192];
            let mut writer = Writer::new(&mut out, 8192, 7, Flags::QR).unwrap();
            writer.question(&Question { name: &name, rtype: Rtype::A, class: Class::IN }).unwrap();
            for entry in &kept {
                let mark = writer.mark();
                detour.iter().for_each(|entry| _ = put(&mut writer, entry));
                writer.roll_back(mark);
                let _ = put(&mut writer, entry);
            }
            let len = writer.finish();
            out.truncate(len);
            out
        };
        prop_assert_eq!(write(&[]), write(&dropped));
    }
}

fn put(writer: &mut Writer<'_>, entry: &Entry) -> Result<(), Full> {
    writer.begin(entry.section);
    writer.record(&entry.owner, entry.rtype, Class::IN, entry.ttl, &entry.data)
}

#[test]
fn a_name_is_a_name_to_both() {
    let ours: NameBuf = "a\\.b.\\000x.Example.".parse().unwrap();
    let theirs: PeerName = "a\\.b.\\000x.Example.".parse().unwrap();
    assert_eq!(ours.as_wire(), theirs.as_slice());
    assert_eq!(*Name::from_wire(theirs.as_slice()).unwrap(), *ours);
}
