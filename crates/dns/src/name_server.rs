//! The name server as the stack sees it: datagrams and connections in, answers out.
//!
//! ```text
//!   on_datagrams --burst--> Responder, ready answers; else Desk   -> answers in the frames they came in
//!   on_recv, on_acked ----> Tcp --message--> Desk                 -> blocks of answers
//! ```
//! One value a worker. The catalog is looked at anew for each burst and for each message on a connection, so what
//! is published is answered from the next one on.

use crate::counters::{DnsTally, Transport};
use crate::desk::{Desk, DeskConfig};
use crate::message::Query;
use crate::name::NameBuf;
use crate::query_log::{QueryLog, Record};
use crate::rrl::RateLimiter;
use crate::store::StoreCounters;
use crate::tcp::{Reply as TcpReply, Tcp, TcpCounters, TcpShared, TcpState};
use crate::transfer::clock::unix_ms;
use crate::transfer::outbound::Outbound;
use crate::udp::{self, Responder, UdpConfig, UdpCounters};
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::Arc;
use tidegate_base::Instant;
use tidegate_packet::Pool;
use tidegate_stack::{Closed, Conn, ConnId, Datagram, FetchError, Payload, Service};

/// One worker's name server.
pub struct NameServer {
    udp: Responder<Desk>,
    tcp: Tcp<Desk>,
    log: Option<QueryLog>,
    /// Of the burst that is being answered: what is logged, with its place.
    logged: Vec<(usize, Record)>,
}

impl NameServer {
    /// A worker's server: `desk` answers what is not ready to datagrams, `tcp` connections.
    pub fn new(desk: Desk, tcp: Tcp<Desk>) -> Self {
        Self::with_udp(desk, tcp, UdpConfig::default())
    }

    /// The same with other than the usual settings for datagrams.
    pub fn with_udp(desk: Desk, mut tcp: Tcp<Desk>, config: UdpConfig) -> Self {
        tcp.answerer_mut().share_tally(&desk);
        let tally = desk.tally();
        let mut udp = Responder::new(desk, config, seed());
        udp.set_tally(tally);
        udp.fill();
        Self { udp, tcp, log: None, logged: Vec::new() }
    }

    /// Its connections.
    pub const fn tcp_mut(&mut self) -> &mut Tcp<Desk> {
        &mut self.tcp
    }

    /// Its desk for datagrams.
    pub const fn desk_mut(&mut self) -> &mut Desk {
        self.udp.source_mut()
    }

    /// What its connections did.
    pub fn tcp_counters(&self) -> TcpCounters {
        self.tcp.tally().read()
    }

    /// What it was asked and answered, over UDP and TCP, to be read from anywhere.
    pub fn tally(&mut self) -> Arc<DnsTally> {
        self.udp.source_mut().tally()
    }

    /// What it did with datagrams.
    pub const fn udp_counters(&self) -> UdpCounters {
        self.udp.counters()
    }

    /// What it keeps ready.
    pub fn store_counters(&self) -> StoreCounters {
        self.udp.store_counters()
    }

    /// Limits how many like answers a network gets over UDP from now on, or no more. Limiters that are clones of
    /// one limit together.
    pub fn set_limiter(&mut self, limiter: Option<RateLimiter>) {
        self.udp.set_limiter(limiter);
    }

    /// Logs queries from now on, or no more.
    pub fn set_log(&mut self, log: Option<QueryLog>) {
        self.tcp.answerer_mut().set_log(log.clone());
        self.log = log;
    }

    /// Reads those of a burst whose turn it is to be logged, as long as they are what was asked.
    #[inline]
    fn note(&mut self, burst: &[Datagram]) {
        let Some(log) = &mut self.log else { return };
        let due = burst.iter().enumerate().filter(|_| log.is_turn());
        self.logged.extend(due.filter_map(|(at, datagram)| Some((at, record(datagram)?))));
    }

    /// Logs those, with what became of them.
    #[inline]
    fn log(&mut self, burst: &[Datagram]) {
        let Some(log) = &self.log else { return };
        for (at, record) in self.logged.drain(..) {
            let answer = burst.get(at).and_then(|datagram| udp::message(datagram, &datagram.reply));
            let record = if let Some(message) = answer { record.answered_by(message) } else { record };
            if !log.write(record) {
                self.udp.source_mut().tally().on_unlogged();
            }
        }
    }

    /// Goes on under other limits of connections.
    pub fn set_shared(&mut self, shared: Arc<TcpShared>) {
        self.tcp.set_shared(shared);
    }

    /// Goes on under other settings.
    pub fn set_config(&mut self, config: &Arc<DeskConfig>) {
        self.udp.set_size_max(config.udp_size);
        self.udp.source_mut().set_config(Arc::clone(config));
        self.tcp.answerer_mut().set_config(Arc::clone(config));
    }
}

/// What is logged of a datagram, if it is a query.
fn record(datagram: &Datagram) -> Option<Record> {
    let mut name = NameBuf::new();
    let query = Query::parse(datagram.data(), &mut name).ok()?;
    let peer = datagram.peer();
    Some(Record::of(&query, unix_ms(), peer, Transport::udp(peer.ip().to_canonical().is_ipv6())))
}

/// Drawn anew by each process, so that nobody who asks can make the keys of ready answers collide.
fn seed() -> u64 {
    RandomState::new().hash_one(0)
}

impl Service for NameServer {
    type Response = TcpReply;
    type State = TcpState<Box<Outbound>>;

    fn on_accept(&mut self, peer: SocketAddr, _local: SocketAddr) -> bool {
        self.tcp.on_accept(peer)
    }

    fn on_open(&mut self, conn: &mut Conn<'_, Self>) {
        self.tcp.on_open(conn);
    }

    fn on_recv(&mut self, conn: &mut Conn<'_, Self>, data: &[u8]) {
        self.tcp.on_recv(conn, data);
    }

    fn on_eof(&mut self, conn: &mut Conn<'_, Self>) {
        self.tcp.on_eof(conn);
    }

    fn on_acked(&mut self, conn: &mut Conn<'_, Self>) {
        self.tcp.on_acked(conn);
    }

    fn on_timer(&mut self, conn: &mut Conn<'_, Self>) {
        self.tcp.on_timer(conn);
    }

    fn on_wake(&mut self, conn: &mut Conn<'_, Self>) {
        self.tcp.on_wake(conn);
    }

    fn on_closed(&mut self, id: ConnId, _state: Self::State, why: Closed) {
        self.tcp.on_closed(id, why);
    }

    #[inline]
    fn response_len(response: &TcpReply) -> u64 {
        response.len()
    }

    #[inline]
    fn segment_len(_: &TcpReply, _: u64, max: usize) -> usize {
        max
    }

    fn fetch(
        &mut self,
        response: &TcpReply,
        offset: u64,
        len: usize,
        pool: &mut Pool,
    ) -> Result<Payload, FetchError> {
        response.fetch(offset, len, pool)
    }

    fn on_datagrams(&mut self, now: Instant, burst: &mut [Datagram], pool: &mut Pool) {
        self.note(burst);
        self.udp.on_datagrams(now, burst, pool);
        self.log(burst);
    }

    fn retire(&mut self, pool: &mut Pool) {
        self.udp.retire(pool);
    }
}

/// Tells at compile time that a server may move to its worker's thread.
const _: fn() = || {
    const fn sent<T: Send>() {}
    sent::<NameServer>();
};
