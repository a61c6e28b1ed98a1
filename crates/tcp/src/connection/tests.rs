//! A connection by its segments: each test hands one in and looks at what comes out.
use super::*;
use crate::{Closed, KeepAlive, Outgoing};
use tidegate_base::Duration;
use tidegate_wire::{SackBlock, SackBlocks, TcpFlags, TcpOptions, Timestamps};

const ISN: u32 = 1000;
const PEER_ISN: u32 = 5000;
const ACK: TcpFlags = TcpFlags::ACK;
const FIN_ACK: TcpFlags = TcpFlags::FIN.with(TcpFlags::ACK);
const PSH_ACK: TcpFlags = TcpFlags::PSH.with(TcpFlags::ACK);

/// A connection under test, and the clock.
struct Bench {
    config: Config,
    now: Instant,
    connection: Connection,
    received: Vec<u8>,
}

fn config() -> Config {
    Config { timestamps: false, ecn: false, ..Config::SERVER }
}

fn segment(seq: u32, ack: u32, flags: TcpFlags) -> TcpRepr {
    TcpRepr {
        src_port: 0,
        dst_port: 0,
        seq: SeqNumber(PEER_ISN + seq),
        ack: SeqNumber(ISN + ack),
        flags,
        window: 65535,
        options: TcpOptions::NONE,
    }
}

fn syn() -> TcpRepr {
    let options =
        TcpOptions { mss: Some(1460), window_scale: Some(7), sack_permitted: true, ..TcpOptions::NONE };
    TcpRepr { options, ..segment(0, 0, TcpFlags::SYN) }
}

impl Bench {
    fn accept(config: Config, syn: &TcpRepr) -> Self {
        let now = Instant::from_millis(10_000);
        let connection = Connection::accept(now, &config, syn, SeqNumber(ISN));
        Self { config, now, connection, received: Vec::new() }
    }

    /// An established server connection: both sides are at sequence number 1.
    fn established_with(config: Config) -> Self {
        let mut bench = Self::accept(config, &syn());
        bench.poll().expect("a SYN-ACK");
        assert!(bench.give(&segment(1, 1, TcpFlags::ACK), b"").established);
        bench
    }

    fn established() -> Self {
        Self::established_with(config())
    }

    fn give(&mut self, repr: &TcpRepr, payload: &[u8]) -> Outcome {
        self.give_marked(repr, payload, 0)
    }

    fn give_marked(&mut self, repr: &TcpRepr, payload: &[u8], ecn: u8) -> Outcome {
        let received = &mut self.received;
        let outcome = self.connection.on_segment(
            self.now,
            &self.config,
            &Arrival { repr, payload, ecn },
            &mut |bytes| received.extend_from_slice(bytes),
        );
        self.connection.check_invariants(&self.config);
        outcome
    }

    fn poll(&mut self) -> Option<Outgoing> {
        let out = self.connection.poll_transmit(self.now, &self.config, &mut |_, max| max);
        self.connection.check_invariants(&self.config);
        out
    }

    fn poll_all(&mut self) -> Vec<Outgoing> {
        std::iter::from_fn(|| self.poll()).collect()
    }

    fn wait(&mut self, span: Duration) -> Outcome {
        self.now += span;
        self.connection.on_timer(self.now, &self.config)
    }

    fn window_mss(&self) -> u32 {
        self.connection.window.mss
    }

    /// Waits for the next timer.
    fn wait_timer(&mut self) -> Outcome {
        self.now = self.now.max(self.connection.deadline());
        self.connection.on_timer(self.now, &self.config)
    }
}

fn at(out: &Outgoing) -> (u32, u32, TcpFlags, usize) {
    (
        out.repr.seq.since(SeqNumber(ISN)),
        out.repr.ack.since(SeqNumber(PEER_ISN)),
        out.repr.flags,
        out.payload_len,
    )
}

#[test]
fn syn_ack_carries_what_both_sides_have() {
    let mut bench = Bench::accept(config(), &syn());
    let out = bench.poll().expect("a SYN-ACK");
    assert_eq!(at(&out), (0, 1, TcpFlags::SYN.with(TcpFlags::ACK), 0));
    assert_eq!(out.repr.options.mss, Some(1460));
    assert!(out.repr.options.sack_permitted && out.repr.options.window_scale.is_some());
    assert!(out.repr.options.timestamps.is_none());
    assert!(bench.poll().is_none());
}

#[test]
fn response_is_one_segment_that_acknowledges_and_closes() {
    let mut bench = Bench::established();
    bench.give(&segment(1, 1, PSH_ACK), b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(bench.received, b"GET / HTTP/1.1\r\n\r\n");
    bench.connection.consumed(&bench.config, 18);
    bench.connection.offer(900);
    bench.connection.close();
    let out = bench.poll_all();
    assert_eq!(out.len(), 1);
    assert_eq!(at(&out[0]), (1, 19, PSH_ACK.with(TcpFlags::FIN), 900));
    assert_eq!(bench.connection.state(), State::FinWait1);
}

#[test]
fn a_lone_segment_is_acknowledged_late_and_a_second_at_once() {
    let mut bench = Bench::established();
    bench.give(&segment(1, 1, ACK), b"a");
    assert!(bench.poll().is_none());
    bench.wait(bench.config.ack_delay);
    assert_eq!(bench.poll().map(|out| at(&out)), Some((1, 2, ACK, 0)));
    bench.give(&segment(2, 1, ACK), b"b");
    bench.give(&segment(3, 1, ACK), b"c");
    assert_eq!(bench.poll().map(|out| at(&out)), Some((1, 4, ACK, 0)));
}

#[test]
fn early_text_is_reported_and_waits() {
    let mut bench = Bench::established();
    bench.give(&segment(4, 1, ACK), b"def");
    let out = bench.poll().expect("a duplicate acknowledgement");
    assert_eq!(at(&out), (1, 1, ACK, 0));
    let block = SackBlock { start: SeqNumber(PEER_ISN + 4), end: SeqNumber(PEER_ISN + 7) };
    assert_eq!(out.repr.options.sack.as_slice(), [block]);
    bench.give(&segment(1, 1, ACK), b"abc");
    assert_eq!(bench.received, b"abcdef");
    assert_eq!(bench.poll().map(|out| at(&out)), Some((1, 7, ACK, 0)));
    assert!(bench.connection.reassembly.is_none());
}

#[test]
fn bytes_that_came_twice_are_reported() {
    let mut bench = Bench::established();
    bench.give(&segment(1, 1, ACK), b"abc");
    bench.give(&segment(1, 1, ACK), b"abc");
    assert_eq!(bench.received, b"abc");
    let out = bench.poll().expect("an acknowledgement");
    let block = SackBlock { start: SeqNumber(PEER_ISN + 1), end: SeqNumber(PEER_ISN + 4) };
    assert_eq!(out.repr.options.sack.as_slice(), [block]);
    assert!(bench.connection.reassembly.is_none());
}

#[test]
fn timeout_sends_again_and_backs_off() {
    let mut bench = Bench::established();
    bench.connection.offer(100);
    assert_eq!(bench.poll_all().len(), 1);
    let first = bench.connection.deadline().since(bench.now);
    bench.wait_timer();
    let out = bench.poll_all();
    assert_eq!(out.len(), 1);
    assert_eq!(at(&out[0]), (1, 1, PSH_ACK, 100));
    let second = bench.connection.deadline().since(bench.now);
    assert!(second >= first.saturating_mul(2), "{first:?} then {second:?}");
    assert!(bench.give(&segment(1, 101, ACK), b"").acked);
    assert_eq!(bench.connection.acked(), 100);
    assert_eq!(bench.connection.deadline(), Instant::FAR_FUTURE);
    assert!(bench.connection.recovery.is_none());
}

#[test]
fn silence_ends_the_connection() {
    let mut bench = Bench::established();
    bench.connection.offer(100);
    let begin = bench.now;
    let closed = loop {
        bench.poll_all();
        if let Some(closed) = bench.wait_timer().closed {
            break closed;
        }
    };
    assert_eq!(closed, Closed::TimedOut);
    assert!(bench.now.since(begin) >= bench.config.user_timeout);
    assert_eq!(bench.poll().map(|out| out.repr.flags), Some(TcpFlags::RST.with(ACK)));
    assert!(bench.connection.is_finished());
}

fn sack(start: u32, end: u32) -> TcpOptions {
    let mut blocks = SackBlocks::NONE;
    blocks.push(SackBlock { start: SeqNumber(ISN + start), end: SeqNumber(ISN + end) });
    TcpOptions { sack: blocks, ..TcpOptions::NONE }
}

#[test]
fn sacked_segments_reveal_the_lost_one() {
    let mut bench = Bench::established();
    bench.connection.offer(14600);
    assert_eq!(bench.poll_all().len(), 10);
    bench.give(&TcpRepr { options: sack(1461, 2921), ..segment(1, 1, ACK) }, b"");
    bench.give(&TcpRepr { options: sack(1461, 4381), ..segment(1, 1, ACK) }, b"");
    assert!(bench.poll().is_none());
    bench.give(&TcpRepr { options: sack(1461, 5841), ..segment(1, 1, ACK) }, b"");
    let out = bench.poll_all();
    assert_eq!(out.iter().map(at).collect::<Vec<_>>(), [(1, 1, ACK, 1460)]);
    assert!(bench.connection.window.cwnd < 14600);
    bench.give(&segment(1, 14601, ACK), b"");
    assert!(bench.connection.recovery.is_none());
}

#[test]
fn blocks_that_ride_on_data_count_as_well() {
    let mut bench = Bench::established();
    bench.connection.offer(14600);
    bench.poll_all();
    bench.give(&TcpRepr { options: sack(1461, 5841), ..segment(1, 1, ACK) }, b"data");
    assert_eq!(bench.poll_all().first().map(at), Some((1, 5, ACK, 1460)));
}

#[test]
fn limited_transmit_sends_new_data_on_early_duplicates() {
    // RFC 3042: without SACK, the first two duplicates let a new segment out each.
    let mut bench = Bench::established_with(Config { sack: false, ..config() });
    bench.connection.offer(100_000);
    assert_eq!(bench.poll_all().len(), 10);
    for _ in 0..2 {
        bench.give(&segment(1, 1, ACK), b"");
        assert_eq!(bench.poll_all().len(), 1);
    }
    bench.give(&segment(1, 1, ACK), b"");
    assert_eq!(bench.poll_all().first().map(at), Some((1, 1, ACK, 1460)));
}

#[test]
fn partial_acknowledgement_sends_the_next_hole() {
    let mut bench = Bench::established_with(Config { sack: false, ..config() });
    bench.connection.offer(14600);
    bench.poll_all();
    for _ in 0..3 {
        bench.give(&segment(1, 1, ACK), b"");
    }
    assert_eq!(bench.poll_all().len(), 1);
    bench.give(&segment(1, 2921, ACK), b"");
    assert_eq!(bench.poll_all().first().map(at), Some((2921, 1, ACK, 1460)));
}

#[test]
fn blind_reset_in_the_window_is_challenged() {
    let mut bench = Bench::established();
    let outcome = bench.give(&segment(2, 1, TcpFlags::RST), b"");
    assert!(outcome.closed.is_none());
    assert_eq!(bench.poll().map(|out| at(&out)), Some((1, 1, ACK, 0)));
    assert_eq!(bench.give(&segment(1, 1, TcpFlags::RST), b"").closed, Some(Closed::Reset));
}

#[test]
fn a_syn_in_the_window_is_challenged_at_a_limited_rate() {
    let mut bench = Bench::established();
    for _ in 0..5 {
        bench.give(&segment(2, 1, TcpFlags::SYN), b"");
    }
    assert_eq!(bench.poll_all().len(), 1);
    bench.give(&segment(2, 1, TcpFlags::SYN), b"");
    assert!(bench.poll_all().is_empty());
    bench.wait(Duration::from_millis(150));
    bench.give(&segment(2, 1, TcpFlags::SYN), b"");
    assert_eq!(bench.poll_all().len(), 1);
}

#[test]
fn four_way_close_ends_in_time_wait() {
    let mut bench = Bench::established();
    bench.connection.close();
    assert_eq!(bench.poll().map(|out| at(&out)), Some((1, 1, FIN_ACK, 0)));
    bench.give(&segment(1, 2, ACK), b"");
    assert_eq!(bench.connection.state(), State::FinWait2);
    bench.give(&segment(1, 2, ACK), b"late");
    assert_eq!(bench.received, b"late");
    let outcome = bench.give(&segment(5, 2, FIN_ACK), b"");
    assert_eq!((outcome.closed, outcome.peer_closed), (Some(Closed::Finished), true));
    assert!(!bench.connection.is_finished());
    assert_eq!(bench.poll().map(|out| at(&out)), Some((2, 6, ACK, 0)));
    assert!(bench.connection.is_finished());
    assert!(bench.connection.time_wait().is_some());
}

#[test]
fn simultaneous_close_goes_through_closing() {
    let mut bench = Bench::established();
    bench.connection.close();
    bench.poll_all();
    bench.give(&segment(1, 1, FIN_ACK), b"");
    assert_eq!(bench.connection.state(), State::Closing);
    assert_eq!(bench.poll().map(|out| at(&out)), Some((2, 2, ACK, 0)));
    let outcome = bench.give(&segment(2, 2, ACK), b"");
    assert_eq!((bench.connection.state(), outcome.closed), (State::TimeWait, Some(Closed::Finished)));
}

#[test]
fn passive_close_ends_with_the_last_acknowledgement() {
    let mut bench = Bench::established();
    bench.give(&segment(1, 1, FIN_ACK), b"");
    assert_eq!(bench.connection.state(), State::CloseWait);
    bench.connection.offer(10);
    bench.connection.close();
    assert_eq!(bench.poll().map(|out| at(&out)), Some((1, 2, PSH_ACK.with(TcpFlags::FIN), 10)));
    let outcome = bench.give(&segment(2, 12, ACK), b"");
    assert_eq!((bench.connection.state(), outcome.closed), (State::Closed, Some(Closed::Finished)));
    assert!(bench.connection.is_finished());
}

#[test]
fn fin_while_window_closed() {
    let mut bench = Bench::established();
    bench.give(&TcpRepr { window: 0, ..segment(1, 1, ACK) }, b"");
    bench.connection.close();
    assert!(bench.poll().is_none());
    bench.wait_timer();
    let probe = bench.poll().expect("a probe");
    assert_eq!(at(&probe), (0, 1, ACK, 0));
    bench.give(&TcpRepr { window: 512, ..segment(1, 1, ACK) }, b"");
    assert_eq!(bench.poll().map(|out| at(&out)), Some((1, 1, FIN_ACK, 0)));
}

#[test]
fn a_window_that_never_opens_ends_the_connection() {
    let mut bench = Bench::established();
    let shut = TcpRepr { window: 0, ..segment(1, 1, ACK) };
    bench.give(&shut, b"");
    bench.connection.offer(10);
    let begin = bench.now;
    let closed = loop {
        if !bench.poll_all().is_empty() {
            bench.give(&shut, b"");
        }
        if let Some(closed) = bench.wait_timer().closed {
            break closed;
        }
    };
    assert_eq!(closed, Closed::TimedOut);
    assert!(bench.now.since(begin) >= bench.config.zero_window_timeout);
}

#[test]
fn a_small_window_is_used_after_the_override_timeout() {
    let mut bench = Bench::established();
    bench.give(&TcpRepr { window: 1, ..segment(1, 1, ACK) }, b"");
    bench.connection.offer(1000);
    assert!(bench.poll().is_none(), "128 bytes of 8 MB are not worth a segment");
    bench.wait_timer();
    assert_eq!(bench.poll().map(|out| at(&out)), Some((1, 1, ACK, 128)));
}

#[test]
fn nothing_is_accepted_beyond_the_window() {
    let mut bench = Bench::established_with(Config { receive_window: 4, ..config() });
    bench.give(&segment(1, 1, ACK), b"abcdef");
    assert_eq!(bench.received, b"abcd");
    let out = bench.poll_all();
    assert!(out.is_empty() || out[0].repr.window == 0);
    assert_eq!(bench.give(&segment(5, 1, ACK), b"e").drop, Some(tidegate_base::DropReason::OutOfWindow));
    assert_eq!(bench.poll().map(|out| (at(&out), out.repr.window)), Some(((1, 5, ACK, 0), 0)));
    bench.connection.consumed(&bench.config, 4);
    assert_eq!(bench.poll().map(|out| (at(&out), out.repr.window)), Some(((1, 5, ACK, 0), 4)));
}

fn stamped(repr: TcpRepr, value: u32, echo: u32) -> TcpRepr {
    TcpRepr { options: TcpOptions { timestamps: Some(Timestamps { value, echo }), ..repr.options }, ..repr }
}

fn established_with_timestamps() -> Bench {
    let config = Config { timestamps: true, ..config() };
    let mut bench = Bench::accept(config, &stamped(syn(), 100, 0));
    bench.poll().expect("a SYN-ACK");
    bench.give(&stamped(segment(1, 1, ACK), 100, 10_000), b"");
    bench
}

#[test]
fn a_stale_timestamp_is_dropped_and_answered() {
    let mut bench = established_with_timestamps();
    assert_eq!(bench.window_mss(), 1448);
    let outcome = bench.give(&stamped(segment(1, 1, ACK), 99, 10_000), b"old");
    assert_eq!(outcome.drop, Some(tidegate_base::DropReason::StaleTimestamp));
    assert_eq!(bench.poll().map(|out| out.repr.options.timestamps.map(|ts| ts.echo)), Some(Some(100)));
    assert!(bench.received.is_empty());
}

#[test]
fn a_needless_timeout_is_undone() {
    let mut bench = established_with_timestamps();
    bench.connection.offer(5 * 1448);
    bench.poll_all();
    let cwnd = bench.connection.window.cwnd;
    bench.wait(Duration::from_secs(2));
    bench.wait(Duration::from_secs(2));
    assert!(!bench.poll_all().is_empty());
    assert_eq!(bench.connection.window.cwnd, bench.window_mss());
    // The peer's acknowledgement of the original echoes a stamp from before.
    bench.give(&stamped(segment(1, 1 + 1448, ACK), 5000, 10_000), b"");
    assert_eq!(bench.connection.window.cwnd, cwnd);
    assert!(bench.poll_all().is_empty(), "nothing more is sent again");
}

#[test]
fn a_tail_loss_is_probed_within_two_round_trips() {
    let mut bench = Bench::established();
    bench.connection.offer(100);
    bench.poll_all();
    bench.now += Duration::from_millis(20);
    bench.give(&segment(1, 101, ACK), b"");
    bench.connection.offer(5 * 1460);
    bench.poll_all();
    let probe_at = bench.connection.deadline().since(bench.now);
    assert!(probe_at < Duration::from_millis(100), "{probe_at:?}");
    bench.wait_timer();
    let out = bench.poll_all();
    assert_eq!(out.iter().map(at).collect::<Vec<_>>(), [(101 + 4 * 1460, 1, PSH_ACK, 1460)]);
}

#[test]
fn a_probe_repeats_what_is_answered_at_once_rather_than_sending_more() {
    let mut bench = Bench::established();
    bench.now += Duration::from_millis(20);
    bench.connection.offer(1 << 20);
    let flight = bench.poll_all();
    bench.wait_timer();
    let out = bench.poll_all();
    assert_eq!(out.iter().map(at).collect::<Vec<_>>(), [at(flight.last().expect("a flight"))]);
}

#[test]
fn recovery_is_probed_by_its_oldest_segment() {
    let mut bench = Bench::established();
    bench.connection.offer(100);
    bench.poll_all();
    bench.now += Duration::from_millis(1);
    bench.give(&segment(1, 101, ACK), b"");
    bench.connection.offer(8 * 1460);
    bench.poll_all();
    bench.now += Duration::from_millis(1);
    // The first of eight is lost, and so is the only acknowledgement of its repetition.
    bench.give(&TcpRepr { options: sack(101 + 1460, 101 + 8 * 1460), ..segment(1, 101, ACK) }, b"");
    assert_eq!(bench.poll_all().iter().map(at).collect::<Vec<_>>(), [(101, 1, ACK, 1460)]);
    assert!(bench.connection.deadline().since(bench.now) < Duration::from_millis(10));
    bench.wait_timer();
    assert_eq!(bench.poll_all().iter().map(at).collect::<Vec<_>>(), [(101, 1, ACK, 1460)]);
    // One probe; then the retransmission timer has its turn.
    assert!(bench.connection.deadline().since(bench.now) > Duration::from_millis(100));
    let cwnd = bench.connection.window.cwnd;
    bench.give(&segment(1, 101 + 8 * 1460, ACK), b"");
    assert_eq!(bench.connection.window.cwnd, cwnd);
}

#[test]
fn a_congestion_mark_is_echoed_until_answered() {
    let ecn_syn = TcpRepr { flags: TcpFlags::SYN.with(TcpFlags::ECE).with(TcpFlags::CWR), ..syn() };
    let mut bench = Bench::accept(Config { ecn: true, ..config() }, &ecn_syn);
    assert_eq!(bench.poll().map(|out| out.repr.flags.contains(TcpFlags::ECE)), Some(true));
    bench.give(&segment(1, 1, ACK), b"");
    bench.give_marked(&segment(1, 1, ACK), b"x", 3);
    assert_eq!(bench.poll().map(|out| out.repr.flags), Some(ACK.with(TcpFlags::ECE)));
    bench.give(&segment(2, 1, ACK.with(TcpFlags::CWR)), b"y");
    bench.connection.offer(1);
    assert_eq!(bench.poll().map(|out| (out.repr.flags, out.ecn)), Some((PSH_ACK, 2)));
}

#[test]
fn a_congestion_echo_halves_the_window_once() {
    let ecn_syn = TcpRepr { flags: TcpFlags::SYN.with(TcpFlags::ECE).with(TcpFlags::CWR), ..syn() };
    let mut bench = Bench::accept(Config { ecn: true, ..config() }, &ecn_syn);
    bench.poll();
    bench.give(&segment(1, 1, ACK), b"");
    bench.connection.offer(100_000);
    bench.poll_all();
    let ece = ACK.with(TcpFlags::ECE);
    bench.give(&segment(1, 1461, ece), b"");
    let reduced = bench.connection.window.cwnd;
    assert!(reduced < 14600);
    bench.give(&segment(1, 2921, ece), b"");
    assert!(bench.connection.window.cwnd >= reduced);
    bench.give(&segment(1, 14601, ece), b"");
    assert!(bench.poll_all()[0].repr.flags.contains(TcpFlags::CWR));
}

#[test]
fn a_smaller_path_mtu_sends_again_without_slowing_down() {
    let mut bench = Bench::established();
    bench.connection.offer(2920);
    bench.poll_all();
    let ssthresh = bench.connection.window.ssthresh;
    assert!(!bench.connection.on_path_mtu(&bench.config, SeqNumber(ISN + 9999), 1200));
    assert!(bench.connection.on_path_mtu(&bench.config, SeqNumber(ISN + 1), 1200));
    let out = bench.poll_all();
    assert_eq!(out.iter().map(|out| out.payload_len).collect::<Vec<_>>(), [1200, 1200, 520]);
    assert_eq!(bench.connection.window.ssthresh, ssthresh);
}

#[test]
fn keep_alive_ends_a_vanished_peer() {
    let keep_alive =
        KeepAlive { idle: Duration::from_secs(10), interval: Duration::from_secs(1), probe_count_max: 3 };
    let mut bench = Bench::established_with(Config { keep_alive: Some(keep_alive), ..config() });
    for _ in 0..3 {
        assert!(bench.wait_timer().closed.is_none());
        assert_eq!(bench.poll().map(|out| at(&out)), Some((0, 1, ACK, 0)));
    }
    assert_eq!(bench.wait_timer().closed, Some(Closed::TimedOut));
}

#[test]
fn a_client_is_refused_by_a_reset() {
    let now = Instant::ZERO;
    let config = config();
    let mut client = Connection::connect(now, &config, SeqNumber(ISN));
    let syn = client.poll_transmit(now, &config, &mut |_, max| max).expect("a SYN");
    let repr = crate::reset::reply(&syn.repr, 0).expect("a RST");
    let outcome =
        client.on_segment(now, &config, &Arrival { repr: &repr, payload: b"", ecn: 0 }, &mut |_| {});
    assert_eq!(outcome.closed, Some(Closed::Refused));
}

#[test]
fn the_window_halves_after_an_idle_time() {
    let mut bench = Bench::established();
    bench.connection.offer(1);
    bench.poll_all();
    bench.give(&segment(1, 2, ACK), b"");
    bench.connection.window.cwnd = 1_000_000;
    bench.wait(Duration::from_secs(5));
    bench.connection.offer(1_000_000);
    assert_eq!(bench.poll_all().len(), 10);
}

#[test]
fn acknowledging_what_was_never_sent_is_challenged() {
    let mut bench = Bench::established();
    let outcome = bench.give(&segment(1, 500, ACK), b"abc");
    assert_eq!(outcome.drop, Some(tidegate_base::DropReason::ChallengeAck));
    assert!(bench.received.is_empty());
    assert_eq!(bench.poll().map(|out| at(&out)), Some((1, 1, ACK, 0)));
}

#[test]
fn a_syn_sent_again_is_answered_by_the_syn_ack_again() {
    let mut bench = Bench::accept(config(), &syn());
    let first = bench.poll().expect("a SYN-ACK");
    bench.give(&syn(), b"");
    assert_eq!(bench.poll(), Some(first));
}

#[test]
fn a_handshake_that_is_never_completed_is_given_up() {
    let mut bench = Bench::accept(config(), &syn());
    let mut count = 0;
    let closed = loop {
        count += bench.poll_all().len();
        if let Some(closed) = bench.wait_timer().closed {
            break closed;
        }
    };
    assert_eq!((closed, count), (Closed::TimedOut, 1 + usize::from(config().syn_ack_retries)));
    assert!(bench.connection.deadline() == Instant::FAR_FUTURE);
}

#[test]
fn a_wrong_acknowledgement_in_syn_received_asks_for_a_reset() {
    let mut bench = Bench::accept(config(), &syn());
    bench.poll();
    assert!(bench.give(&segment(1, 77, ACK), b"").reply_reset);
    assert!(bench.give(&segment(1, 1, ACK), b"").established);
}

#[test]
fn a_lost_syn_leaves_a_window_of_one_segment() {
    let mut bench = Bench::accept(config(), &syn());
    bench.poll();
    bench.wait_timer();
    bench.poll();
    bench.give(&segment(1, 1, ACK), b"");
    bench.connection.offer(10_000);
    assert_eq!(bench.poll_all().len(), 1);
}

#[test]
fn nagle_holds_a_small_segment_while_data_is_in_flight() {
    let mut bench = Bench::established_with(Config { nagle: true, ..config() });
    bench.connection.offer(100);
    assert_eq!(bench.poll_all().len(), 1);
    bench.connection.offer(100);
    assert!(bench.poll().is_none());
    bench.give(&segment(1, 101, ACK), b"");
    assert_eq!(bench.poll_all().len(), 1);
}

#[test]
fn the_window_reopens_by_worthwhile_steps() {
    let mut bench = Bench::established_with(Config { receive_window: 20_000, ..config() });
    bench.give(&segment(1, 1, ACK), &[7; 1000]);
    bench.wait(bench.config.ack_delay);
    let first = bench.poll().expect("an acknowledgement").repr.window;
    assert_eq!(first, 19_000);
    bench.connection.consumed(&bench.config, 500);
    assert!(bench.poll().is_none(), "500 bytes are not worth a segment");
    bench.give(&segment(1001, 1, ACK), &[7; 19_000]);
    bench.poll_all();
    bench.connection.consumed(&bench.config, 19_000);
    assert_eq!(bench.poll().map(|out| out.repr.window), Some(19_500));
}

#[test]
fn retransmissions_lost_as_well_are_sent_once_more() {
    let mut bench = Bench::established();
    bench.connection.offer(1_000_000);
    bench.poll_all();
    bench.now += Duration::from_millis(20);
    bench.give(&TcpRepr { options: sack(1461, 5841), ..segment(1, 1, ACK) }, b"");
    assert_eq!(bench.poll_all().first().map(at), Some((1, 1, ACK, 1460)));
    // New data, sent after the retransmission, arrives; the retransmission does not.
    let sent = bench.connection.send.nxt.since(SeqNumber(ISN));
    bench.give(&TcpRepr { options: sack(1461, sent), ..segment(1, 1, ACK) }, b"");
    let more = bench.poll_all();
    assert!(more.iter().all(|out| at(out).0 != 1), "it has not had its round trip yet: {more:?}");
    bench.now += Duration::from_millis(30);
    let end = bench.connection.send.nxt.since(SeqNumber(ISN));
    bench.give(&TcpRepr { options: sack(1461, end), ..segment(1, 1, ACK) }, b"");
    assert_eq!(bench.poll_all().first().map(at), Some((1, 1, ACK, 1460)));
}

#[test]
fn a_retransmission_overtaken_by_a_later_one_is_lost() {
    let mut bench = Bench::established();
    bench.connection.offer(14_600);
    bench.poll_all();
    bench.now += Duration::from_millis(20);
    let mut options = sack(4381, 14_601);
    options.sack.push(sack(1461, 2921).sack.as_slice()[0]);
    bench.give(&TcpRepr { options, ..segment(1, 1, ACK) }, b"");
    assert_eq!(bench.poll_all().iter().map(|out| at(out).0).collect::<Vec<_>>(), [1, 2921]);
    bench.now += Duration::from_millis(20);
    bench.give(&TcpRepr { options: sack(1461, 14_601), ..segment(1, 1, ACK) }, b"");
    assert_eq!(bench.poll_all().iter().map(|out| at(out).0).collect::<Vec<_>>(), [1]);
}

#[test]
fn overtaken_segments_are_given_time_once_reordering_was_seen() {
    let mut bench = Bench::established();
    bench.connection.offer(14_600);
    bench.poll_all();
    bench.now += Duration::from_millis(40);
    // The second segment arrives before the first: reordering.
    bench.give(&TcpRepr { options: sack(4381, 5841), ..segment(1, 1, ACK) }, b"");
    bench.give(&TcpRepr { options: sack(1461, 2921), ..segment(1, 1, ACK) }, b"");
    bench.give(&TcpRepr { options: sack(1461, 8761), ..segment(1, 1, ACK) }, b"");
    assert!(bench.poll_all().is_empty(), "the first segment may still come");
    assert!(bench.connection.deadline().since(bench.now) <= Duration::from_millis(10));
    bench.wait_timer();
    assert_eq!(bench.poll_all().first().map(at), Some((1, 1, ACK, 1460)));
}

#[test]
fn full_segments_that_vanish_are_cut_smaller() {
    let mut bench = Bench::established();
    bench.connection.offer(1460);
    bench.poll_all();
    let mut lens = Vec::new();
    for _ in 0..4 {
        bench.wait_timer();
        lens.extend(bench.poll_all().iter().map(|out| out.payload_len));
    }
    assert_eq!(lens, [1460, 1460, 1024, 1024]);
}

#[test]
fn a_cookie_resumes_where_the_syn_ack_left() {
    let jar = crate::CookieJar::new(tidegate_base::HashKey::new([3; 16]));
    let config = Config { timestamps: true, ..config() };
    let now = Instant::from_millis(10_000);
    let syn_ack = jar.syn_ack(now, &config, &"flow", &stamped(syn(), 100, 0)).expect("a cookie");
    let echo = syn_ack.options.timestamps.expect("timestamps").value;
    let ack = TcpRepr { ack: syn_ack.seq + 1, ..stamped(segment(1, 0, ACK), 101, echo) };
    let options = jar.check(now, &config, &"flow", &ack).expect("our cookie");
    let connection = Connection::from_cookie(now, &config, &ack, options);
    let mut bench = Bench { config, now, connection, received: Vec::new() };
    assert!(bench.give(&ack, b"GET").established);
    assert_eq!(bench.received, b"GET");
    assert_eq!((bench.window_mss(), bench.connection.send.wnd), (1448, 65535 << 7));
}

#[test]
fn an_early_fin_is_answered_once_and_kept() {
    let mut bench = Bench::established();
    bench.give(&segment(4, 1, FIN_ACK), b"");
    assert_eq!(bench.poll_all().len(), 1);
    assert!(bench.give(&segment(1, 1, ACK), b"abc").peer_closed);
    assert_eq!(bench.poll().map(|out| at(&out)), Some((1, 5, ACK, 0)));
}

#[test]
fn a_batch_with_many_holes_is_reported_whole() {
    let mut bench = Bench::established();
    for n in 1..=7 {
        bench.give(&segment(10 * n, 1, ACK), b"abc");
    }
    let blocks: usize = bench.poll_all().iter().map(|out| out.repr.options.sack.as_slice().len()).sum();
    assert_eq!(blocks, 8, "four, then the other three and one of the first again");
    bench.give(&segment(80, 1, ACK), b"abc");
    assert_eq!(bench.poll_all().len(), 1);
}
