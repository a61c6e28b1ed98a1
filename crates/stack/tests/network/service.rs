//! A service for tests. A request is eight bytes, the length wanted; the answer is that many bytes
//! of a fixed pattern. The client asks so many times, checks every byte, then closes.
use std::net::SocketAddr;
use tidegate_base::{DropReason, Instant, Sum};
use tidegate_packet::Pool;
use tidegate_stack::{Closed, Conn, ConnId, Datagram, FetchError, Payload, Reply, Service};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

/// Bytes to send.
#[derive(Clone)]
pub struct Answer {
    pub len: u64,
}

/// The answer's byte at `offset`.
pub fn pattern(offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9) >> 13) as u8
}

#[derive(Default)]
pub struct State {
    requests_left: u32,
    len: u64,
    received: u64,
    partial: Vec<u8>,
    owes_half: bool,
}

impl State {
    pub fn client(requests: u32, len: u64) -> Self {
        Self { requests_left: requests, len, ..Self::default() }
    }
}

/// What a connection sends: a request or an answer.
pub enum Message {
    Request(u64),
    /// A request's first or second four bytes.
    Half(u64, usize),
    Answer(Answer),
}

pub struct Peer {
    side: Side,
    pub refuse: bool,
    pub answered: u32,
    pub closed: Vec<Closed>,
    pub lies: bool,
    pub woken: u32,
    /// How many datagrams came together, each time.
    pub bursts: Vec<usize>,
    /// Writes a request in two pieces, the second when the first is acknowledged.
    pub halves_requests: bool,
}

impl Peer {
    pub fn new(side: Side) -> Self {
        Self {
            side,
            refuse: false,
            answered: 0,
            closed: Vec::new(),
            lies: false,
            woken: 0,
            bursts: Vec::new(),
            halves_requests: false,
        }
    }

    fn on_request_bytes(&mut self, conn: &mut Conn<'_, Self>, data: &[u8]) {
        conn.state().partial.extend_from_slice(data);
        while conn.state().partial.len() >= 8 {
            let rest = conn.state().partial.split_off(8);
            let request = std::mem::replace(&mut conn.state().partial, rest);
            let len = u64::from_be_bytes(request.try_into().unwrap());
            conn.write(Message::Answer(Answer { len }));
        }
    }

    fn on_answer_bytes(&mut self, conn: &mut Conn<'_, Self>, data: &[u8]) {
        for byte in data {
            let state = conn.state();
            assert_eq!(*byte, pattern(state.received), "at {}", state.received);
            state.received += 1;
            if state.received == state.len {
                state.received = 0;
                self.answered += 1;
                self.ask(conn);
            }
        }
    }

    fn ask(&mut self, conn: &mut Conn<'_, Self>) {
        let len = conn.state().len;
        match conn.state().requests_left.checked_sub(1) {
            Some(left) => {
                conn.state().requests_left = left;
                if self.halves_requests {
                    conn.write(Message::Half(len, 0));
                } else {
                    conn.write(Message::Request(len));
                }
                conn.state().owes_half = self.halves_requests;
            }
            None => conn.close(),
        }
    }
}

impl Service for Peer {
    type Response = Message;
    type State = State;

    fn on_accept(&mut self, _: SocketAddr, _: SocketAddr) -> bool {
        !self.refuse
    }

    fn on_open(&mut self, conn: &mut Conn<'_, Self>) {
        if self.side == Side::Client {
            self.ask(conn);
        }
    }

    fn on_recv(&mut self, conn: &mut Conn<'_, Self>, data: &[u8]) {
        match self.side {
            Side::Server => self.on_request_bytes(conn, data),
            Side::Client => self.on_answer_bytes(conn, data),
        }
    }

    fn on_sent(&mut self, conn: &mut Conn<'_, Self>) {
        if std::mem::take(&mut conn.state().owes_half) {
            let len = conn.state().len;
            conn.write(Message::Half(len, 1));
        }
    }

    fn on_wake(&mut self, conn: &mut Conn<'_, Self>) {
        self.woken += 1;
        conn.close();
    }

    fn on_closed(&mut self, _: ConnId, _: State, why: Closed) {
        self.closed.push(why);
    }

    fn response_len(message: &Message) -> u64 {
        match message {
            Message::Request(_) => 8,
            Message::Half(..) => 4,
            Message::Answer(answer) => answer.len,
        }
    }

    fn segment_len(_: &Message, offset: u64, max: usize) -> usize {
        // Packets of 1,000 bytes, so that the cuts are not TCP's own.
        max.min(1000 - (offset % 1000) as usize)
    }

    fn fetch(
        &mut self,
        message: &Message,
        offset: u64,
        len: usize,
        pool: &mut Pool,
    ) -> Result<Payload, FetchError> {
        if self.lies {
            return Err(FetchError::Gone);
        }
        let mut frame = pool.alloc().ok_or(FetchError::NoFrame)?;
        let bytes: Vec<u8> = match message {
            Message::Request(len_wanted) => len_wanted.to_be_bytes()[offset as usize..][..len].to_vec(),
            Message::Half(len_wanted, which) => {
                len_wanted.to_be_bytes()[which * 4 + offset as usize..][..len].to_vec()
            }
            Message::Answer(_) => (offset..offset + len as u64).map(pattern).collect(),
        };
        assert!(frame.extend(&bytes));
        Ok(Payload { sum: Sum::of(&bytes), frame })
    }

    /// Port 7 has the request back to front, in its own frame; port 8 the same in a fresh one; port 10 an
    /// answer of as many bytes as the request's first two say; port 11 is silent; others are closed.
    fn on_datagrams(&mut self, _: Instant, burst: &mut [Datagram], pool: &mut Pool) {
        self.bursts.push(burst.len());
        for datagram in burst {
            datagram.reply = match datagram.local_port() {
                7 => {
                    datagram.data_mut().reverse();
                    Reply::InPlace(Sum::of(datagram.data()))
                }
                8 => by_fresh_frame(datagram.data().iter().rev().copied(), pool),
                10 => {
                    let len = u16::from_be_bytes([datagram.data()[0], datagram.data()[1]]);
                    by_fresh_frame((0..u64::from(len)).map(pattern), pool)
                }
                11 => Reply::Silence,
                _ => Reply::Refuse,
            }
        }
    }
}

fn by_fresh_frame(bytes: impl Iterator<Item = u8>, pool: &mut Pool) -> Reply {
    let Some(mut frame) = pool.alloc() else { return Reply::Drop(DropReason::NoFrame) };
    let bytes: Vec<u8> = bytes.collect();
    assert!(frame.extend(&bytes));
    Reply::By(Payload { sum: Sum::of(&bytes), frame })
}
