//! The event loop: time jumps to whatever happens next, until both ends are done.

use crate::host::{Host, Role};
use crate::network::{Network, Packet, describe, emit};
use crate::scenario::Scenario;
use tidegate_base::{Duration, Instant, SeqNumber};
use tidegate_tcp::{Closed, State};
use tidegate_wire::{TcpFlags, TcpOptions, TcpPacket, TcpRepr};

/// A connection that is not done by then never ends.
const TIME_MAX: Duration = Duration::from_secs(6 * 3600);
/// Nor is one that needs so many steps getting anywhere.
const STEPS_MAX: u64 = 2_000_000;
const ATTACK_EVERY: Duration = Duration::from_millis(7);

pub(crate) struct World {
    now: Instant,
    scenario: Scenario,
    hosts: [Host; 2],
    network: Network,
    next_attack: Instant,
    /// What the attacker saw last on the way to each host: a segment to build on.
    seen: [Option<TcpRepr>; 2],
}

impl World {
    pub(crate) fn new(scenario: Scenario) -> Self {
        let server = match (scenario.simultaneous_open, scenario.cookies) {
            (true, _) => Role::Client,
            (_, true) => Role::CookieServer,
            _ => Role::Server,
        };
        let [client_plan, server_plan] = scenario.hosts.clone();
        let hosts = [Host::new(0, client_plan, Role::Client), Host::new(1, server_plan, server)];
        let network = Network::new(scenario.network.clone());
        let now = Instant::from_millis(1_000);
        Self { now, network, hosts, next_attack: now, seen: [None; 2], scenario }
    }

    /// Runs it to its end; says how long it took until the last byte arrived.
    pub(crate) fn run(mut self) -> Duration {
        self.hosts[0].connect(self.now);
        if self.scenario.simultaneous_open {
            self.hosts[1].connect(self.now);
        }
        self.pump();
        let begin = self.now;
        for _ in 0..STEPS_MAX {
            if self.is_over() {
                self.judge();
                return self.hosts[0].received_at.max(self.hosts[1].received_at).since(begin);
            }
            self.step();
            assert!(self.now.since(begin) < TIME_MAX, "never ends: {}", self.state());
        }
        panic!("gets nowhere: {}", self.state());
    }

    /// Both ends are done. A server that never saw a SYN has nothing to be done with.
    fn is_over(&self) -> bool {
        let untouched = |host: &Host| host.connection.is_none() && host.closed.is_none();
        self.hosts.iter().all(|host| host.is_done() || untouched(host)) && self.hosts[0].is_done()
    }

    fn step(&mut self) {
        let deadline = self.hosts[0].deadline().min(self.hosts[1].deadline());
        let arrival = self.network.next_arrival().unwrap_or(Instant::FAR_FUTURE);
        let next = deadline.min(arrival);
        assert!(next != Instant::FAR_FUTURE, "nothing will ever happen: {}", self.state());
        let is_attacked = self.is_attacked();
        if is_attacked && self.next_attack <= next {
            self.now = self.now.max(self.next_attack);
            self.attack();
            self.next_attack = self.now + ATTACK_EVERY;
        } else {
            self.now = self.now.max(next);
        }
        while let Some(packet) = self.network.arrive(self.now) {
            self.deliver(&packet);
        }
        for host in &mut self.hosts {
            host.on_time(self.now);
        }
        self.pump();
    }

    /// A packet arrives from the path, and the attacker sees it.
    fn deliver(&mut self, packet: &Packet) {
        if let Ok(tcp) = TcpPacket::parse(&packet.bytes) {
            self.seen[packet.to] = Some(tcp.repr());
        }
        self.hand(packet);
    }

    fn hand(&mut self, packet: &Packet) {
        if self.scenario.trace {
            eprintln!("{:>12} us {}", self.now.as_nanos() / 1000, describe(packet));
        }
        let answer = self.hosts[packet.to].on_packet(self.now, packet);
        if let Some(answer) = answer {
            let to = 1 - packet.to;
            let reply = Packet { to, ecn: 0, bytes: emit(to, &answer, &[]) };
            self.network.send(self.now, &mut self.scenario.rng, reply, false);
        }
    }

    /// Sends all that the hosts have to send.
    fn pump(&mut self) {
        for index in 0..2 {
            let mut count = 0;
            while let Some((packet, repr)) = self.hosts[index].transmit(self.now) {
                count += 1;
                assert!(count < 100_000, "sends for ever: {}", self.state());
                let is_ack = Host::is_thinnable(&packet, &repr);
                let too_big = self.network.send(self.now, &mut self.scenario.rng, packet, is_ack);
                if let Some(too_big) = too_big {
                    self.hosts[index].on_too_big(repr.seq, too_big.mss);
                }
            }
            self.hosts[index].retire();
        }
    }

    fn is_attacked(&self) -> bool {
        let attack = &self.scenario.attack;
        let is_any = attack.blind_reset
            || attack.reset_in_window
            || attack.inject
            || attack.icmp_lies
            || attack.syn_flood;
        is_any && self.hosts.iter().any(|host| host.connection.is_some())
    }

    fn attack(&mut self) {
        let attack = self.scenario.attack.clone();
        let to = self.scenario.rng.below(2) as usize;
        let random = self.scenario.rng.next_u32();
        if attack.syn_flood {
            self.flood();
        }
        let Some(seen) = self.seen[to] else { return };
        let forged =
            |seq: SeqNumber, flags: TcpFlags| TcpRepr { seq, flags, options: TcpOptions::NONE, ..seen };
        let ahead = seen.seq + 5_000 + random % 2_000;
        if attack.blind_reset {
            // As far from the window as a guess is.
            self.forge(to, &forged(seen.seq + (1 << 30) + (random >> 2), TcpFlags::RST));
        }
        if attack.reset_in_window && ahead != self.hosts[to].expects(self.hosts[1 - to].plan.isn) {
            self.forge(to, &forged(ahead, TcpFlags::RST));
        }
        let state = self.hosts[to].connection.as_ref().map(|connection| connection.state());
        // A SYN for a SYN is a simultaneous open (RFC 9293 section 3.5): no defence is specified.
        if attack.inject && state != Some(State::SynSent) {
            self.forge(to, &forged(ahead, TcpFlags::SYN));
            let beyond = TcpRepr { ack: seen.ack + (1 << 29), ..forged(seen.seq, TcpFlags::ACK) };
            self.forge(to, &beyond);
            let stale = TcpRepr { ack: seen.ack - (1 << 30), ..forged(seen.seq, TcpFlags::ACK) };
            self.forge(to, &stale);
        }
        if attack.icmp_lies {
            self.hosts[to].on_too_big(SeqNumber(random), 68);
            self.hosts[to].on_too_big(seen.ack, (random % 1500) as u16);
            self.hosts[to].on_unreachable(seen.ack);
        }
    }

    /// A packet that was never on the path: it arrives before anything else can.
    fn forge(&mut self, to: usize, repr: &TcpRepr) {
        let bytes = emit(to, repr, &[]);
        self.hand(&Packet { to, ecn: 0, bytes });
    }

    fn flood(&mut self) {
        for _ in 0..20 {
            let rng = &mut self.scenario.rng;
            let syn = TcpRepr {
                src_port: 1 + rng.below(65_535) as u16,
                dst_port: 80,
                seq: SeqNumber(rng.next_u32()),
                ack: SeqNumber(0),
                flags: TcpFlags::SYN,
                window: 1000,
                options: TcpOptions { mss: Some(1460), ..TcpOptions::NONE },
            };
            // Only a listener sees them: a connection's segments are told apart by their ports.
            if self.hosts[1].connection.is_none() && self.hosts[1].time_wait.is_none() {
                let _ =
                    self.hosts[1].on_packet(self.now, &Packet { to: 1, ecn: 0, bytes: emit(1, &syn, &[]) });
            }
        }
    }

    /// What must be true at the end.
    fn judge(&self) {
        let may_fail = self.scenario.network.dead_from.is_some();
        for host in &self.hosts {
            let other = &self.hosts[1 - host.index];
            let expected = other.plan.stream_len;
            assert!(host.received <= expected, "received more than was sent");
            if may_fail {
                continue;
            }
            assert_eq!(host.received, expected, "host {} lacks bytes: {}", host.index, self.state());
            assert_eq!(host.closed, Some(Closed::Finished), "host {}: {}", host.index, self.state());
            assert!(host.peer_closed);
            let sent_max = (host.plan.stream_len as f64 * self.scenario.repeats_max) as u64 + 25_000;
            assert!(host.sent <= sent_max, "host {} sent {} bytes: {}", host.index, host.sent, self.state());
            if self.scenario.repeats_max == 1.0 {
                assert_eq!(host.sent, host.plan.stream_len, "host {} sent some twice", host.index);
            }
        }
    }

    fn state(&self) -> String {
        let describe = |host: &Host| {
            let state = host.connection.as_ref().map(|connection| connection.state());
            let state =
                state.unwrap_or(if host.time_wait.is_some() { State::TimeWait } else { State::Closed });
            format!(
                "host {}: {state:?}, received {}, to send {}, closed {:?}, {:#?}",
                host.index, host.received, host.plan.stream_len, host.closed, host.connection
            )
        };
        format!("at {:?}\n{}\n{}", self.now, describe(&self.hosts[0]), describe(&self.hosts[1]))
    }
}
