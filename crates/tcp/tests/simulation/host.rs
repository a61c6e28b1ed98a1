//! A host: one connection, an application at each end of it, and as much of a stack as they need.

use crate::network::{Packet, emit, ip_to, is_bare_ack};
use crate::scenario::{CloseWhen, HostPlan};
use tidegate_base::{DropReason, HashKey, Instant, SeqNumber};
use tidegate_tcp::{
    Arrival, Closed, Connection, CookieJar, Outcome, State, TimeWait, TimeWaitVerdict, reset,
};
use tidegate_wire::{TcpFlags, TcpPacket, TcpRepr};

/// The byte at `offset` of the stream that host `from` sends.
pub(crate) fn stream_byte(from: usize, offset: u64) -> u8 {
    let mixed =
        (offset + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (from as u64).wrapping_mul(0x1234_5678_9abc);
    (mixed >> 40) as u8
}

/// How a host answers SYNs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    Server,
    CookieServer,
}

pub(crate) struct Host {
    pub(crate) index: usize,
    pub(crate) plan: HostPlan,
    pub(crate) role: Role,
    pub(crate) connection: Option<Connection>,
    pub(crate) time_wait: Option<TimeWait>,
    pub(crate) closed: Option<Closed>,
    /// Bytes received, all of them as they should be.
    pub(crate) received: u64,
    pub(crate) peer_closed: bool,
    /// When the last byte arrived.
    pub(crate) received_at: Instant,
    /// Bytes of data sent, repetitions included.
    pub(crate) sent: u64,
    was_established: bool,
    offered: u64,
    next_burst: Instant,
    next_read: Instant,
    unread: u32,
    cookies: CookieJar,
    /// SYNs of others that were answered without keeping anything.
    pub(crate) flood_answers: u64,
}

impl Host {
    pub(crate) fn new(index: usize, plan: HostPlan, role: Role) -> Self {
        Self {
            index,
            plan,
            role,
            connection: None,
            time_wait: None,
            closed: None,
            received: 0,
            peer_closed: false,
            received_at: Instant::ZERO,
            sent: 0,
            was_established: false,
            offered: 0,
            next_burst: Instant::ZERO,
            next_read: Instant::FAR_FUTURE,
            unread: 0,
            cookies: CookieJar::new(HashKey::new([index as u8; 16])),
            flood_answers: 0,
        }
    }

    pub(crate) fn connect(&mut self, now: Instant) {
        self.connection = Some(Connection::connect(now, &self.plan.config, self.plan.isn));
    }

    /// Nothing is left to happen here.
    pub(crate) fn is_done(&self) -> bool {
        self.connection.is_none() && self.time_wait.is_none() && self.closed.is_some()
    }

    /// When this host next has something to do of its own.
    pub(crate) fn deadline(&self) -> Instant {
        let Some(connection) = &self.connection else {
            return self.time_wait.map_or(Instant::FAR_FUTURE, |entry| entry.deadline());
        };
        let may_offer = self.was_established && self.offered < self.plan.stream_len;
        let burst = if may_offer { self.next_burst } else { Instant::FAR_FUTURE };
        self.on_tick(connection.deadline()).min(burst).min(self.next_read)
    }

    /// When a timer for `at` fires: with the next tick.
    fn on_tick(&self, at: Instant) -> Instant {
        match self.plan.timer_tick.as_nanos() {
            0 => at,
            _ if at == Instant::FAR_FUTURE => at,
            tick => Instant::from_nanos(at.as_nanos().div_ceil(tick) * tick),
        }
    }

    /// Takes a packet; what it answers at once, without a connection, comes back.
    pub(crate) fn on_packet(&mut self, now: Instant, packet: &Packet) -> Option<TcpRepr> {
        let tcp = TcpPacket::parse(&packet.bytes).ok()?;
        if !tcp.checksum_ok(&ip_to(self.index)) {
            return None;
        }
        let repr = tcp.repr();
        if self.connection.is_some() {
            return self.on_segment(now, &repr, tcp.payload(), packet.ecn);
        }
        let arrival = Arrival { repr: &repr, payload: tcp.payload(), ecn: packet.ecn };
        if let Some(entry) = &mut self.time_wait {
            return match entry.on_segment(now, &self.plan.config, &arrival) {
                TimeWaitVerdict::Answer(answer) => Some(answer),
                _ => None,
            };
        }
        let is_syn =
            repr.flags.contains(TcpFlags::SYN) && !repr.flags.intersects(TcpFlags::ACK.with(TcpFlags::RST));
        let role = self.role;
        match role {
            Role::Server if is_syn && self.closed.is_none() => self.accept(now, &repr),
            Role::CookieServer if is_syn && self.closed.is_none() => {
                return self.answer_by_cookie(now, &repr);
            }
            Role::CookieServer if self.closed.is_none() && self.check_cookie(now, &repr) => {
                return self.on_segment(now, &repr, tcp.payload(), packet.ecn);
            }
            // A bad cookie is dropped: the good one may only be late.
            Role::CookieServer if self.closed.is_none() => {}
            _ => return reset::reply(&repr, tcp.payload().len()),
        }
        None
    }

    /// The sequence number that a reset is believed at (RFC 5961 section 3.2).
    pub(crate) fn expects(&self, peer_isn: SeqNumber) -> SeqNumber {
        peer_isn + 1 + self.received as u32 + u32::from(self.peer_closed)
    }

    fn accept(&mut self, now: Instant, syn: &TcpRepr) {
        self.connection = Some(Connection::accept(now, &self.plan.config, syn, self.plan.isn));
    }

    fn answer_by_cookie(&mut self, now: Instant, syn: &TcpRepr) -> Option<TcpRepr> {
        self.flood_answers += 1;
        self.cookies.syn_ack(now, &self.plan.config, &syn.src_port, syn)
    }

    fn check_cookie(&mut self, now: Instant, ack: &TcpRepr) -> bool {
        let options = self.cookies.check(now, &self.plan.config, &ack.src_port, ack);
        self.connection =
            options.map(|options| Connection::from_cookie(now, &self.plan.config, ack, options));
        self.connection.is_some()
    }

    fn on_segment(&mut self, now: Instant, repr: &TcpRepr, payload: &[u8], ecn: u8) -> Option<TcpRepr> {
        let connection = self.connection.as_mut()?;
        let before = self.received;
        let (peer, received) = (1 - self.index, &mut self.received);
        let arrival = Arrival { repr, payload, ecn };
        let outcome = connection.on_segment(now, &self.plan.config, &arrival, &mut |bytes| {
            for (index, byte) in bytes.iter().enumerate() {
                assert_eq!(*byte, stream_byte(peer, *received + index as u64), "wrong byte after {received}");
            }
            *received += bytes.len() as u64;
        });
        connection.check_invariants(&self.plan.config);
        if self.received > before {
            self.received_at = now;
        }
        self.read(now, (self.received - before) as u32);
        self.note(now, &outcome);
        outcome.reply_reset.then(|| reset::reply(repr, payload.len())).flatten()
    }

    fn read(&mut self, now: Instant, len: u32) {
        let Some(connection) = &mut self.connection else { return };
        match self.plan.reads {
            None => connection.consumed(&self.plan.config, len),
            Some((_, pause)) => {
                self.unread += len;
                if self.unread > 0 && self.next_read == Instant::FAR_FUTURE {
                    self.next_read = now + pause;
                }
            }
        }
    }

    fn note(&mut self, now: Instant, outcome: &Outcome) {
        if outcome.established {
            assert!(!self.was_established, "established twice");
            self.was_established = true;
            self.next_burst = now;
        }
        if outcome.peer_closed {
            assert!(!self.peer_closed, "closed twice by the peer");
            self.peer_closed = true;
        }
        if let Some(why) = outcome.closed {
            assert!(self.closed.is_none(), "ended twice: {:?} then {why:?}", self.closed);
            self.closed = Some(why);
        }
    }

    /// Lets timers and the application act.
    pub(crate) fn on_time(&mut self, now: Instant) {
        if self.time_wait.is_some_and(|entry| entry.deadline() <= now) {
            self.time_wait = None;
        }
        let Some(connection) = &mut self.connection else { return };
        if connection.deadline() <= now {
            let outcome = connection.on_timer(now, &self.plan.config);
            connection.check_invariants(&self.plan.config);
            self.note(now, &outcome);
        }
        self.slow_read(now);
        self.write(now);
    }

    fn slow_read(&mut self, now: Instant) {
        let (Some(connection), Some((bytes, pause))) = (&mut self.connection, self.plan.reads) else {
            return;
        };
        if self.next_read > now {
            return;
        }
        let taken = bytes.min(self.unread);
        self.unread -= taken;
        connection.consumed(&self.plan.config, taken);
        self.next_read = if self.unread > 0 { now + pause } else { Instant::FAR_FUTURE };
    }

    fn write(&mut self, now: Instant) {
        let Some(connection) = &mut self.connection else { return };
        if !self.was_established {
            return;
        }
        if self.offered < self.plan.stream_len && self.next_burst <= now {
            let len = self.plan.burst.min(self.plan.stream_len - self.offered);
            connection.offer(len);
            self.offered += len;
            self.next_burst = now + self.plan.burst_every;
        }
        let may_close = self.plan.close_when == CloseWhen::Offered || self.peer_closed;
        if self.offered == self.plan.stream_len && may_close {
            connection.close();
        }
    }

    /// The next packet to send.
    pub(crate) fn transmit(&mut self, now: Instant) -> Option<(Packet, TcpRepr)> {
        let connection = self.connection.as_mut()?;
        let chunk = self.plan.chunk_len;
        let mut cut = |offset: u64, max: usize| ((chunk - offset % chunk) as usize).min(max);
        let out = connection.poll_transmit(now, &self.plan.config, &mut cut)?;
        connection.check_invariants(&self.plan.config);
        self.sent += out.payload_len as u64;
        let mss = usize::from(self.plan.config.mss);
        assert!(out.payload_len + out.repr.options.len() <= mss, "segment too long: {out:?}");
        let from = self.index;
        let payload: Vec<u8> =
            (0..out.payload_len as u64).map(|n| stream_byte(from, out.offset + n)).collect();
        let bytes = emit(1 - from, &out.repr, &payload);
        Some((Packet { to: 1 - from, ecn: out.ecn, bytes }, out.repr))
    }

    /// Drops the connection once all is said, keeping what TIME-WAIT needs.
    pub(crate) fn retire(&mut self) {
        let Some(connection) = self.connection.take_if(|connection| connection.is_finished()) else { return };
        self.time_wait = connection.time_wait();
        assert!(self.closed.is_some(), "ended without a word");
    }

    pub(crate) fn on_too_big(&mut self, quoted: SeqNumber, mss: u16) {
        if let Some(connection) = &mut self.connection {
            connection.on_path_mtu(&self.plan.config, quoted, mss);
            connection.check_invariants(&self.plan.config);
        }
    }

    pub(crate) fn on_unreachable(&mut self, quoted: SeqNumber) {
        let Some(connection) = self.connection.as_mut().filter(|c| c.state() != State::SynSent) else {
            return;
        };
        let outcome = connection.on_unreachable(quoted);
        assert!(outcome.closed.is_none() && outcome.drop == Some(DropReason::OutOfWindow));
    }

    /// Whether a packet is one that the network may thin out.
    pub(crate) fn is_thinnable(packet: &Packet, repr: &TcpRepr) -> bool {
        is_bare_ack(repr, packet.bytes.len() - repr.header_len())
    }
}
