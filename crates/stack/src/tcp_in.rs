//! Segments in: to their connection, to TIME-WAIT, or to a listener.

use crate::egress::Egress;
use crate::flow::FlowKey;
use crate::host;
use crate::link::Link;
use crate::outlet::Outlet;
use crate::send_queue::{Acknowledged, SendQueue};
use crate::service::{Acknowledgement, Actions, Conn, ConnId, Service};
use crate::stack::{Stack, drop_reason};
use crate::table::{Reach, Slot};
use crate::time_wait;
use tidegate_base::{DropReason, Duration, Instant, SeqNumber};
use tidegate_tcp::option::Arrived;
use tidegate_tcp::{Arrival, Closed, Connection, Outcome, TimeWaitVerdict, reset};
use tidegate_wire::{FlowAddr, IpRepr, TcpFlags, TcpPacket, TcpRepr, ipv4, tcp};

/// How long after the last cookie a peer may still come back with one.
const COOKIE_LIFE: Duration = Duration::from_secs(128);

impl<S: Service> Stack<S> {
    #[inline]
    pub(crate) fn on_tcp(
        &mut self,
        now: Instant,
        link: Link,
        ip: &IpRepr,
        body: &[u8],
        out: &mut dyn Egress,
    ) -> Result<(), DropReason> {
        let packet = TcpPacket::parse(body).map_err(drop_reason)?;
        if !self.host.interface.trusts_checksums() && !packet.checksum_ok(ip) {
            return Err(DropReason::BadChecksum);
        }
        self.counters.rx_segment_count += 1;
        let repr = packet.repr();
        let key = FlowKey::of(ip, &repr);
        let arrival = Arrival { repr: &repr, payload: packet.payload(), ecn: ip.ecn };
        match self.table.find(&key) {
            Some(index) => {
                if self.table.slot(index).is_some_and(|slot| slot.tcb.has_module()) {
                    self.show_to_module(now, ip, index, &packet, &repr)?;
                }
                self.on_connection_segment(now, link, ip, index, &arrival, out)
            }
            None => self.on_stray_segment(now, link, ip, key, &packet, &arrival, out),
        }
    }

    /// A module that the listener named sees a segment first, and may turn it away.
    #[cold]
    fn show_to_module(
        &mut self,
        now: Instant,
        ip: &IpRepr,
        index: u32,
        packet: &TcpPacket<'_>,
        repr: &TcpRepr,
    ) -> Result<(), DropReason> {
        let Some(slot) = self.table.slot_mut(index) else { return Ok(()) };
        let is_admitted = slot.tcb.is_admitted(&arrived(now, ip, packet, repr));
        if is_admitted { Ok(()) } else { Err(DropReason::Policy) }
    }

    fn on_connection_segment(
        &mut self,
        now: Instant,
        link: Link,
        ip: &IpRepr,
        index: u32,
        arrival: &Arrival<'_>,
        out: &mut dyn Egress,
    ) -> Result<(), DropReason> {
        let id = self.table.id(index);
        let Some(slot) = self.table.slot_mut(index) else { return Err(DropReason::NoListener) };
        let config = &self.profiles[usize::from(slot.profile)][family(slot.key.remote)];
        let (mut intake, tcb) = Intake::new(&mut self.service, id, now, slot);
        let outcome = tcb.on_segment(now, config, arrival, &mut |data| intake.receive(data));
        let actions = intake.finish(&outcome, tcb.acked());
        // The end of what the peer had to say, and no answer: it may be holding back the rest.
        let received_len = arrival.payload.len();
        let is_last = received_len < usize::from(config.mss) / 2;
        let by_length = actions.acknowledgement == Acknowledgement::ByLength;
        if actions.taken > 0 && actions.offered == 0 && is_last && by_length {
            tcb.acknowledge();
        }
        // A peer that is reached another way now is first heard of by what it repeats.
        if matches!(outcome.drop, None | Some(DropReason::OutOfWindow)) {
            slot.reach = Reach::At(link);
        }
        self.settle(now, index, &outcome, actions, out);
        if outcome.reply_reset {
            self.send_reset(link, ip, arrival, out);
        }
        outcome.drop.map_or(Ok(()), Err)
    }

    /// A segment of no connection: TIME-WAIT first, then listeners, then a reset.
    fn on_stray_segment(
        &mut self,
        now: Instant,
        link: Link,
        ip: &IpRepr,
        key: FlowKey,
        packet: &TcpPacket<'_>,
        arrival: &Arrival<'_>,
        out: &mut dyn Egress,
    ) -> Result<(), DropReason> {
        let mut isn = None;
        if let Some(entry) = self.time_waits.find(&key) {
            let config = &self.profiles[usize::from(entry.profile)][family(key.remote)];
            match entry.tcb.on_segment(now, config, arrival) {
                TimeWaitVerdict::Ignore => return Ok(()),
                TimeWaitVerdict::Answer(repr) => {
                    return self.send_bare(link, &host::answer_to(ip), &repr, out);
                }
                TimeWaitVerdict::Reuse { snd_nxt } => {
                    self.time_waits.remove(&key);
                    isn = Some(above(self.isn.isn(now, &key), snd_nxt));
                }
            }
        }
        let Some(listener) = self.find_listener(&key) else {
            self.send_reset(link, ip, arrival, out);
            return Err(DropReason::NoListener);
        };
        let flags = arrival.repr.flags;
        if flags.intersects(TcpFlags::RST) {
            return Err(DropReason::NoListener);
        }
        if flags.contains(TcpFlags::ACK) {
            return self.on_cookie(now, link, ip, key, listener, arrival, out);
        }
        if !flags.contains(TcpFlags::SYN) {
            return Err(DropReason::Malformed);
        }
        let isn = isn.unwrap_or_else(|| self.isn.isn(now, &key));
        let syn = arrived(now, ip, packet, arrival.repr);
        self.on_syn(link, key, listener, isn, &syn, out)
    }

    fn find_listener(&self, key: &FlowKey) -> Option<usize> {
        let hears = |addr: Option<FlowAddr>| addr.is_none_or(|a| a == key.local);
        self.listeners.iter().position(|l| l.port == key.local_port && hears(l.addr))
    }

    /// RFC 9293 section 3.10.7.2, third: a new connection, or a cookie if too many are half-open.
    fn on_syn(
        &mut self,
        link: Link,
        key: FlowKey,
        listener: usize,
        isn: SeqNumber,
        syn: &Arrived<'_>,
        out: &mut dyn Egress,
    ) -> Result<(), DropReason> {
        let Arrived { now, ip, .. } = *syn;
        if !self.service.on_syn(key.peer(), key.here()) {
            return Err(DropReason::ConnectionLimit);
        }
        let Listener { profile, is_full } = self.listener_state(listener);
        let config = &self.profiles[usize::from(profile)][family(key.remote)];
        if is_full || self.table.len() >= self.limits.connection_count_max {
            let answer = self.cookies.syn_ack(now, config, &key, syn.repr);
            let answer = answer.ok_or(DropReason::ConnectionLimit)?;
            self.counters.cookie_sent_count += 1;
            self.cookies_out_until = now + COOKIE_LIFE;
            return self.send_bare(link, &host::answer_to(ip), &answer, out);
        }
        let tcb = match &config.option {
            None => Connection::accept(now, config, syn.repr, isn),
            Some(kind) => Connection::accept_by_module(config, kind, syn, isn).ok_or(DropReason::Policy)?,
        };
        let has_module = tcb.has_module();
        self.listeners[listener].half_open_count += 1;
        let slot = Slot { is_half_open: true, ..fresh_slot(key, tcb, Reach::At(link), profile) };
        let index = self.table.insert(slot);
        if has_module {
            self.take_early(index, syn, out)
        } else {
            self.transmit(now, index, out)
        }
        Ok(())
    }

    /// Hands the service what came with the SYN, if a module let it in, and sends SYN-ACK and answer.
    #[cold]
    fn take_early(&mut self, index: u32, syn: &Arrived<'_>, out: &mut dyn Egress) {
        let id = self.table.id(index);
        let Some(slot) = self.table.slot_mut(index) else { return };
        let (mut intake, tcb) = Intake::new(&mut self.service, id, syn.now, slot);
        tcb.take_early(syn, &mut |data| intake.receive(data));
        let actions = intake.finish(&Outcome::NONE, tcb.acked());
        self.settle(syn.now, index, &Outcome::NONE, actions, out);
    }

    /// An acknowledgement without a connection may answer a cookie.
    fn on_cookie(
        &mut self,
        now: Instant,
        link: Link,
        ip: &IpRepr,
        key: FlowKey,
        listener: usize,
        arrival: &Arrival<'_>,
        out: &mut dyn Egress,
    ) -> Result<(), DropReason> {
        let profile = self.listeners[listener].profile;
        let config = &self.profiles[usize::from(profile)][family(key.remote)];
        let Some(options) = self.cookies.check(now, config, &key, arrival.repr) else {
            // The acknowledgement that proves a cookie may be lost and data come first: a reset would end
            // an honest peer's attempt, silence has it repeat what proves it.
            if now >= self.cookies_out_until {
                self.send_reset(link, ip, arrival, out);
            }
            return Err(DropReason::BadCookie);
        };
        if self.table.len() >= self.limits.connection_count_max {
            return Err(DropReason::ConnectionLimit);
        }
        self.counters.cookie_accepted_count += 1;
        let tcb = Connection::from_cookie(now, config, arrival.repr, options);
        let index = self.table.insert(fresh_slot(key, tcb, Reach::At(link), profile));
        self.on_connection_segment(now, link, ip, index, arrival, out)
    }

    fn listener_state(&self, listener: usize) -> Listener {
        let l = &self.listeners[listener];
        Listener { profile: l.profile, is_full: l.half_open_count >= self.limits.backlog_len }
    }

    pub(crate) fn on_path_mtu(&mut self, now: Instant, index: u32, seq: u32, mtu: u32, out: &mut dyn Egress) {
        let Some(slot) = self.table.slot_mut(index) else { return };
        let config = &self.profiles[usize::from(slot.profile)][family(slot.key.remote)];
        let headers = slot.key.remote.header_len() + tcp::HEADER_LEN;
        // RFC 1191 section 5: a router that does not say means the next smaller plateau; 576 is safe.
        let mtu = if mtu < ipv4::HEADER_LEN as u32 { 576 } else { mtu };
        let mss = (mtu as usize).saturating_sub(headers).min(usize::from(u16::MAX)) as u16;
        if slot.tcb.on_path_mtu(config, SeqNumber(seq), mss) {
            self.transmit(now, index, out);
        }
    }

    pub(crate) fn on_unreachable(&mut self, now: Instant, index: u32, seq: u32, out: &mut dyn Egress) {
        let Some(slot) = self.table.slot_mut(index) else { return };
        let outcome = slot.tcb.on_unreachable(SeqNumber(seq));
        self.settle(now, index, &outcome, Actions::default(), out);
    }

    /// Calls the service about one connection, then does what it asked for.
    pub(crate) fn call_service(
        &mut self,
        now: Instant,
        index: u32,
        out: &mut dyn Egress,
        call: impl FnOnce(&mut S, &mut Conn<'_, S>),
    ) {
        let id = self.table.id(index);
        let Some(slot) = self.table.slot_mut(index) else { return };
        let mut actions = Actions::default();
        call(
            &mut self.service,
            &mut conn::<S>(id, now, slot.key, &mut slot.state, &mut slot.queue, &mut actions),
        );
        self.settle(now, index, &Outcome::NONE, actions, out);
    }

    /// Carries out what an event and the callbacks after it ask for, sends what can be sent, and
    /// removes the connection if it ended.
    pub(crate) fn settle(
        &mut self,
        now: Instant,
        index: u32,
        outcome: &Outcome,
        actions: Actions,
        out: &mut dyn Egress,
    ) {
        if outcome.established {
            self.on_established(index);
        }
        let Some(slot) = self.table.slot_mut(index) else { return };
        let config = &self.profiles[usize::from(slot.profile)][family(slot.key.remote)];
        actions.apply(slot, config);
        let aborted = actions.abort.then_some(Closed::Aborted);
        self.transmit(now, index, out);
        if let Some(why) = outcome.closed.or(aborted) {
            self.bury(index, why);
        }
    }

    fn on_established(&mut self, index: u32) {
        let Some(slot) = self.table.slot_mut(index) else { return };
        let counter = if slot.is_client {
            &mut self.counters.connected_count
        } else {
            &mut self.counters.accepted_count
        };
        *counter += 1;
        if std::mem::take(&mut slot.is_half_open) {
            let key = slot.key;
            self.leave_backlog(&key);
        }
    }

    fn leave_backlog(&mut self, key: &FlowKey) {
        if let Some(listener) = self.find_listener(key) {
            let count = &mut self.listeners[listener].half_open_count;
            *count = count.saturating_sub(1);
        }
    }

    /// Ends a connection: its TIME-WAIT, its place in the backlog, its service's last callback.
    pub(crate) fn bury(&mut self, index: u32, why: Closed) {
        let id = self.table.id(index);
        let Some(slot) = self.table.remove(index) else { return };
        self.wheel.disarm(index);
        if let Some(tcb) = slot.tcb.time_wait() {
            self.time_waits.insert(slot.key, time_wait::Entry { tcb, profile: slot.profile });
        }
        if slot.is_half_open {
            self.leave_backlog(&slot.key);
        }
        self.count_end(why);
        if slot.is_accepted {
            self.service.on_closed(id, slot.state, why);
        }
    }

    fn count_end(&mut self, why: Closed) {
        let counter = match why {
            Closed::Finished => &mut self.counters.finished_count,
            Closed::Reset | Closed::Refused => &mut self.counters.reset_count,
            Closed::TimedOut => &mut self.counters.timed_out_count,
            Closed::Aborted => &mut self.counters.aborted_count,
        };
        *counter += 1;
    }

    fn send_reset(&mut self, link: Link, ip: &IpRepr, arrival: &Arrival<'_>, out: &mut dyn Egress) {
        if let Some(repr) = reset::reply(arrival.repr, arrival.payload.len()) {
            // A reset that finds no room is not missed: the peer's next segment asks for it again.
            let _ = self.send_bare(link, &host::answer_to(ip), &repr, out);
        }
    }

    /// Sends a segment without data that belongs to no connection.
    fn send_bare(
        &mut self,
        link: Link,
        ip: &IpRepr,
        repr: &TcpRepr,
        out: &mut dyn Egress,
    ) -> Result<(), DropReason> {
        self.counters.tx_segment_count += 1;
        let len = repr.header_len();
        let sum = ip.pseudo_header_sum(len);
        host::send_ip(&self.host.interface, link, ip, len, out, |segment| repr.emit(sum, segment))
    }
}

/// A connection's service while a segment is taken in: callbacks in the order of RFC 9293 section
/// 3.10.7.4 (acknowledgement, data, FIN), what they ask for gathered.
struct Intake<'a, S: Service> {
    service: &'a mut S,
    id: ConnId,
    now: Instant,
    key: FlowKey,
    state: &'a mut S::State,
    queue: &'a mut SendQueue<S::Response>,
    is_accepted: &'a mut bool,
    is_client: bool,
    is_open: bool,
    actions: Actions,
}

impl<'a, S: Service> Intake<'a, S> {
    fn new(
        service: &'a mut S,
        id: ConnId,
        now: Instant,
        slot: &'a mut Slot<S>,
    ) -> (Self, &'a mut Connection) {
        let Slot { key, tcb, queue, state, is_accepted, is_client, .. } = slot;
        let (key, is_client) = (*key, *is_client);
        // Text of a SYN may have opened it already.
        let is_open = tcb.state().is_synchronized() || *is_accepted && !is_client;
        let actions = Actions::default();
        (Self { service, id, now, key, state, queue, is_accepted, is_client, is_open, actions }, tcb)
    }

    fn call(&mut self, callback: impl FnOnce(&mut S, &mut Conn<'_, S>)) {
        let Self { service, id, now, key, state, queue, actions, .. } = self;
        callback(service, &mut conn::<S>(*id, *now, *key, state, queue, actions));
    }

    /// The handshake is complete: the service lets the connection in, or has it reset.
    fn open(&mut self) {
        self.is_open = true;
        *self.is_accepted = self.is_client || self.service.on_accept(self.key.peer(), self.key.here());
        if *self.is_accepted {
            self.call(|service, conn| service.on_open(conn));
        } else {
            self.actions.abort = true;
        }
    }

    fn receive(&mut self, data: &[u8]) {
        if !self.is_open {
            self.open();
        }
        self.actions.taken += data.len() as u32;
        if *self.is_accepted {
            self.call(|service, conn| service.on_recv(conn, data));
        }
    }

    fn finish(mut self, outcome: &Outcome, acked: u64) -> Actions {
        if outcome.established && !self.is_open {
            self.open();
        }
        let done = if outcome.acked { self.queue.acknowledge(acked) } else { Acknowledged::Nothing };
        if !*self.is_accepted {
            return self.actions;
        }
        if done != Acknowledged::Nothing {
            self.call(|service, conn| service.on_acked(conn));
        }
        if done == Acknowledged::All {
            self.call(|service, conn| service.on_sent(conn));
        }
        if outcome.peer_closed {
            self.call(|service, conn| service.on_eof(conn));
        }
        self.actions
    }
}

fn arrived<'a>(now: Instant, ip: &'a IpRepr, packet: &TcpPacket<'a>, repr: &'a TcpRepr) -> Arrived<'a> {
    Arrived { now, ip, repr, options: packet.options(), payload: packet.payload() }
}

/// What a SYN needs to know of its listener.
struct Listener {
    profile: u16,
    is_full: bool,
}

/// Which of a profile's two settings applies.
pub(crate) fn family(addr: FlowAddr) -> usize {
    usize::from(!addr.is_ipv4())
}

/// RFC 9293 section 3.6.1 (MAY-2): a connection that takes over from TIME-WAIT starts above it.
fn above(isn: SeqNumber, snd_nxt: SeqNumber) -> SeqNumber {
    if isn.after(snd_nxt) { isn } else { snd_nxt + 1 }
}

pub(crate) fn fresh_slot<S: Service>(key: FlowKey, tcb: Connection, reach: Reach, profile: u16) -> Slot<S> {
    Slot {
        key,
        tcb,
        queue: SendQueue::new(),
        state: S::State::default(),
        reach,
        service_deadline: Instant::FAR_FUTURE,
        armed_at: Instant::FAR_FUTURE,
        profile,
        is_client: false,
        is_accepted: false,
        is_half_open: false,
        is_waiting: false,
    }
}

fn conn<'a, S: Service>(
    id: ConnId,
    now: Instant,
    key: FlowKey,
    state: &'a mut S::State,
    queue: &'a mut SendQueue<S::Response>,
    actions: &'a mut Actions,
) -> Conn<'a, S> {
    Conn { id, now, key, state, outlet: Outlet::Own(queue), actions }
}

impl Actions {
    /// Does to the TCB what the service asked for.
    fn apply<S: Service>(&self, slot: &mut Slot<S>, config: &tidegate_tcp::Config) {
        if self.offered > 0 {
            slot.tcb.offer(self.offered);
        }
        if self.taken > self.held {
            slot.tcb.consumed(config, self.taken - self.held);
        }
        if self.close {
            slot.tcb.close();
        }
        if self.acknowledgement == Acknowledgement::Now {
            slot.tcb.acknowledge();
        }
        if self.abort {
            slot.tcb.abort();
        }
        if let Some(deadline) = self.timer {
            slot.service_deadline = deadline.unwrap_or(Instant::FAR_FUTURE);
        }
    }
}
