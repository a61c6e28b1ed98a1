//! A server's connection under the module, and a client made by hand.

use super::*;
use std::net::IpAddr;
use tidegate_base::{Duration, SeqNumber};
use tidegate_tcp::{Arrival, Config, Connection, Outgoing, State};
use tidegate_wire::{IpRepr, Protocol, TcpOptions};

const CLIENT_ISN: SeqNumber = SeqNumber(5000);
const SERVER_ISN: SeqNumber = SeqNumber(9000);
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

/// A client at an address, and the server's end of its connection.
struct Pair {
    now: Instant,
    config: Config,
    ip: IpRepr,
    tcb: Option<Connection>,
    delivered: Vec<u8>,
}

fn server() -> FastOpen {
    FastOpen::new(HashKey::new([7; 16]))
}

fn ip_of(client: [u8; 4]) -> IpRepr {
    let addr = |bytes: [u8; 4]| IpAddr::from(bytes).into();
    IpRepr { src: addr(client), dst: addr([10, 0, 0, 1]), protocol: Protocol::Tcp, hop_limit: 64, ecn: 0 }
}

fn header(flags: TcpFlags, seq: SeqNumber, ack: SeqNumber) -> TcpRepr {
    let is_syn = flags.contains(TcpFlags::SYN);
    let options = TcpOptions {
        mss: is_syn.then_some(1460),
        window_scale: is_syn.then_some(7),
        sack_permitted: is_syn,
        ..TcpOptions::NONE
    };
    TcpRepr { src_port: 4000, dst_port: 80, seq, ack, flags, window: 60_000, options }
}

impl Pair {
    /// A client sends its SYN with an option that holds `cookie`.
    fn open(server: &FastOpen, client: [u8; 4], cookie: Option<&[u8]>, text: &[u8]) -> Self {
        let config = Config { option: Some(server.option()), timestamps: false, ..Config::SERVER };
        let now = Instant::from_millis(1000);
        let mut pair = Self { now, config, ip: ip_of(client), tcb: None, delivered: Vec::new() };
        pair.syn(cookie, text);
        pair
    }

    fn syn(&mut self, cookie: Option<&[u8]>, text: &[u8]) {
        let mut options = Vec::new();
        if let Some(cookie) = cookie {
            options.extend([KIND, 2 + cookie.len() as u8]);
            options.extend(cookie);
        }
        let repr = header(TcpFlags::SYN, CLIENT_ISN, SeqNumber(0));
        let syn = Arrived { now: self.now, ip: &self.ip, repr: &repr, options: &options, payload: text };
        let kind = self.config.option.clone().unwrap();
        let mut tcb = Connection::accept_by_module(&self.config, &kind, &syn, SERVER_ISN).unwrap();
        tcb.take_early(&syn, &mut |bytes| self.delivered.extend(bytes));
        self.tcb = Some(tcb);
    }

    fn tcb(&mut self) -> &mut Connection {
        self.tcb.as_mut().unwrap()
    }

    fn next(&mut self) -> Option<Outgoing> {
        let (now, config) = (self.now, self.config.clone());
        let out = self.tcb().poll_transmit(now, &config, &mut |_, max| max);
        self.tcb().check_invariants(&config);
        out
    }

    /// The cookie in the SYN-ACK, if there is one.
    fn syn_ack(&mut self) -> (TcpRepr, Option<Vec<u8>>) {
        let out = self.next().unwrap();
        assert!(out.repr.flags.contains(TcpFlags::SYN.with(TcpFlags::ACK)));
        let extra = self.tcb().extra_options();
        assert_eq!(extra.len() % 4, 0);
        (out.repr, tidegate_wire::tcp::find_option(extra, KIND).map(<[u8]>::to_vec))
    }

    fn arrive(&mut self, repr: &TcpRepr, text: &[u8]) -> tidegate_tcp::Outcome {
        let (now, config) = (self.now, self.config.clone());
        let arrival = Arrival { repr, payload: text, ecn: 0 };
        let delivered = &mut self.delivered;
        let tcb = self.tcb.as_mut().unwrap();
        let outcome = tcb.on_segment(now, &config, &arrival, &mut |bytes| delivered.extend(bytes));
        tcb.check_invariants(&config);
        outcome
    }

    /// The client acknowledges so many bytes of the answer, and nothing of its own comes.
    fn ack(&mut self, answer_len: u32) -> tidegate_tcp::Outcome {
        let request_len = REQUEST.len() as u32;
        let repr = header(TcpFlags::ACK, CLIENT_ISN + 1 + request_len, SERVER_ISN + 1 + answer_len);
        self.arrive(&repr, &[])
    }
}

/// The cookie of a client that was here before.
fn cookie_of(server: &FastOpen, client: [u8; 4]) -> Vec<u8> {
    Pair::open(server, client, Some(&[]), &[]).syn_ack().1.unwrap()
}

const CLIENT: [u8; 4] = [10, 0, 0, 2];

/// A connection whose request came with its SYN.
fn early(server: &FastOpen) -> Pair {
    let cookie = cookie_of(server, CLIENT);
    Pair::open(server, CLIENT, Some(&cookie), REQUEST)
}

#[test]
fn a_client_that_asks_gets_a_cookie_and_one_that_does_not_gets_none() {
    let server = server();
    assert_eq!(cookie_of(&server, CLIENT).len(), COOKIE_LEN);
    assert_eq!(Pair::open(&server, CLIENT, None, REQUEST).syn_ack().1, None);
    assert_eq!(server.counters(), FastOpenCounters { given_count: 1, ..FastOpenCounters::default() });
}

#[test]
fn a_request_with_a_good_cookie_is_delivered_and_answered_before_the_handshake_ends() {
    let server = server();
    let mut pair = early(&server);
    assert_eq!(pair.delivered, REQUEST);
    pair.tcb().offer(4000);
    let (syn_ack, cookie) = pair.syn_ack();
    assert_eq!((syn_ack.ack, cookie), (CLIENT_ISN + 1 + REQUEST.len() as u32, None));
    let first = pair.next().unwrap();
    assert_eq!((first.offset, first.repr.seq), (0, SERVER_ISN + 1));
    let second = pair.next().unwrap();
    assert_eq!(second.offset, first.payload_len as u64);
    assert_eq!(pair.tcb().state(), State::SynReceived);
    assert_eq!(server.counters().taken_count, 1);
}

#[test]
fn the_client_acknowledges_handshake_and_answer_in_one() {
    let mut pair = early(&server());
    pair.tcb().offer(3000);
    pair.syn_ack();
    while pair.next().is_some() {}
    let outcome = pair.ack(1000);
    assert!(outcome.established && outcome.acked);
    assert_eq!(pair.tcb().acked(), 1000);
    assert_eq!(pair.tcb().state(), State::Established);
    pair.ack(3000);
    assert_eq!(pair.tcb().acked(), 3000);
}

#[test]
fn a_fin_waits_for_the_handshake() {
    let mut pair = early(&server());
    pair.tcb().offer(100);
    pair.tcb().close();
    pair.syn_ack();
    assert!(!pair.next().unwrap().repr.flags.contains(TcpFlags::FIN));
    assert!(pair.next().is_none());
    pair.ack(100);
    assert!(pair.next().unwrap().repr.flags.contains(TcpFlags::FIN));
    assert_eq!(pair.tcb().state(), State::FinWait1);
}

#[test]
fn a_cookie_of_another_address_lets_no_text_in() {
    let server = server();
    let cookie = cookie_of(&server, [10, 0, 0, 3]);
    let mut pair = Pair::open(&server, CLIENT, Some(&cookie), REQUEST);
    assert!(pair.delivered.is_empty());
    let (syn_ack, fresh) = pair.syn_ack();
    assert_eq!(syn_ack.ack, CLIENT_ISN + 1);
    assert_eq!(fresh, Some(cookie_of(&server, CLIENT)));
    assert_eq!(server.counters().refused_count, 1);
}

#[test]
fn a_cookie_of_another_key_lets_no_text_in() {
    let old = cookie_of(&FastOpen::new(HashKey::new([1; 16])), CLIENT);
    let pair = Pair::open(&server(), CLIENT, Some(&old), REQUEST);
    assert!(pair.delivered.is_empty());
}

#[test]
fn text_that_was_not_taken_comes_again_and_counts_once() {
    let mut pair = Pair::open(&server(), CLIENT, None, REQUEST);
    pair.syn_ack();
    let repr = header(TcpFlags::ACK.with(TcpFlags::PSH), CLIENT_ISN + 1, SERVER_ISN + 1);
    assert!(pair.arrive(&repr, REQUEST).established);
    assert_eq!(pair.delivered, REQUEST);
}

#[test]
fn a_syn_that_comes_again_is_answered_and_its_text_not_delivered_twice() {
    let mut pair = early(&server());
    pair.syn_ack();
    let repr = header(TcpFlags::SYN, CLIENT_ISN, SeqNumber(0));
    pair.arrive(&repr, &[]);
    let (syn_ack, _) = pair.syn_ack();
    assert_eq!(syn_ack.ack, CLIENT_ISN + 1 + REQUEST.len() as u32);
    assert_eq!(pair.delivered, REQUEST);
}

#[test]
fn a_lost_syn_ack_is_sent_again_and_a_lost_answer_after_it() {
    let mut pair = early(&server());
    pair.tcb().offer(500);
    pair.syn_ack();
    pair.next().unwrap();
    pair.now = pair.tcb().deadline();
    let (now, config) = (pair.now, pair.config.clone());
    pair.tcb().on_timer(now, &config);
    pair.syn_ack();
    assert!(pair.next().is_none());
    // The client has the SYN-ACK and not the answer.
    assert!(pair.ack(0).established);
    for _ in 0..3 {
        pair.now = pair.tcb().deadline();
        let now = pair.now;
        pair.tcb().on_timer(now, &config);
        if let Some(again) = pair.next() {
            assert_eq!((again.offset, again.payload_len), (0, 500));
            pair.now += Duration::from_millis(10);
            pair.ack(500);
            assert_eq!(pair.tcb().acked(), 500);
            return;
        }
    }
    panic!("never sent again");
}

#[test]
fn an_acknowledgement_of_what_was_not_sent_is_refused() {
    let mut pair = early(&server());
    pair.tcb().offer(100);
    pair.syn_ack();
    pair.next().unwrap();
    assert!(pair.ack(101).reply_reset);
    assert_eq!(pair.tcb().state(), State::SynReceived);
}

#[test]
fn nothing_of_it_is_left_once_the_handshake_is_complete() {
    let mut pair = early(&server());
    assert!(pair.tcb().has_module());
    pair.syn_ack();
    pair.ack(0);
    assert!(!pair.tcb().has_module());
}
