//! The name server as the stack sees it: datagrams and connections in, answers out.
//!
//! ```text
//!   on_datagrams --burst--> Desk, one by one                      -> answers in the frames they came in
//!   on_recv, on_acked ----> Tcp --message--> Desk                 -> blocks of answers
//! ```
//! One value a worker. The catalog is looked at anew for each message, so what is published is answered from the
//! next message on.

use crate::desk::{Asker, Desk, Way};
use crate::tcp::{Answered, Reply as TcpReply, Tcp, TcpCounters, TcpShared, TcpState};
use crate::transfer::outbound::Outbound;
use std::net::SocketAddr;
use std::sync::Arc;
use tidegate_base::Instant;
use tidegate_packet::Pool;
use tidegate_stack::{Closed, Conn, ConnId, Datagram, FetchError, Payload, Reply, Service};

/// The longest answer over UDP, whatever the client takes.
const UDP_SIZE_MAX: usize = 1232;

/// One worker's name server.
pub struct Namestorm {
    desk: Desk,
    tcp: Tcp<Desk>,
    room: Box<[u8; UDP_SIZE_MAX]>,
}

impl Namestorm {
    /// A worker's server: `desk` answers datagrams, `tcp` connections.
    pub fn new(desk: Desk, tcp: Tcp<Desk>) -> Self {
        Self { desk, tcp, room: Box::new([0; UDP_SIZE_MAX]) }
    }

    /// Its connections.
    pub const fn tcp_mut(&mut self) -> &mut Tcp<Desk> {
        &mut self.tcp
    }

    /// What its connections did.
    pub fn tcp_counters(&self) -> TcpCounters {
        self.tcp.tally().read()
    }

    /// Goes on under other limits.
    pub fn set_shared(&mut self, shared: Arc<TcpShared>) {
        self.tcp.set_shared(shared);
    }

    fn reply(&mut self, datagram: &mut Datagram) -> Reply {
        let size_max = datagram.answer_len_max().min(UDP_SIZE_MAX);
        let asker = Asker { peer: datagram.peer(), way: Way::Udp { size_max } };
        match self.desk.answer(datagram.data(), asker, &mut self.room[..]) {
            Answered::Message(len) => {
                let frame = datagram.frame_mut();
                frame.truncate(0);
                if frame.extend(&self.room[..len]) {
                    datagram.answer_in_place();
                }
                std::mem::take(&mut datagram.reply)
            }
            Answered::Transfer(_) | Answered::Hopeless => Reply::Silence,
        }
    }
}

impl Service for Namestorm {
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

    fn on_datagrams(&mut self, _now: Instant, burst: &mut [Datagram], _pool: &mut Pool) {
        for datagram in burst {
            datagram.reply = self.reply(datagram);
        }
    }
}

/// Tells at compile time that a server may move to its worker's thread.
const _: fn() = || {
    const fn sent<T: Send>() {}
    sent::<Namestorm>();
};
