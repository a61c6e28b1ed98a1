//! A module that numbers segments, and what a connection does for it.

use super::*;
use crate::{Arrival, State};
use std::net::IpAddr;
use tidegate_wire::{Protocol, TcpOptions};

/// Of experiments (RFC 4727).
const KIND: u8 = 253;

/// Counts what leaves, and takes only what is numbered.
#[derive(Debug, Default)]
struct Numbering {
    count: u16,
}

impl OptionModule for Numbering {
    fn on_segment(&mut self, segment: &Arrived<'_>) -> bool {
        segment.option(KIND).is_some_and(|body| body.len() == 2)
    }

    fn write(&mut self, _now: Instant, _header: &TcpRepr, out: &mut OptionWriter) {
        self.count += 1;
        out.push(KIND, &self.count.to_be_bytes());
    }
}

fn config() -> Config {
    let start = || -> Box<dyn OptionModule> { Box::<Numbering>::default() };
    let option = OptionKind { name: "numbering", data_room: 4, start: Arc::new(start) };
    Config { option: Some(option), ..Config::SERVER }
}

fn ip() -> IpRepr {
    let addr = |n: u8| IpAddr::from([10, 0, 0, n]).into();
    IpRepr { src: addr(2), dst: addr(1), protocol: Protocol::Tcp, hop_limit: 64, ecn: 0 }
}

fn header(flags: TcpFlags, seq: u32, ack: u32) -> TcpRepr {
    let options = TcpOptions { mss: Some(1460), ..TcpOptions::NONE };
    let options = if flags.contains(TcpFlags::SYN) { options } else { TcpOptions::NONE };
    TcpRepr {
        src_port: 1,
        dst_port: 2,
        seq: SeqNumber(seq),
        ack: SeqNumber(ack),
        flags,
        window: 60_000,
        options,
    }
}

fn arrived<'a>(ip: &'a IpRepr, repr: &'a TcpRepr, options: &'a [u8]) -> Arrived<'a> {
    Arrived { now: Instant::from_millis(1), ip, repr, options, payload: &[] }
}

/// An established server connection, its SYN-ACK taken.
fn established(config: &Config) -> Connection {
    let (ip, syn) = (ip(), header(TcpFlags::SYN, 100, 0));
    let kind = config.option.as_ref().unwrap();
    let syn = arrived(&ip, &syn, &[]);
    let mut tcb = Connection::accept_by_module(config, kind, &syn, SeqNumber(500)).unwrap();
    let now = syn.now;
    assert!(tcb.poll_transmit(now, config, &mut |_, max| max).is_some());
    assert_eq!(tcb.extra_options(), [KIND, 4, 0, 1]);
    let ack = header(TcpFlags::ACK, 101, 501);
    tcb.on_segment(now, config, &Arrival { repr: &ack, payload: &[], ecn: 0 }, &mut |_| ());
    assert_eq!(tcb.state(), State::Established);
    tcb
}

#[test]
fn every_segment_has_what_the_module_wrote_and_data_makes_room_for_it() {
    let config = config();
    let mut tcb = established(&config);
    tcb.offer(5000);
    let now = Instant::from_millis(2);
    for n in 2..4 {
        let out = tcb.poll_transmit(now, &config, &mut |_, max| max).unwrap();
        assert_eq!(out.payload_len, 1460 - 4);
        assert_eq!(tcb.extra_options(), [KIND, 4, 0, n]);
    }
}

#[test]
fn a_segment_that_the_module_refuses_is_not_admitted() {
    let config = config();
    let mut tcb = established(&config);
    let (ip, ack) = (ip(), header(TcpFlags::ACK, 101, 501));
    assert!(!tcb.is_admitted(&arrived(&ip, &ack, &[])));
    assert!(tcb.is_admitted(&arrived(&ip, &ack, &[KIND, 4, 0, 9])));
}

#[test]
fn options_are_written_into_the_room_that_there_is_and_no_further() {
    let mut out = OptionWriter::new(12);
    assert_eq!(out.room(), 10);
    assert!(!out.push(KIND, &[0; 11]));
    assert!(out.push(KIND, &[7; 4]));
    assert_eq!(out.as_slice(), [1, 1, KIND, 6, 7, 7, 7, 7]);
    assert!(!out.push(KIND, &[0; 4]));
    assert!(out.push(KIND, &[]));
    assert_eq!(out.as_slice().len(), 12);
}

#[test]
fn options_of_tcp_itself_are_not_a_modules() {
    let mut out = OptionWriter::new(40);
    for kind in KINDS_OF_TCP {
        assert!(!out.push(kind, &[0; 2]), "{kind}");
    }
}

#[test]
fn a_listener_without_a_module_has_no_box() {
    let tcb = Connection::accept(
        Instant::from_millis(1),
        &Config::SERVER,
        &header(TcpFlags::SYN, 1, 0),
        SeqNumber(1),
    );
    assert!(!tcb.has_module() && tcb.extra_options().is_empty());
}
