//! A name server on a stack of its own, the frames that queries come to it in, and what must hold of the frames
//! that it sends. Shared by the garbage flood and by the fuzz target `dns_query`.
//!
//! A query is known by the port that it comes from: one for each place in a burst.

use crate::driver::{self, check_message};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use tidegate_base::{HashKey, Instant, Sum};
use tidegate_dns::NameServer;
use tidegate_dns::config::RrlConfig;
use tidegate_dns::cookie::Cookies;
use tidegate_dns::desk::DeskConfig;
use tidegate_dns::message::{Query, Refusal};
use tidegate_dns::name::NameBuf;
use tidegate_dns::rrl::{RateLimiter, RateLimits};
use tidegate_dns::tcp::{Bounds, Tcp, TcpShared};
use tidegate_dns::transfer::{Acl, Copied, Exchange, Relation, Relations, Rule};
use tidegate_dns::tsig::Key;
use tidegate_dns::udp::UdpConfig;
use tidegate_stack::{Interface, Limits, Ownership, Secrets, Stack, TcpConfig};
use tidegate_wire::{EtherType, EthernetHeader, IpRepr, MacAddr, Protocol, ethernet, udp};
use zerocopy::IntoBytes;

pub(crate) const SERVER_MAC: MacAddr = MacAddr([2, 0x77, 0, 0, 0, 2]);
const CLIENT_MAC: MacAddr = MacAddr([2, 0x77, 0, 0, 0, 1]);
const SERVER_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 2));
const SERVER_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2));
const MTU: usize = 1500;
/// The longest query that a frame takes, whichever the IP version.
pub(crate) const QUERY_LEN_MAX: usize = MTU - 48;
/// Ports from here on are places in a burst.
const PORT_BASE: u16 = 0x4000;

/// What a server is to be like.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) udp: UdpConfig,
    pub(crate) has_cookies: bool,
    pub(crate) rrl: RrlConfig,
}

/// The zones, with a key, somebody who may have one of them, and a copy that was never had.
pub(crate) fn exchange() -> Exchange {
    let name = |text: &str| text.parse::<NameBuf>().unwrap();
    let key = Key::parse("key.", "hmac-sha256", "bm90IGEgc2VjcmV0").unwrap();
    let anybody: Acl =
        [Rule { network: Some((Ipv4Addr::UNSPECIFIED.into(), 0)), key: None }].into_iter().collect();
    let open = Relation { allow_transfer: anybody.clone(), ..Relation::default() };
    let file = std::env::temp_dir().join(format!("tidegate-never-{}", std::process::id()));
    let copied = Copied { primaries: Vec::new(), allow_notify: anybody, file };
    let copy = Relation { copied: Some(copied), ..Relation::default() };
    let relations = Relations::new(
        [key].into_iter().collect(),
        [(name("basic.test."), open), (name("copy.test."), copy)],
    );
    let exchange = Exchange::start(relations, Default::default(), 3).unwrap();
    exchange.served().publish(driver::zones());
    exchange
}

/// A host that serves them.
pub(crate) fn stack(exchange: &Exchange, terms: &Terms) -> Stack<NameServer> {
    let cookies = Cookies::new(&[[7; 16]]).filter(|_| terms.has_cookies);
    let udp_size = terms.udp.size_max;
    let config =
        Arc::new(DeskConfig { cookies, nsid: Some(b"ns1".to_vec()), udp_size, ..DeskConfig::default() });
    let tcp = Tcp::new(TcpShared::new(Bounds::default()), exchange.desk(Arc::clone(&config)));
    let mut server = NameServer::with_udp(exchange.desk(config), tcp, terms.udp);
    let limiter = RateLimiter::new(&RateLimits::from(&terms.rrl), 5);
    server.set_limiter(Some(limiter).filter(RateLimiter::is_active));
    let interface = Interface::new(SERVER_MAC, [SERVER_V4, SERVER_V6], MTU, Ownership::Address);
    let key = HashKey::new([1; 16]);
    let secrets = Secrets { isn: key, cookie: key, flow: 1 };
    let mut stack =
        Stack::new(Instant::ZERO, interface, TcpConfig::default(), Limits::default(), &secrets, server);
    stack.listen(None, 53);
    stack
}

/// Writes the frame with `query`, the one at `place` of its burst, from `client`.
pub(crate) fn write_frame(query: &[u8], place: usize, client: IpAddr, frame: &mut Vec<u8>) {
    let (server, kind) = match client {
        IpAddr::V4(_) => (SERVER_V4, EtherType::Ipv4),
        IpAddr::V6(_) => (SERVER_V6, EtherType::Ipv6),
    };
    let ip =
        IpRepr { src: client.into(), dst: server.into(), protocol: Protocol::Udp, hop_limit: 64, ecn: 0 };
    let udp_at = ethernet::HEADER_LEN + ip.header_len();
    frame.clear();
    frame.resize(udp_at + udp::HEADER_LEN, 0);
    frame.extend_from_slice(query);
    frame[..ethernet::HEADER_LEN]
        .copy_from_slice(EthernetHeader::new(SERVER_MAC, CLIENT_MAC, kind).as_bytes());
    ip.emit(udp::HEADER_LEN + query.len(), &mut frame[ethernet::HEADER_LEN..]);
    let port = PORT_BASE + place as u16;
    udp::UdpHeader::emit(&ip, port, 53, query.len(), Sum::of(query), &mut frame[udp_at..]);
}

/// The place in its burst of the query that `frame` answers, to whom it goes, and the answer. `None`: it is no
/// answer to such a query.
pub(crate) fn read_frame(frame: &[u8]) -> Option<(usize, IpAddr, &[u8])> {
    let (ip, body) = IpRepr::parse(frame.get(ethernet::HEADER_LEN..)?).ok()?;
    if ip.protocol != Protocol::Udp {
        return None;
    }
    let (header, answer) = udp::UdpHeader::parse(body).ok()?;
    assert!(header.checksum_ok(&ip, body), "a checksum does not hold");
    let place = header.dst_port().checked_sub(PORT_BASE)?;
    (header.src_port() == 53).then_some((place.into(), ip.dst.into(), answer))
}

/// What came of a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// A whole or truncated answer.
    Answered,
    /// Nothing but header, question and perhaps OPT: it could not be served.
    Refused,
    /// Empty, with TC: it was over the rate.
    Slipped,
}

/// Holds `answer` against `query`; panics where it is not what it must be. `size_max` is the server's longest.
pub(crate) fn check(query: &[u8], answer: &[u8], size_max: usize) -> Outcome {
    let message = check_message(answer);
    assert_eq!(answer[..2], query[..2], "the answer to something else");
    let mut name = NameBuf::new();
    match Query::parse(query, &mut name) {
        Err(Refusal::Silence(silence)) => panic!("an answer to what has none: {silence:?}"),
        Err(Refusal::Reply(_)) => {
            assert!(answer.len() <= query.len(), "{} octets for {}", answer.len(), query.len());
            Outcome::Refused
        }
        Ok(asked) => {
            let limit = asked.udp_len_max(size_max);
            assert!(answer.len() <= limit, "{} octets where {limit} are allowed", answer.len());
            assert_eq!(message.header().opcode().to_int(), asked.opcode().0);
            let question = message.sole_question().expect("the question");
            assert!(question.qtype().to_int() == asked.question.rtype.0);
            assert!(question.qclass().to_int() == asked.question.class.0);
            let is_empty = answer[6..12] == [0; 6];
            if is_empty && message.header().tc() { Outcome::Slipped } else { Outcome::Answered }
        }
    }
}
