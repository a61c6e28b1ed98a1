//! The host: frames in, by header, to whoever they are for; timers; counters.
//!
//! ```text
//!   on_frame -> link -> ARP ------------------------------> host
//!                    -> IP  -> ICMP ----------------------> host, path news -> tcp
//!                           -> UDP  -> gathered -> Service::on_datagrams  (udp)
//!                           -> TCP  -> connection | TIME-WAIT | listener   (tcp_in)
//!                                        -> Service callbacks -> what can be sent now (tcp_out)
//!   poll     -> timers, wake-ups, connections that waited for room
//! ```

use crate::datagram::{BURST_LEN_MAX, Datagram};
use crate::egress::Egress;
use crate::flow::FlowKey;
use crate::host::{Host, PathNews};
use crate::interface::Interface;
use crate::link::{self, Link};
use crate::service::{ConnId, Service};
use crate::table::Table;
use crate::tcp_in::family;
use crate::time_wait::TimeWaitTable;
use crate::udp::Arrival;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use tidegate_base::{DropCounters, DropReason, FlowHasher, HashKey, Instant, Rng, Wheel};
use tidegate_packet::{Batch, Frame};
use tidegate_tcp::{Config, CookieJar, Info, IsnSource};
use tidegate_wire::icmp::IcmpError;
use tidegate_wire::{EtherType, FlowAddr, IpRepr, MacAddr, Protocol, WireError, ipv4, ipv6};

/// Secrets that the caller drew at random: nobody outside may guess them.
pub struct Secrets {
    /// For initial sequence numbers (RFC 6528).
    pub isn: HashKey,
    /// For SYN cookies.
    pub cookie: HashKey,
    /// For the flow table and for ephemeral ports.
    pub flow: u64,
}

/// How many connections there may be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections in all, half-open ones included.
    pub connection_count_max: usize,
    /// Half-open connections a listener; beyond it a SYN is answered by a cookie.
    pub backlog_len: usize,
    /// Connections remembered in TIME-WAIT.
    pub time_wait_count_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connection_count_max: 1 << 20, backlog_len: 1024, time_wait_count_max: 1 << 16 }
    }
}

/// What a stack did so far, and how many connections it has.
#[derive(Clone, Default, Debug)]
pub struct StackCounters {
    /// Connections there are now, half-open ones included.
    pub connection_count: u64,
    /// Connections whose handshake is not complete.
    pub half_open_count: u64,
    /// Connections in TIME-WAIT.
    pub time_wait_count: u64,
    /// Handshakes completed as a server.
    pub accepted_count: u64,
    /// Connections opened as a client.
    pub connected_count: u64,
    /// Connections that ended well.
    pub finished_count: u64,
    /// Connections that the peer reset or refused.
    pub reset_count: u64,
    /// Connections given up because the peer fell silent.
    pub timed_out_count: u64,
    /// Connections that this side aborted.
    pub aborted_count: u64,
    /// SYNs answered by a cookie.
    pub cookie_sent_count: u64,
    /// Cookies that came back right.
    pub cookie_accepted_count: u64,
    /// Segments received.
    pub rx_segment_count: u64,
    /// Segments sent.
    pub tx_segment_count: u64,
    /// How often a connection found no room to send.
    pub tx_wait_count: u64,
    /// Datagrams received whole.
    pub rx_datagram_count: u64,
    /// Datagrams sent.
    pub tx_datagram_count: u64,
}

/// What a flow needs to be listened for.
pub(crate) struct Listener {
    pub(crate) addr: Option<FlowAddr>,
    pub(crate) port: u16,
    pub(crate) profile: u16,
    pub(crate) half_open_count: usize,
}

/// A host for one service.
pub struct Stack<S: Service> {
    pub(crate) service: S,
    pub(crate) host: Host,
    pub(crate) listeners: Vec<Listener>,
    /// TCP settings, for IPv4 and for IPv6.
    pub(crate) profiles: Vec<[Config; 2]>,
    pub(crate) limits: Limits,
    pub(crate) table: Table<S>,
    pub(crate) time_waits: TimeWaitTable,
    pub(crate) wheel: Wheel,
    /// Connections that wait for room in the transmit ring, in order.
    pub(crate) waiting: VecDeque<u32>,
    pub(crate) due: Vec<u32>,
    pub(crate) isn: IsnSource,
    pub(crate) cookies: CookieJar,
    /// Until when an acknowledgement may be that of a cookie.
    pub(crate) cookies_out_until: Instant,
    pub(crate) rng: Rng,
    pub(crate) drops: DropCounters,
    pub(crate) counters: StackCounters,
    /// Datagrams of the batch at hand that wait for the service.
    pub(crate) burst: Vec<Datagram>,
}

impl<S: Service> Stack<S> {
    /// A stack at `interface` for `service`. `config` is the TCP profile of listeners and clients; its
    /// MSS is set from the interface.
    pub fn new(
        now: Instant,
        interface: Interface,
        config: Config,
        limits: Limits,
        secrets: &Secrets,
        service: S,
    ) -> Self {
        let hasher = FlowHasher::new(secrets.flow);
        let mut stack = Self {
            service,
            host: Host::new(interface),
            listeners: Vec::new(),
            profiles: Vec::new(),
            limits,
            table: Table::new(hasher),
            time_waits: TimeWaitTable::new(hasher, limits.time_wait_count_max),
            wheel: Wheel::new(now),
            waiting: VecDeque::new(),
            due: Vec::new(),
            isn: IsnSource::new(secrets.isn),
            cookies: CookieJar::new(secrets.cookie),
            cookies_out_until: Instant::ZERO,
            rng: Rng::new(secrets.flow),
            drops: DropCounters::new(),
            counters: StackCounters::default(),
            burst: Vec::with_capacity(BURST_LEN_MAX),
        };
        stack.add_profile(config);
        stack
    }

    /// Adds a TCP profile for [`Stack::listen_with`] and returns its number. Number zero is the one
    /// that the stack was made with.
    pub fn add_profile(&mut self, config: Config) -> u16 {
        let mss = |addr: IpAddr| self.host.interface.mss_for(addr.into());
        let v4 = mss(IpAddr::from([0u8; 4]));
        let v6 = mss(IpAddr::from([0u8; 16]));
        self.profiles.push([Config { mss: v4, ..config.clone() }, Config { mss: v6, ..config }]);
        (self.profiles.len() - 1) as u16
    }

    /// Accepts connections to `port` at `addr`, or at every address of the interface.
    pub fn listen(&mut self, addr: Option<IpAddr>, port: u16) {
        self.listen_with(addr, port, 0);
    }

    /// The same under another TCP profile.
    pub fn listen_with(&mut self, addr: Option<IpAddr>, port: u16, profile: u16) {
        let addr = addr.map(FlowAddr::from);
        self.listeners.push(Listener { addr, port, profile, half_open_count: 0 });
    }

    /// Takes back [`Stack::listen`] for the same address and port; connections that there are go on.
    pub fn stop_listening_at(&mut self, addr: Option<IpAddr>, port: u16) {
        let addr = addr.map(FlowAddr::from);
        self.listeners.retain(|listener| listener.addr != addr || listener.port != port);
    }

    /// Puts a connection under another TCP profile ([`Stack::add_profile`]), whose congestion control takes over if it is
    /// another one. False if it is gone.
    pub fn set_profile(&mut self, id: ConnId, profile: u16) -> bool {
        let (Some(index), true) = (self.table.locate(id), usize::from(profile) < self.profiles.len()) else {
            return false;
        };
        let Some(slot) = self.table.slot_mut(index) else { return false };
        let name = |profile: u16| self.profiles[usize::from(profile)][0].congestion.name;
        let before = std::mem::replace(&mut slot.profile, profile);
        if name(before) != name(profile) {
            slot.tcb.restart_congestion(&self.profiles[usize::from(profile)][family(slot.key.remote)]);
        }
        true
    }

    /// This end of a connection, unless it is gone.
    pub fn local(&self, id: ConnId) -> Option<SocketAddr> {
        Some(self.table.slot(self.table.locate(id)?)?.key.here())
    }

    /// What is known of a connection, unless it is gone.
    pub fn info(&self, id: ConnId) -> Option<Info> {
        let slot = self.table.slot(self.table.locate(id)?)?;
        Some(slot.tcb.info(&self.profiles[usize::from(slot.profile)][family(slot.key.remote)]))
    }

    /// The host's place in the network.
    pub const fn interface(&self) -> &Interface {
        &self.host.interface
    }

    /// Accepts no more connections; those there are go on.
    pub fn stop_listening(&mut self) {
        self.listeners.clear();
    }

    /// The service.
    pub const fn service(&self) -> &S {
        &self.service
    }

    /// The service, to change.
    pub fn service_mut(&mut self) -> &mut S {
        &mut self.service
    }

    /// Records the link address of a neighbour that connections will be opened to.
    pub fn set_neighbour(&mut self, addr: IpAddr, mac: MacAddr) {
        self.host.neighbours.set(addr.into(), mac);
    }

    /// A peer whose link address is wanted of the kernel, where that owns our addresses ([`Ownership::Ports`]):
    /// [`Stack::set_neighbour`] tells it. One that stays unknown is named again, and given up like any neighbour.
    ///
    /// [`Ownership::Ports`]: crate::Ownership::Ports
    pub fn poll_unresolved(&mut self) -> Option<IpAddr> {
        self.host.neighbours.poll_unresolved().map(IpAddr::from)
    }

    /// Whether [`Stack::poll_unresolved`] has one.
    pub fn has_unresolved(&self) -> bool {
        self.host.neighbours.has_unresolved()
    }

    /// Forgets what [`Stack::set_neighbour`] said, so that it is asked anew. Connections that there are go on.
    pub fn forget_neighbour(&mut self, addr: IpAddr) {
        self.host.neighbours.forget(addr.into());
    }

    /// What it did so far.
    pub fn counters(&self) -> StackCounters {
        StackCounters {
            connection_count: self.table.len() as u64,
            half_open_count: self.listeners.iter().map(|l| l.half_open_count as u64).sum(),
            time_wait_count: self.time_waits.len() as u64,
            ..self.counters.clone()
        }
    }

    /// Packets not served, by reason.
    pub const fn drops(&self) -> &DropCounters {
        &self.drops
    }

    /// Takes a received frame; it is back in the pool, or is the answer, when this returns.
    #[inline]
    pub fn on_frame(&mut self, now: Instant, frame: Frame, out: &mut dyn Egress) {
        self.take(now, frame, out);
        self.answer_burst(now, out);
    }

    /// The same for received frames that came together: their datagrams reach the service together.
    #[inline]
    pub fn on_batch(&mut self, now: Instant, batch: &mut Batch, out: &mut dyn Egress) {
        for frame in batch.drain() {
            self.take(now, frame, out);
        }
        self.answer_burst(now, out);
    }

    #[inline]
    fn take(&mut self, now: Instant, frame: Frame, out: &mut dyn Egress) {
        match self.receive(now, frame.data(), out) {
            Ok(Some(arrival)) => return self.gather(now, frame, arrival, out),
            Ok(None) => {}
            Err(reason) => self.drops.count(reason),
        }
        out.pool().free(frame);
    }

    /// Serves a frame, or says where in it the datagram is that must wait for its like.
    #[inline]
    fn receive(
        &mut self,
        now: Instant,
        frame: &[u8],
        out: &mut dyn Egress,
    ) -> Result<Option<Arrival>, DropReason> {
        let header = link::parse(frame).map_err(drop_reason)?;
        if header.dst != self.host.interface.mac() && !header.dst.is_group() {
            return Err(DropReason::NotOurMac);
        }
        let packet = &frame[header.len..];
        let (ip, ip_header_len, body) = match header.kind {
            EtherType::Ipv4 => read_ipv4(packet)?,
            EtherType::Ipv6 => read_ipv6(packet)?,
            EtherType::Arp => return self.host.on_arp(header.link, packet, out).map(|()| None),
            _ => return Err(DropReason::UnknownProtocol),
        };
        if ip.protocol == Protocol::Udp {
            self.check_ends(&ip)?;
            return Arrival::read(&self.host.interface, header.len, ip_header_len, &ip, body).map(Some);
        }
        self.on_ip(now, header.link, &ip, body, out).map(|()| None)
    }

    fn on_ip(
        &mut self,
        now: Instant,
        link: Link,
        ip: &IpRepr,
        body: &[u8],
        out: &mut dyn Egress,
    ) -> Result<(), DropReason> {
        match ip.protocol {
            Protocol::Tcp => {
                self.check_ends(ip)?;
                self.on_tcp(now, link, ip, body, out)
            }
            Protocol::Icmp | Protocol::Icmpv6 => {
                let news = self.host.on_icmp(link, ip, body, out)?;
                news.map_or(Ok(()), |news| self.on_path_news(now, &news, out))
            }
            _ => Err(DropReason::UnknownProtocol),
        }
    }

    /// RFC 1122 section 3.2.1.3: only to us, and only from where an answer can go.
    #[inline]
    fn check_ends(&self, ip: &IpRepr) -> Result<(), DropReason> {
        if !self.host.interface.has(ip.dst) {
            return Err(DropReason::NotOurAddress);
        }
        if !ip.src.is_valid_source() || self.host.interface.has(ip.src) {
            return Err(DropReason::MartianSource);
        }
        Ok(())
    }

    fn on_path_news(
        &mut self,
        now: Instant,
        news: &PathNews,
        out: &mut dyn Egress,
    ) -> Result<(), DropReason> {
        let flow = &news.flow;
        let key = FlowKey {
            remote: flow.dst,
            local: flow.src,
            remote_port: flow.dst_port,
            local_port: flow.src_port,
        };
        let index = self.table.find(&key).filter(|_| flow.protocol == Protocol::Tcp);
        let index = index.ok_or(DropReason::NoListener)?;
        match news.error {
            IcmpError::PacketTooBig { mtu } => self.on_path_mtu(now, index, flow.seq, mtu, out),
            IcmpError::PortUnreachable | IcmpError::Unreachable => {
                self.on_unreachable(now, index, flow.seq, out);
            }
        }
        Ok(())
    }

    /// Has [`Service::on_wake`] called for every connection that the service let in, so that it can
    /// close those that have nothing under way.
    pub fn wake_all(&mut self, now: Instant, out: &mut dyn Egress) {
        let accepted = |index: &u32| self.table.slot(*index).is_some_and(|slot| slot.is_accepted);
        let indices: Vec<u32> = self.table.indices().filter(accepted).collect();
        for index in indices {
            self.call_service(now, index, out, |service, conn| service.on_wake(conn));
        }
    }

    /// Lets a connection's service act on it outside a callback. False if it is gone.
    pub fn wake(&mut self, now: Instant, id: ConnId, out: &mut dyn Egress) -> bool {
        let Some(index) = self.table.locate(id) else { return false };
        self.call_service(now, index, out, |service, conn| service.on_wake(conn));
        true
    }
}

/// The header of an IPv4 packet, how long it is there, and the payload.
#[inline]
fn read_ipv4(packet: &[u8]) -> Result<(IpRepr, usize, &[u8]), DropReason> {
    let (header, body) = ipv4::Ipv4Header::parse(packet).map_err(drop_reason)?;
    if !header.checksum_ok(packet) {
        return Err(DropReason::BadChecksum);
    }
    Ok((header.repr(), header.header_len(), body))
}

/// The same of an IPv6 packet.
#[inline]
fn read_ipv6(packet: &[u8]) -> Result<(IpRepr, usize, &[u8]), DropReason> {
    let (header, body) = ipv6::Ipv6Header::parse(packet).map_err(drop_reason)?;
    Ok((header.repr(), ipv6::HEADER_LEN, body))
}

pub(crate) fn drop_reason(error: WireError) -> DropReason {
    match error {
        WireError::Truncated | WireError::Malformed => DropReason::Malformed,
        WireError::Fragment => DropReason::Fragment,
        WireError::Unsupported => DropReason::UnknownProtocol,
    }
}
