//! Segments out: what a connection may send now, with its payload fetched and its headers pushed in
//! front; and the clients' way to open connections.
//!
//! ```text
//!   Service::fetch --> [ headroom | payload ]            a ready frame, its payload's sum known
//!                   [ eth | ip | tcp | payload ]         headers pushed right-aligned before it
//! ```

use crate::egress::Egress;
use crate::flow::FlowKey;
use crate::host::HOP_LIMIT;
use crate::interface::Interface;
use crate::link::Link;
use crate::send_queue::SendQueue;
use crate::service::{ConnId, FetchError, Payload, Service};
use crate::stack::Stack;
use crate::table::{Reach, Slot};
use crate::tcp_in::{family, fresh_slot};
use std::net::{IpAddr, SocketAddr};
use tidegate_base::{DropReason, Duration, Instant, Sum};
use tidegate_packet::{Cut, Frame, Pool};
use tidegate_tcp::{Closed, Connection, Outgoing};
use tidegate_wire::{EtherType, FlowAddr, IpRepr, Protocol, tcp};

/// Times that a neighbour is asked for before a connection to it is given up (RFC 4861 section 10).
const SOLICIT_COUNT_MAX: u8 = 3;
/// Time between two such questions.
const SOLICIT_INTERVAL: Duration = Duration::from_secs(1);
/// The ports that clients' connections come from (RFC 6335 section 6).
const EPHEMERAL_PORTS: std::ops::RangeInclusive<u16> = 49152..=65535;
/// Frames left in the pool for what is more urgent than data: acknowledgements, resets, ARP.
const RESERVE_COUNT: usize = 4;

/// Why a connection could not be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectError {
    /// This stack has no address of the peer's family.
    NoAddress,
    /// The address that the connection should come from is not this stack's.
    NotOurAddress,
    /// All ephemeral ports to that peer are taken, or the one that was asked for is.
    NoPort,
    /// The limit on connections is reached.
    ConnectionLimit,
}

impl std::fmt::Display for ConnectError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoAddress => "no address of the peer's family at this interface: give it one",
            Self::NotOurAddress => {
                "that is no address of this interface: leave it open, or name one of its own"
            }
            Self::NoPort => "all ephemeral ports to this peer are taken: close some connections",
            Self::ConnectionLimit => "the limit on connections is reached: raise it or close some",
        })
    }
}

impl std::error::Error for ConnectError {}

/// Where a client's connection comes from, and under which settings.
#[derive(Clone, Copy, Default, Debug)]
pub struct Origin {
    /// An address of the interface; without one, any of the peer's family.
    pub addr: Option<IpAddr>,
    /// A port; zero is any that is free.
    pub port: u16,
    /// The TCP profile ([`Stack::add_profile`]).
    pub profile: u16,
}

impl<S: Service> Stack<S> {
    /// Opens a connection to `remote`, on this link; [`Service::on_open`] or
    /// [`Service::on_closed`] tells how it went.
    pub fn connect(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        state: S::State,
        out: &mut dyn Egress,
    ) -> Result<ConnId, ConnectError> {
        self.connect_from(now, Origin::default(), remote, state, out)
    }

    /// The same from an address, a port and under a profile of the caller's choice.
    pub fn connect_from(
        &mut self,
        now: Instant,
        origin: Origin,
        remote: SocketAddr,
        state: S::State,
        out: &mut dyn Egress,
    ) -> Result<ConnId, ConnectError> {
        let key = self.new_flow(origin, remote)?;
        Ok(self.connect_flow(now, key, origin.profile, state, out))
    }

    fn connect_flow(
        &mut self,
        now: Instant,
        key: FlowKey,
        profile: u16,
        state: S::State,
        out: &mut dyn Egress,
    ) -> ConnId {
        let config = &self.profiles[usize::from(profile)][family(key.remote)];
        let tcb = Connection::connect(now, config, self.isn.isn(now, &key));
        let reach = match self.host.neighbours.find(key.remote) {
            Some(peer) => Reach::At(Link { peer, vlan: None }),
            None => Reach::Resolving { tries: 0, next: now },
        };
        let slot = Slot { state, is_client: true, is_accepted: true, ..fresh_slot(key, tcb, reach, profile) };
        let index = self.table.insert(slot);
        let id = self.table.id(index);
        self.transmit(now, index, out);
        id
    }

    fn new_flow(&mut self, origin: Origin, remote: SocketAddr) -> Result<FlowKey, ConnectError> {
        if self.table.len() >= self.limits.connection_count_max {
            return Err(ConnectError::ConnectionLimit);
        }
        let remote_addr = remote.ip().into();
        let interface = &self.host.interface;
        let wanted = origin.addr.map(FlowAddr::from);
        if wanted.is_some_and(|wanted| !interface.has(wanted)) {
            return Err(ConnectError::NotOurAddress);
        }
        let ours = || {
            let own = interface.addresses().iter().filter(|a| a.is_ipv4() == remote.is_ipv4());
            own.filter(|a| wanted.is_none_or(|wanted| wanted == **a))
        };
        let address_count = ours().count() as u64;
        if address_count == 0 {
            return Err(ConnectError::NoAddress);
        }
        let ports = if origin.port == 0 { EPHEMERAL_PORTS } else { origin.port..=origin.port };
        // RFC 6056 section 3.3.1: a random place to start looking from.
        let place_count = ports.len() as u64 * address_count;
        let first = self.rng.below(place_count);
        let flow = |n: u64| {
            let place = (first + n) % place_count;
            let local = *ours().nth((place % address_count) as usize)?;
            let local_port = ports.start() + (place / address_count) as u16;
            Some(FlowKey { remote: remote_addr, local, remote_port: remote.port(), local_port })
        };
        let free = (0..place_count).filter_map(flow).find(|key| self.table.find(key).is_none());
        let key = free.ok_or(ConnectError::NoPort)?;
        self.time_waits.remove(&key);
        Ok(key)
    }

    /// Sends what connection `index` may send now, as far as there is room; then sets its timer.
    #[inline]
    pub(crate) fn transmit(&mut self, now: Instant, index: u32, out: &mut dyn Egress) {
        let Some(slot) = self.table.slot_mut(index) else { return };
        let Reach::At(link) = slot.reach else { return self.resolve(now, index, out) };
        let config = &self.profiles[usize::from(slot.profile)][family(slot.key.remote)];
        let mut gone = false;
        loop {
            if out.room() == 0 || out.pool().free_count() < RESERVE_COUNT {
                if !slot.is_waiting {
                    slot.is_waiting = true;
                    self.counters.tx_wait_count += 1;
                    self.waiting.push_back(index);
                }
                break;
            }
            let queue = &slot.queue;
            let bulk_len_max = out.bulk_len_max();
            if bulk_len_max > 0
                && let Some(bulk) =
                    slot.tcb.poll_transmit_bulk(now, config, bulk_len_max, &mut |offset, max| {
                        bulk_len::<S>(queue, offset, max)
                    })
            {
                match bulk_of(&mut self.service, queue, &bulk, out.pool()) {
                    Ok(frame) => {
                        let mss = slot.tcb.segment_len_max();
                        self.counters.tx_segment_count += (bulk.payload_len as u64).div_ceil(mss.into());
                        out.send(wrap_bulk(&self.host.interface, &link, &slot.key, &bulk, mss, frame));
                    }
                    Err(_) => self.drops.count(DropReason::NoFrame),
                }
                continue;
            }
            let next = slot.tcb.poll_transmit(now, config, &mut |offset, max| cut::<S>(queue, offset, max));
            let Some(segment) = next else { break };
            match payload_of(&mut self.service, &slot.queue, &segment, out.pool()) {
                Ok(payload) => {
                    let extra = slot.tcb.extra_options();
                    let frame = wrap(&self.host.interface, &link, &slot.key, &segment, extra, payload);
                    self.counters.tx_segment_count += 1;
                    out.send(frame);
                }
                // The segment counts as lost on the way; it is fetched again when it is missed.
                Err(FetchError::NoFrame) => self.drops.count(DropReason::NoFrame),
                Err(FetchError::Gone) if !gone => {
                    gone = true;
                    slot.tcb.abort();
                }
                Err(FetchError::Gone) => break,
            }
        }
        if gone {
            return self.bury(index, Closed::Aborted);
        }
        self.arm(index);
    }

    /// Asks for the peer's link address, or gives up.
    fn resolve(&mut self, now: Instant, index: u32, out: &mut dyn Egress) {
        let Some(slot) = self.table.slot_mut(index) else { return };
        let Reach::Resolving { tries, next } = slot.reach else { return };
        if let Some(peer) = self.host.neighbours.find(slot.key.remote) {
            slot.reach = Reach::At(Link { peer, vlan: None });
            return self.transmit(now, index, out);
        }
        if now < next {
            return;
        }
        if tries == SOLICIT_COUNT_MAX {
            self.drops.count(DropReason::NoNeighbour);
            return self.bury(index, Closed::TimedOut);
        }
        slot.reach = Reach::Resolving { tries: tries + 1, next: now + SOLICIT_INTERVAL };
        let (local, remote) = (slot.key.local, slot.key.remote);
        let first = self.host.neighbours.wait_for(remote, index);
        if (first || tries > 0)
            && let Err(reason) = self.host.solicit(local, remote, out)
        {
            self.drops.count(reason);
        }
        self.arm(index);
    }

    /// Moves the wheel's timer for `index` forward if something is due earlier. A timer that fires
    /// too early is found out by [`Stack::poll`] and costs less than moving it back each time.
    #[inline]
    fn arm(&mut self, index: u32) {
        let Some(slot) = self.table.slot_mut(index) else { return };
        let due = slot.next_due();
        if due < slot.armed_at {
            slot.armed_at = due;
            self.wheel.arm(index, due);
        }
    }

    /// Timers, wake-ups, and connections that waited for room. Call it once a round.
    pub fn poll(&mut self, now: Instant, out: &mut dyn Egress) {
        self.time_waits.expire(now);
        self.run_timers(now, out);
        while let Some(id) = self.service.poll_wake(now) {
            self.wake(now, id, out);
        }
        while let Some((remote, state)) = self.service.poll_connect(now) {
            match self.new_flow(Origin::default(), remote) {
                Ok(key) => {
                    self.connect_flow(now, key, 0, state, out);
                }
                Err(why) => {
                    self.service.on_connect_error(state, why);
                    break;
                }
            }
        }
        while let Some(index) = self.host.neighbours.poll_ready() {
            self.transmit(now, index, out);
        }
        self.resume_waiting(now, out);
    }

    /// When [`Stack::poll`] has something to do even if no frame arrives.
    pub fn next_deadline(&self) -> Option<Instant> {
        if !self.waiting.is_empty() {
            return Some(Instant::ZERO);
        }
        let times = [self.wheel.next_deadline(), self.time_waits.next_deadline()];
        times.into_iter().flatten().min()
    }

    fn run_timers(&mut self, now: Instant, out: &mut dyn Egress) {
        let mut due = std::mem::take(&mut self.due);
        self.wheel.expire(now, &mut |index| due.push(index));
        for index in due.drain(..) {
            self.on_due(now, index, out);
        }
        self.due = due;
    }

    fn on_due(&mut self, now: Instant, index: u32, out: &mut dyn Egress) {
        let Some(slot) = self.table.slot_mut(index) else { return };
        slot.armed_at = Instant::FAR_FUTURE;
        let (tcp_due, service_due) = (slot.tcb.deadline() <= now, slot.service_deadline <= now);
        if service_due {
            slot.service_deadline = Instant::FAR_FUTURE;
        }
        if tcp_due {
            let config = &self.profiles[usize::from(slot.profile)][family(slot.key.remote)];
            let outcome = slot.tcb.on_timer(now, config);
            self.settle(now, index, &outcome, crate::service::Actions::default(), out);
        }
        if service_due {
            self.call_service(now, index, out, |service, conn| service.on_timer(conn));
        }
        if !tcp_due && !service_due {
            self.transmit(now, index, out);
        }
    }

    fn resume_waiting(&mut self, now: Instant, out: &mut dyn Egress) {
        for _ in 0..self.waiting.len() {
            if out.room() == 0 {
                return;
            }
            let Some(index) = self.waiting.pop_front() else { return };
            if let Some(slot) = self.table.slot_mut(index) {
                slot.is_waiting = false;
                self.transmit(now, index, out);
            }
        }
    }
}

impl<S: Service> Slot<S> {
    fn next_due(&self) -> Instant {
        let resolving = match self.reach {
            Reach::At(_) => Instant::FAR_FUTURE,
            Reach::Resolving { next, .. } => next,
        };
        self.tcb.deadline().min(self.service_deadline).min(resolving)
    }
}

/// How long a segment from `offset` may be: within one response, as its service cuts it.
#[inline]
fn cut<S: Service>(queue: &SendQueue<S::Response>, offset: u64, max: usize) -> usize {
    let Some(entry) = queue.find(offset) else { return max };
    let left = usize::try_from(entry.end - offset).unwrap_or(usize::MAX);
    let max = max.min(left).max(1);
    S::segment_len(&entry.response, offset - entry.start, max).clamp(1, max)
}

/// How many bytes from `offset` on can be had as bulk: within one response.
#[inline]
fn bulk_len<S: Service>(queue: &SendQueue<S::Response>, offset: u64, max: usize) -> usize {
    let Some(entry) = queue.find(offset) else { return 0 };
    let left = usize::try_from(entry.end - offset).unwrap_or(usize::MAX);
    S::bulk_len(&entry.response, offset - entry.start, max.min(left))
}

#[inline]
fn bulk_of<S: Service>(
    service: &mut S,
    queue: &SendQueue<S::Response>,
    segment: &Outgoing,
    pool: &mut Pool,
) -> Result<Frame, FetchError> {
    let entry = queue.find(segment.offset).ok_or(FetchError::Gone)?;
    service.fetch_bulk(&entry.response, segment.offset - entry.start, segment.payload_len, pool)
}

/// The frame that a segment's headers go before.
#[inline]
fn payload_of<S: Service>(
    service: &mut S,
    queue: &SendQueue<S::Response>,
    segment: &Outgoing,
    pool: &mut Pool,
) -> Result<Payload, FetchError> {
    if segment.payload_len == 0 {
        let frame = pool.alloc().ok_or(FetchError::NoFrame)?;
        return Ok(Payload { frame, sum: Sum::ZERO });
    }
    let entry = queue.find(segment.offset).ok_or(FetchError::Gone)?;
    service.fetch(&entry.response, segment.offset - entry.start, segment.payload_len, pool)
}

/// The same for a frame with a tail: the lengths are those of the whole, and where the checksum belongs stands the sum
/// of the pseudo header, which whoever cuts it completes.
fn wrap_bulk(
    interface: &Interface,
    link: &Link,
    key: &FlowKey,
    segment: &Outgoing,
    mss: u32,
    mut frame: Frame,
) -> Frame {
    let repr = tidegate_wire::TcpRepr { src_port: key.local_port, dst_port: key.remote_port, ..segment.repr };
    let ip = ip_header(key, segment);
    let header_len = repr.header_len();
    let segment_len = header_len + segment.payload_len;
    if let Some(header) = frame.push_front(header_len) {
        repr.emit(Sum::ZERO, header);
        let pseudo = ip.pseudo_header_sum(segment_len).fold();
        header[tcp::CHECKSUM].copy_from_slice(&pseudo.to_be_bytes());
    }
    if let Some(header) = frame.push_front(ip.header_len()) {
        ip.emit(segment_len, header);
    }
    let before_link = frame.len();
    let is_ipv4 = key.remote.is_ipv4();
    link.push_header(&mut frame, interface.mac(), if is_ipv4 { EtherType::Ipv4 } else { EtherType::Ipv6 });
    let transport_start = frame.len() - before_link + ip.header_len();
    if let Some(tail) = frame.tail_mut() {
        tail.cut = Cut {
            is_ipv4,
            transport_start: transport_start as u16,
            header_len: (transport_start + header_len) as u16,
            segment_len: mss as u16,
        };
    }
    frame
}

fn ip_header(key: &FlowKey, segment: &Outgoing) -> IpRepr {
    IpRepr {
        src: key.local,
        dst: key.remote,
        protocol: Protocol::Tcp,
        hop_limit: HOP_LIMIT,
        ecn: segment.ecn,
    }
}

/// Pushes TCP, IP and link header before the payload. The headroom of a fresh frame holds them all
/// (14 + 4 + 40 + 60 of 256 bytes).
#[inline]
fn wrap(
    interface: &Interface,
    link: &Link,
    key: &FlowKey,
    segment: &Outgoing,
    extra_options: &[u8],
    payload: Payload,
) -> Frame {
    let Payload { mut frame, sum } = payload;
    let repr = tidegate_wire::TcpRepr { src_port: key.local_port, dst_port: key.remote_port, ..segment.repr };
    let ip = ip_header(key, segment);
    let header_len = repr.header_len() + extra_options.len();
    let segment_len = header_len + frame.len();
    if let Some(header) = frame.push_front(header_len) {
        repr.emit_with(extra_options, ip.pseudo_header_sum(segment_len) + sum, header);
    }
    if let Some(header) = frame.push_front(ip.header_len()) {
        ip.emit(segment_len, header);
    }
    let kind = if key.remote.is_ipv4() { EtherType::Ipv4 } else { EtherType::Ipv6 };
    link.push_header(&mut frame, interface.mac(), kind);
    frame
}
