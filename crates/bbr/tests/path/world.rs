//! Flows from one side of a bottleneck to the other, each a connection at both ends; acknowledgements go back over a
//! way that is never full. Time jumps to whatever happens next, and the dice have a seed.
//!
//! ```text
//!   senders --> [ buffer ] --rate--> (loss) --delay--> receivers
//!      ^------------------- delay ------------------------'
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tidegate_base::{Duration, Instant, Rng, SeqNumber};
use tidegate_tcp::congestion::Algorithm;
use tidegate_tcp::{Arrival, Config, Connection};
use tidegate_wire::TcpRepr;

/// Ethernet, IP and TCP headers with timestamps.
const HEADERS_LEN: usize = 66;
/// Of the wheel that a stack keeps its timers in.
const TICK_NS: u64 = 1_000_000;

/// The path.
#[derive(Clone, Copy)]
pub(crate) struct Path {
    /// Of the bottleneck.
    pub(crate) bits_per_s: u64,
    /// Without any queue.
    pub(crate) round_trip: Duration,
    /// In bytes.
    pub(crate) buffer_len: u64,
    /// A data segment's chance to be lost.
    pub(crate) loss: f64,
}

impl Path {
    /// Bytes that the path holds without a queue.
    pub(crate) fn bdp(&self) -> u64 {
        self.bits_per_s / 8 * self.round_trip.as_micros() / 1_000_000
    }
}

/// What came of a run, from `warm_up` on.
pub(crate) struct Outcome {
    /// Each flow's share of what the bottleneck could carry.
    pub(crate) shares: Vec<f64>,
    /// The mean time in the buffer of the packets that passed it, in round trips.
    pub(crate) queue: f64,
    /// Packets of a hundred that did not fit into the buffer.
    pub(crate) overflow_percent: f64,
}

impl Outcome {
    pub(crate) fn utilisation(&self) -> f64 {
        self.shares.iter().sum()
    }
}

struct Flow {
    sender: Connection,
    receiver: Connection,
    received: u64,
    starts: Instant,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key(Instant, u64);

struct Packet {
    flow: usize,
    to_receiver: bool,
    repr: TcpRepr,
    len: usize,
}

pub(crate) struct World {
    path: Path,
    now: Instant,
    rng: Rng,
    config: Config,
    flows: Vec<Flow>,
    order: BinaryHeap<Reverse<(Key, usize)>>,
    packets: Vec<Option<Packet>>,
    /// When the bottleneck has sent all that it holds.
    free_at: Instant,
    passed: u64,
    overflowed: u64,
    queued: Duration,
    blank: Vec<u8>,
}

impl World {
    /// A flow of `algorithm` for each of `starts`.
    pub(crate) fn new(path: Path, algorithm: Algorithm, starts: &[Duration], seed: u64) -> Self {
        let config = Config { congestion: algorithm, receive_window: 16 << 20, ..Config::SERVER };
        let now = Instant::from_millis(1000);
        let flow = |(n, after): (usize, &Duration)| {
            let starts = now + *after;
            let isn = SeqNumber(1000 * n as u32);
            let receiver = Connection::connect(starts, &config, isn);
            let sender = Connection::connect(starts, &config, isn);
            Flow { sender, receiver, received: 0, starts }
        };
        let flows = starts.iter().enumerate().map(flow).collect();
        Self {
            path,
            now,
            rng: Rng::new(seed),
            config,
            flows,
            order: BinaryHeap::new(),
            packets: Vec::new(),
            free_at: now,
            passed: 0,
            overflowed: 0,
            queued: Duration::ZERO,
            blank: vec![0; 2000],
        }
    }

    /// Runs for `warm_up`, then measures for `span`.
    pub(crate) fn run(mut self, warm_up: Duration, span: Duration) -> Outcome {
        let begin = self.now + warm_up;
        self.run_until(begin);
        let before: Vec<u64> = self.flows.iter().map(|flow| flow.received).collect();
        (self.passed, self.overflowed, self.queued) = (0, 0, Duration::ZERO);
        self.run_until(begin + span);
        let most = self.path.bits_per_s as f64 / 8.0 * span.as_secs_f64();
        let share = |(flow, before): (&Flow, u64)| (flow.received - before) as f64 / most;
        Outcome {
            shares: self.flows.iter().zip(before).map(share).collect(),
            queue: self.queued.as_secs_f64() / self.passed as f64 / self.path.round_trip.as_secs_f64(),
            overflow_percent: 100.0 * self.overflowed as f64 / (self.passed + self.overflowed) as f64,
        }
    }

    fn run_until(&mut self, end: Instant) {
        while self.now < end {
            self.pump();
            let arrival = self.order.peek().map_or(Instant::FAR_FUTURE, |Reverse((Key(at, _), _))| *at);
            let timer = self.flows.iter().map(Flow::deadline).min().unwrap_or(Instant::FAR_FUTURE);
            self.now = self.now.max(arrival.min(timer));
            while let Some(packet) = self.next_arrival() {
                self.deliver(&packet);
            }
            let (now, config) = (self.now, &self.config);
            for flow in self.flows.iter_mut().filter(|flow| flow.starts <= now) {
                for end in [&mut flow.sender, &mut flow.receiver] {
                    if end.deadline() <= now {
                        let outcome = end.on_timer(now, config);
                        assert!(outcome.closed.is_none(), "gave up");
                    }
                }
            }
        }
    }

    fn next_arrival(&mut self) -> Option<Packet> {
        let Reverse((Key(at, _), index)) = self.order.peek()?;
        let (at, index) = (*at, *index);
        if at > self.now {
            return None;
        }
        self.order.pop();
        self.packets[index].take()
    }

    /// Sends what the ends have to send.
    fn pump(&mut self) {
        for index in 0..self.flows.len() {
            if self.flows[index].starts > self.now {
                continue;
            }
            for to_receiver in [false, true] {
                while let Some((repr, len)) = self.flows[index].transmit(self.now, &self.config, to_receiver)
                {
                    self.send(Packet { flow: index, to_receiver, repr, len });
                }
            }
        }
    }

    fn send(&mut self, packet: Packet) {
        let one_way = self.path.round_trip.div(2);
        let at = if packet.len > 0 { self.pass_bottleneck(packet.len) } else { Some(self.now) };
        let Some(at) = at else { return };
        let number = self.packets.len() as u64;
        self.order.push(Reverse((Key(at + one_way, number), self.packets.len())));
        self.packets.push(Some(packet));
    }

    /// When a packet comes out of the bottleneck; never if there is no room, or it gets lost behind it.
    fn pass_bottleneck(&mut self, len: usize) -> Option<Instant> {
        let len = (len + HEADERS_LEN) as u64;
        let wait = self.free_at.since(self.now);
        let queued_len = u128::from(wait.as_nanos()) * u128::from(self.path.bits_per_s) / 8_000_000_000;
        if queued_len as u64 + len > self.path.buffer_len {
            self.overflowed += 1;
            return None;
        }
        self.passed += 1;
        self.queued = self.queued + wait;
        let spent = Duration::from_nanos(len * 8_000_000_000 / self.path.bits_per_s);
        self.free_at = self.free_at.max(self.now) + spent;
        (!self.rng.chance(self.path.loss)).then_some(self.free_at)
    }

    fn deliver(&mut self, packet: &Packet) {
        let flow = &mut self.flows[packet.flow];
        let payload = &self.blank[..packet.len];
        let arrival = Arrival { repr: &packet.repr, payload, ecn: 0 };
        let end = if packet.to_receiver { &mut flow.receiver } else { &mut flow.sender };
        let mut received = 0;
        let outcome =
            end.on_segment(self.now, &self.config, &arrival, &mut |bytes| received += bytes.len() as u64);
        end.check_invariants(&self.config);
        end.consumed(&self.config, received as u32);
        if outcome.established && !packet.to_receiver {
            end.offer(1 << 50);
        }
        flow.received += received;
    }
}

impl Flow {
    /// When a timer of either end fires: with the next tick.
    fn deadline(&self) -> Instant {
        let deadline = self.sender.deadline().min(self.receiver.deadline()).max(self.starts);
        match deadline {
            Instant::FAR_FUTURE => deadline,
            at => Instant::from_nanos(at.as_nanos().div_ceil(TICK_NS) * TICK_NS),
        }
    }

    fn transmit(&mut self, now: Instant, config: &Config, to_receiver: bool) -> Option<(TcpRepr, usize)> {
        let end = if to_receiver { &mut self.sender } else { &mut self.receiver };
        let out = end.poll_transmit(now, config, &mut |_, max| max)?;
        Some((out.repr, out.payload_len))
    }
}
