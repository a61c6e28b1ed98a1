//! Ready answers against those that the engine writes for each query, octet by octet.
use super::*;
use crate::answer::{Policy, answer};
use crate::cookie::Cookies;
use crate::message::{Opt, Query, Refusal, Writer};
use crate::name::{Name, NameBuf};
use crate::rrl::RateLimits;
use crate::zone::{Catalog, file};
use std::net::IpAddr;
use std::sync::Arc;
use tidegate_base::HashKey;
use tidegate_packet::{Frame, HeapMemory, Pool};
use tidegate_stack::{
    Closed, Conn, ConnId, Egress, FetchError, Interface, Limits, Ownership, Payload, Secrets, Service, Stack,
};
use tidegate_wire::{EtherType, EthernetHeader, IpRepr, MacAddr, Protocol, udp};
use zerocopy::IntoBytes;

const ZONE: &str = "\
$ORIGIN example.
$TTL 3600
@ IN SOA ns.example. admin.example. 1 7200 900 1209600 300
@ NS ns
@ NS ns2.far
ns A 192.0.2.1
ns AAAA 2001:db8::1
@ MX 10 mail
mail A 192.0.2.2
www CNAME web
web A 192.0.2.3
web A 192.0.2.4
*.wild TXT \"synthesised\"
far NS ns2.far
ns2.far A 192.0.2.53
a.b.deep A 192.0.2.5
";

/// A zone, answered by the engine alone.
pub(super) struct Zones {
    catalog: Arc<Catalog>,
    has_changed: bool,
    find_count: usize,
}

impl Zones {
    fn new(extra: &str) -> Self {
        let mut apex = NameBuf::new();
        apex.assign(Name::from_wire(b"\x07example\x00").unwrap());
        let mut text = ZONE.to_string();
        for n in 0..60 {
            text.push_str(&format!("big TXT \"{n:03} {}\"\nround A 198.51.100.{n}\n", "x".repeat(n)));
        }
        text.push_str(extra);
        let loaded = file::read_text("test", text.as_bytes(), apex.as_name()).unwrap();
        Self::of(Catalog::new().with(Arc::new(loaded.zone)))
    }

    pub(super) fn of(catalog: Catalog) -> Self {
        Self { catalog: Arc::new(catalog), has_changed: false, find_count: 0 }
    }
}

impl Source for Zones {
    fn has_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    fn family(&mut self, question: &Question<'_>) -> Option<Family> {
        zones::family(&self.catalog, question)
    }

    fn find<'a>(&mut self, question: &Question<'_>, size_max: usize, out: &'a mut [u8]) -> Option<Found<'a>> {
        self.find_count += 1;
        zones::find(&self.catalog, &Policy::default(), question, size_max, out)
    }

    fn opt(&mut self, _: Instant, edns: &Edns<'_>, client: IpAddr) -> (Opt<'_>, Option<CookieVerdict>) {
        opt(edns, client)
    }

    fn answer(&mut self, query: &[u8], peer: SocketAddr, size_max: usize, out: &mut [u8]) -> Option<Whole> {
        let mut name = NameBuf::new();
        let edns = Query::parse(query, &mut name).ok().and_then(|query| query.edns);
        let cookie = edns.and_then(|edns| opt(&edns, peer.ip()).1);
        Some(Whole { len: whole(&self.catalog, query, size_max, out)?, cookie })
    }
}

/// When it is, in seconds since 1970.
const UNIX_S: u32 = 1_700_000_000;
const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

/// What the engine's answers say besides.
fn opt(edns: &Edns<'_>, client: IpAddr) -> (Opt<'static>, Option<CookieVerdict>) {
    let cookies = Cookies::new(&[[7; 16]]).unwrap();
    let (cookie, bytes) = edns.cookie.map(|cookie| cookies.answer(&cookie, client, UNIX_S)).unzip();
    let nsid = edns.wants_nsid.then_some(&b"one of us"[..]);
    (Opt { nsid, cookie: bytes, ..Opt::new(1232, edns.dnssec_ok) }, cookie)
}

/// The engine's whole message.
fn whole(catalog: &Catalog, query: &[u8], size_max: usize, out: &mut [u8]) -> Option<usize> {
    let mut name = NameBuf::new();
    let query = match Query::parse(query, &mut name) {
        Ok(query) => query,
        Err(Refusal::Reply(reply)) => return reply.emit(1232, out),
        Err(Refusal::Silence(_)) => return None,
    };
    let mut writer = Writer::answering(&query, out, query.udp_len_max(size_max))?;
    if let Some(edns) = query.edns {
        let _ = writer.set_opt(opt(&edns, CLIENT).0);
    }
    answer(catalog, &query, &Policy::default(), &mut writer);
    Some(writer.finish())
}

struct Server(Responder<Zones>);

impl Service for Server {
    type Response = ();
    type State = ();
    fn on_accept(&mut self, _: SocketAddr, _: SocketAddr) -> bool {
        false
    }
    fn on_recv(&mut self, _: &mut Conn<'_, Self>, _: &[u8]) {}
    fn on_closed(&mut self, _: ConnId, (): (), _: Closed) {}
    fn response_len((): &()) -> u64 {
        0
    }
    fn segment_len((): &(), _: u64, max: usize) -> usize {
        max
    }
    fn fetch(&mut self, (): &(), _: u64, _: usize, _: &mut Pool) -> Result<Payload, FetchError> {
        Err(FetchError::Gone)
    }
    fn on_datagrams(&mut self, now: Instant, burst: &mut [Datagram], pool: &mut Pool) {
        self.0.on_datagrams(now, burst, pool);
    }
}

struct End {
    pool: Pool,
    sent: Vec<Frame>,
}

impl Egress for End {
    fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }
    fn room(&mut self) -> usize {
        1024
    }
    fn send(&mut self, frame: Frame) {
        self.sent.push(frame);
    }
}

const MACS: [MacAddr; 2] = [MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2])];

pub(super) struct Net {
    stack: Stack<Server>,
    end: End,
    catalog: Arc<Catalog>,
    /// Of the last batch.
    pub(super) allocation_count: u64,
}

impl Net {
    fn new(mode: Mode, key_form: KeyForm) -> Self {
        let store = StoreSize { byte_count_max: 1 << 20, entry_count: 256 };
        let config = UdpConfig { mode, key_form, store, ..UdpConfig::default() };
        Self::serving(Zones::new(""), config)
    }

    pub(super) fn serving(zones: Zones, config: UdpConfig) -> Self {
        let catalog = Arc::clone(&zones.catalog);
        let key = HashKey::new([1; 16]);
        let secrets = Secrets { isn: key, cookie: key, flow: 1 };
        let ours: IpAddr = "10.0.0.2".parse().unwrap();
        let interface = Interface::new(MACS[1], [ours], 1500, Ownership::Address);
        let server = Server(Responder::new(zones, config, 1));
        let stack =
            Stack::new(Instant::ZERO, interface, Default::default(), Limits::default(), &secrets, server);
        let pool = Pool::new(Box::new(HeapMemory::new(256 * 2048)), 2048).unwrap();
        Self { stack, end: End { pool, sent: Vec::with_capacity(1024) }, catalog, allocation_count: 0 }
    }

    pub(super) fn counters(&self) -> UdpCounters {
        self.stack.service().0.counters()
    }

    /// What comes back for each of `queries`, all of one batch.
    pub(super) fn ask(&mut self, queries: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut batch = tidegate_packet::Batch::new();
        for query in queries {
            let mut frame = self.end.pool.alloc().unwrap();
            assert!(frame.extend(&packet(query)));
            assert!(batch.push(frame).is_ok());
        }
        self.allocation_count =
            allocation_counter::measure(|| self.stack.on_batch(Instant::ZERO, &mut batch, &mut self.end))
                .count_total;
        let sent = std::mem::replace(&mut self.end.sent, Vec::with_capacity(1024));
        let payload = |frame: Frame| {
            let (ip, body) = IpRepr::parse(&frame.data()[14..]).unwrap();
            let (header, data) = udp::UdpHeader::parse(body).unwrap();
            assert!(header.checksum_ok(&ip, body));
            let data = data.to_vec();
            self.end.pool.free(frame);
            data
        };
        sent.into_iter().map(payload).collect()
    }

    pub(super) fn engine(&self, query: &[u8]) -> Vec<u8> {
        let mut out = vec![0; 4096];
        let len = whole(&self.catalog, query, 1232, &mut out).unwrap();
        out.truncate(len);
        out
    }
}

fn packet(query: &[u8]) -> Vec<u8> {
    let [src, dst] = ["10.0.0.1", "10.0.0.2"].map(|addr| addr.parse::<IpAddr>().unwrap().into());
    let ip = IpRepr { src, dst, protocol: Protocol::Udp, hop_limit: 64, ecn: 0 };
    let mut bytes = EthernetHeader::new(MACS[1], MACS[0], EtherType::Ipv4).as_bytes().to_vec();
    let mut headers = [0; 28];
    ip.emit(8 + query.len(), &mut headers);
    udp::UdpHeader::emit(&ip, 5000, 53, query.len(), Sum::of(query), &mut headers[20..]);
    bytes.extend(headers);
    bytes.extend(query);
    bytes
}

/// EDNS or none, as a query may have it.
pub(super) const EDNS: [Option<(u16, bool)>; 4] =
    [None, Some((1232, false)), Some((4096, true)), Some((100, false))];

pub(super) fn query(id: u16, name: &str, qtype: u16, edns: Option<(u16, bool)>) -> Vec<u8> {
    let mut bytes = vec![(id >> 8) as u8, id as u8, (id & 1) as u8, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.').filter(|label| !label.is_empty()) {
        bytes.push(label.len() as u8);
        bytes.extend(label.bytes());
    }
    bytes.push(0);
    bytes.extend(qtype.to_be_bytes());
    bytes.extend([0, 1]);
    if let Some((size, wants_dnssec)) = edns {
        bytes[11] = 1;
        let [s0, s1] = size.to_be_bytes();
        bytes.extend([0, 0, 41, s0, s1, 0, 0, u8::from(wants_dnssec) << 7, 0, 0, 0]);
    }
    bytes
}

/// `query` with EDNS options behind it.
fn with_options(mut query: Vec<u8>, options: &[(u16, &[u8])]) -> Vec<u8> {
    let len_at = query.len() - 2;
    for (code, data) in options {
        query.extend(code.to_be_bytes());
        query.extend((data.len() as u16).to_be_bytes());
        query.extend(*data);
    }
    let len = (query.len() - len_at - 2) as u16;
    query[len_at..len_at + 2].copy_from_slice(&len.to_be_bytes());
    query
}

const NSID: u16 = 3;
const SUBNET: u16 = 8;
const EXPIRE: u16 = 9;
const COOKIE: u16 = 10;

/// What resolvers send, and what breaks the rules.
fn option_lists() -> Vec<Vec<(u16, &'static [u8])>> {
    vec![
        vec![(COOKIE, b"client's")],
        vec![(COOKIE, b"client'sand sixteen of a server")],
        vec![(COOKIE, b"client'snot8")],
        vec![(NSID, b"")],
        vec![(EXPIRE, b"")],
        vec![(SUBNET, b"\x00\x01\x18\x00\xc0\x00\x02")],
        vec![(65_001, b"?"), (NSID, b""), (COOKIE, b"client's"), (COOKIE, b"another's"), (12, &[0; 40])],
    ]
}

fn queries() -> Vec<Vec<u8>> {
    let names = [
        "example",
        "EXAMPLE",
        "ns.example",
        "www.example",
        "wWw.eXample",
        "web.example",
        "mail.example",
        "none.example",
        "x.wild.example",
        "y.wild.example",
        "far.example",
        "below.far.example",
        "b.deep.example",
        "a.b.deep.example",
        "big.example",
        "round.example",
        "elsewhere",
        "",
    ];
    let mut queries = Vec::new();
    for name in names {
        for qtype in [1, 2, 5, 6, 15, 16, 28, 43, 251, 252, 255, 65] {
            for edns in EDNS {
                queries.push(query(queries.len() as u16, name, qtype, edns));
            }
        }
        for options in option_lists() {
            for edns in &EDNS[1..] {
                queries.push(with_options(query(queries.len() as u16, name, 1, *edns), &options));
            }
        }
    }
    queries
}

#[test]
fn every_way_gives_the_engines_answer_the_first_time_and_after() {
    for mode in [Mode::InPlace, Mode::MemCopy, Mode::PreCopy] {
        for key_form in [KeyForm::Wire, KeyForm::Expanded] {
            let mut net = Net::new(mode, key_form);
            for _ in 0..3 {
                for chunk in queries().chunks(BURST_LEN_MAX) {
                    for (asked, answered) in chunk.iter().zip(net.ask(chunk)) {
                        assert_eq!(answered, net.engine(asked), "{mode:?} {key_form:?} to {asked:?}");
                    }
                }
            }
            let counters = net.stack.service().0.counters();
            assert!(counters.ready_count > counters.query_count / 3, "{counters:?}");
            net.stack.service_mut().0.frames.release(&mut net.end.pool);
            assert_eq!(net.end.pool.free_count(), 256, "no frame is lost");
        }
    }
}

#[test]
fn of_what_is_not_in_a_zone_only_what_many_have_in_common_is_kept() {
    let mut net = Net::new(Mode::InPlace, KeyForm::Wire);
    for n in 0..9 {
        for name in ["none.example", "wild.example", "below.far.example", "elsewhere"] {
            net.ask(&[query(1, &format!("x{n}.{name}"), 1, None)]);
        }
        assert_eq!(net.stack.service().0.store_counters().entry_count, 3);
    }
    net.stack.service_mut().0.store.clear();
    for name in ["web.example", "far.example", "b.deep.example"] {
        net.ask(&[query(1, name, 1, None)]);
    }
    assert_eq!(net.stack.service().0.store_counters().entry_count, 3);
}

#[test]
fn one_hundred_of_a_kind_in_flight_are_all_answered() {
    for mode in [Mode::InPlace, Mode::MemCopy, Mode::PreCopy] {
        let mut net = Net::new(mode, KeyForm::Wire);
        let asked: Vec<_> = (0..32).map(|id| query(id, "round.example", 1, EDNS[1])).collect();
        for _ in 0..3 {
            let answers = net.ask(&asked);
            assert_eq!(answers.len(), 32, "{mode:?}");
            assert!(asked.iter().zip(&answers).all(|(query, answer)| *answer == net.engine(query)));
        }
    }
}

#[test]
fn a_compressed_question_is_answered_expanded() {
    // Its pointer leads to the identifier, which looks like a label.
    let asked = b"\x02hi\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x00\x00\x01\x00\x01".to_vec();
    for key_form in [KeyForm::Wire, KeyForm::Expanded] {
        let mut net = Net::new(Mode::InPlace, key_form);
        // Flags and counts must look like a plain query's too: this one goes to the reader of whole messages.
        for answer in net.ask(std::slice::from_ref(&asked)) {
            assert_eq!(answer, net.engine(&asked));
        }
    }
}

#[test]
fn changed_zones_are_answered_from_the_next_burst_on() {
    let mut net = Net::new(Mode::PreCopy, KeyForm::Wire);
    let asked = query(1, "new.example", 1, None);
    let kept = query(1, "web.example", 1, None);
    assert_eq!(net.ask(&[asked.clone(), kept.clone()])[0][3] & 15, 3, "NXDOMAIN");
    let changed = Zones { has_changed: true, ..Zones::new("new A 192.0.2.77\nweb A 192.0.2.78\n") };
    net.catalog = Arc::clone(&changed.catalog);
    *net.stack.service_mut().0.source_mut() = changed;
    let answers = net.ask(&[asked.clone(), kept.clone()]);
    assert_eq!(answers, [net.engine(&asked), net.engine(&kept)]);
    assert_eq!(answers[1][7], 3, "the new address is there");
}

/// Eight answers a second of each kind.
fn limits(slip: u32) -> RateLimits {
    RateLimits {
        per_second: [8; 5],
        all_per_second: 0,
        slip,
        ipv4_prefix_len: 24,
        ipv6_prefix_len: 56,
        exempt: Vec::new(),
        bucket_count: 64,
    }
}

#[test]
fn beyond_the_rate_answers_are_cut_to_nothing_or_left_out_in_every_mode() {
    for mode in [Mode::InPlace, Mode::MemCopy, Mode::PreCopy] {
        let mut net = Net::new(mode, KeyForm::Wire);
        let limits = limits(2);
        let responder = &mut net.stack.service_mut().0;
        responder.set_limiter(Some(RateLimiter::new(&limits, 1)));
        let tally = Arc::new(DnsTally::default());
        responder.set_tally(Arc::clone(&tally));
        let asked: Vec<_> = (0..32).map(|id| query(id, "web.example", 1, EDNS[1])).collect();
        let answers = net.ask(&asked);
        let (cut, whole): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer[2] & 2 != 0);
        assert_eq!(whole.len(), 8, "{mode:?}");
        assert_eq!(cut.len(), 12, "every second of the other 24");
        assert!(whole.iter().zip(&asked).all(|(answer, query)| **answer == net.engine(query)));
        assert!(cut.iter().all(|answer| answer.len() == 29 && answer[6..12] == [0; 6]));
        let counted = tally.read();
        assert_eq!((counted.query_count(), counted.response_count()), (32, 20));
        assert_eq!(counted.scalars.rate_dropped_count, 12);
        net.stack.service_mut().0.frames.release(&mut net.end.pool);
        assert_eq!(net.end.pool.free_count(), 256);
    }
}

/// The OPT record's cookie, of an answer that ends with it.
fn cookie_of(answer: &[u8]) -> [u8; 24] {
    let option = answer.last_chunk::<28>().unwrap();
    assert_eq!(option[..4], [0, 10, 0, 24]);
    *option.last_chunk().unwrap()
}

#[test]
fn queries_with_options_are_answered_from_what_is_ready_and_counted() {
    for mode in [Mode::InPlace, Mode::MemCopy, Mode::PreCopy] {
        let mut net = Net::new(mode, KeyForm::Wire);
        let tally = Arc::new(DnsTally::default());
        net.stack.service_mut().0.set_tally(Arc::clone(&tally));
        net.ask(&[query(1, "web.example", 1, EDNS[1])]);
        let lists = option_lists();
        let asked: Vec<_> =
            lists.iter().map(|list| with_options(query(2, "WEB.example", 1, EDNS[1]), list)).collect();
        let answers = net.ask(&asked);
        assert!(asked.iter().zip(&answers).all(|(query, answer)| *answer == net.engine(query)), "{mode:?}");
        let known = cookie_of(&answers[0]);
        net.ask(&[with_options(query(3, "web.example", 1, EDNS[2]), &[(COOKIE, &known)])]);
        let counters = net.stack.service().0.counters();
        assert_eq!((counters.found_count, counters.ready_count), (2, 5), "{counters:?}");
        assert_eq!(counters.answered_count, 2, "a cookie of a length that there is not, and EXPIRE");
        let counted = tally.read().scalars;
        let cookies = (counted.cookie_client_only_count, counted.cookie_bad_count, counted.cookie_good_count);
        assert_eq!(cookies, (2, 1, 1), "{mode:?}");
    }
}

#[test]
fn who_shows_a_good_cookie_is_not_limited_whichever_way_the_answer_is_made() {
    let mut net = Net::new(Mode::InPlace, KeyForm::Wire);
    let limits = limits(0);
    net.stack.service_mut().0.set_limiter(Some(RateLimiter::new(&limits, 1)));
    let first = with_options(query(0, "web.example", 1, EDNS[1]), &[(COOKIE, b"client's")]);
    let known = cookie_of(&net.ask(&[first])[0]);
    // From what is ready; by the engine, because it is refused; for a name that is not there.
    for name in ["web.example", "elsewhere", "none.example"] {
        let plain: Vec<_> = (0..32).map(|id| query(id, name, 1, EDNS[1])).collect();
        assert!(net.ask(&plain).len() <= 8, "{name}");
        let shown = plain.iter().map(|query| with_options(query.clone(), &[(COOKIE, &known)]));
        assert_eq!(net.ask(&shown.collect::<Vec<_>>()).len(), 32, "{name}");
        let forged = plain.iter().map(|query| with_options(query.clone(), &[(COOKIE, &[9; 24])]));
        assert_eq!(net.ask(&forged.collect::<Vec<_>>()).len(), 0, "{name}");
    }
}

#[test]
fn one_name_has_one_limit_whatever_is_asked_of_it_and_whichever_worker() {
    let limiter = RateLimiter::new(&limits(0), 1);
    let mut sent_count = 0;
    for mode in [Mode::InPlace, Mode::MemCopy] {
        // A worker of its own, as its store has a seed of its own.
        let mut net = Net::new(mode, KeyForm::Wire);
        net.stack.service_mut().0.set_limiter(Some(limiter.clone()));
        let asked = [("web.example", None), ("WEB.example", EDNS[1]), ("web.example", EDNS[0])];
        let asked: Vec<_> =
            (0..10).map(|id| query(id, asked[id as usize % 3].0, 1, asked[id as usize % 3].1)).collect();
        sent_count += net.ask(&asked).len();
    }
    assert_eq!(sent_count, 8);
}

#[test]
fn a_slip_is_never_longer_than_its_query_and_ends_where_it_says() {
    let mut net = Net::new(Mode::InPlace, KeyForm::Wire);
    let limits = RateLimits { per_second: [1; 5], ..limits(1) };
    net.stack.service_mut().0.set_limiter(Some(RateLimiter::new(&limits, 1)));
    // A label that has another within, to which the name points back: it is longer where it is written out.
    let mut pointed = vec![0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 20, 18];
    pointed.extend([b'x'; 18]);
    pointed.extend([0, 0xc0, 13, 0, 1, 0, 1]);
    assert_eq!(net.ask(&vec![pointed; 2]).len(), 1, "the second would be longer than its query");
    // No question: what is refused has header and OPT only.
    let mut without = query(8, "web.example", 1, EDNS[1]);
    without[5] = 2;
    let answers = net.ask(&vec![without; 2]);
    assert_eq!(answers.len(), 2);
    assert_eq!((answers[1].len(), answers[1][2] & 2), (12, 2), "a header with TC and nothing behind it");
}

#[test]
fn random_names_of_one_zone_share_a_limit() {
    let mut net = Net::new(Mode::InPlace, KeyForm::Wire);
    let limits = limits(0);
    net.stack.service_mut().0.set_limiter(Some(RateLimiter::new(&limits, 1)));
    let asked: Vec<_> = (0..32).map(|id| query(id, &format!("n{id}.example"), 1, None)).collect();
    assert_eq!(net.ask(&asked).len(), 8, "NXDOMAIN");
    let asked: Vec<_> = (0..32).map(|id| query(id, &format!("n{id}.far.example"), 1, None)).collect();
    assert_eq!(net.ask(&asked).len(), 8, "referrals at one cut");
}

proptest::proptest! {
    /// Nothing that comes by UDP is answered but as the engine answers it, and nothing harms.
    #[test]
    fn any_octets_do_no_harm(
        at in proptest::collection::vec((0usize..60, proptest::prelude::any::<u8>()), 0..4),
        which in 0usize..1200,
        cut in 0usize..80,
    ) {
        let queries = queries();
        let mut asked = queries[which % queries.len()].clone();
        for (place, octet) in at {
            let len = asked.len();
            asked[place % len] = octet;
        }
        asked.truncate(cut.max(1));
        for key_form in [KeyForm::Wire, KeyForm::Expanded] {
            let mut net = Net::new(Mode::InPlace, key_form);
            let mut out = vec![0; 4096];
            let expected = whole(&net.catalog, &asked, 1232, &mut out);
            for _ in 0..2 {
                let answers = net.ask(std::slice::from_ref(&asked));
                proptest::prop_assert_eq!(answers.first().map(Vec::as_slice), expected.map(|len| &out[..len]));
            }
        }
    }
}
