//! A server whose answers the query orders.
//!
//! ```text
//!   | number 2 | kind 1 | size 2 |      kind 0: an answer of `size` bytes, the number first
//!                                       kind 1: a transfer of `size` messages, 20,000 bytes each
//!                                       kind 2: no message at all
//!                                       kind 3: a transfer that fails after `size` messages
//! ```
use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use tidegate_dns::tcp::{Answered, Answerer, Asked, Messages, NextMessage, Reply, Tcp, TcpState};
use tidegate_packet::Pool;
use tidegate_stack::{Closed, Conn, ConnId, FetchError, Payload, Service};

pub(crate) const TRANSFER_MESSAGE_LEN: usize = 20_000;

/// How many messages of transfers were made.
pub(crate) type MadeCount = Rc<Cell<usize>>;

pub(crate) struct Orders {
    pub(crate) made_count: MadeCount,
}

pub(crate) struct Ordered {
    number: [u8; 2],
    left: u16,
    fails: bool,
    made_count: MadeCount,
}

impl Answerer for Orders {
    type Transfer = Ordered;

    fn answer(&mut self, asked: Asked<'_>, room: &mut [u8]) -> Answered<Ordered> {
        let [a, b, kind, c, d] = *asked.message else { return Answered::Hopeless };
        let size = u16::from_be_bytes([c, d]);
        match kind {
            0 => {
                room[..usize::from(size)].fill(kind);
                room[..2].copy_from_slice(&[a, b]);
                Answered::Message(size.into())
            }
            1 | 3 => {
                let made_count = Rc::clone(&self.made_count);
                Answered::Transfer(Ordered { number: [a, b], left: size, fails: kind == 3, made_count })
            }
            _ => Answered::Hopeless,
        }
    }
}

impl Messages for Ordered {
    fn next_message(&mut self, room: &mut [u8]) -> NextMessage {
        if self.left == 0 {
            return NextMessage::Failed;
        }
        self.left -= 1;
        self.made_count.set(self.made_count.get() + 1);
        room[..TRANSFER_MESSAGE_LEN].fill(self.left as u8);
        room[..2].copy_from_slice(&self.number);
        match self.left {
            0 if !self.fails => NextMessage::Last(TRANSFER_MESSAGE_LEN),
            _ => NextMessage::More(TRANSFER_MESSAGE_LEN),
        }
    }
}

pub(crate) struct Server {
    pub(crate) tcp: Tcp<Orders>,
    pub(crate) closed: Vec<Closed>,
}

impl Service for Server {
    type Response = Reply;
    type State = TcpState<Ordered>;

    fn on_accept(&mut self, peer: SocketAddr, _: SocketAddr) -> bool {
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

    fn on_closed(&mut self, id: ConnId, _: Self::State, why: Closed) {
        self.tcp.on_closed(id, why);
        self.closed.push(why);
    }

    fn response_len(reply: &Reply) -> u64 {
        reply.len()
    }

    fn segment_len(_: &Reply, _: u64, max: usize) -> usize {
        max
    }

    fn fetch(
        &mut self,
        reply: &Reply,
        offset: u64,
        len: usize,
        pool: &mut Pool,
    ) -> Result<Payload, FetchError> {
        reply.fetch(offset, len, pool)
    }
}
