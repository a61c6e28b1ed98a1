//! Both roles of the tests' protocol as a service of our stack.

use crate::pattern::{Transfer, byte_at, check};
use std::collections::VecDeque;
use std::net::SocketAddr;
use tidegate_base::{Instant, Sum};
use tidegate_packet::Pool;
use tidegate_stack::{Closed, Conn, ConnId, ConnectError, FetchError, Payload, Service};

/// What a connection sends.
pub(crate) enum Message {
    Bytes(Vec<u8>),
    Pattern(u64),
}

/// What comes next on a connection.
#[derive(Default)]
pub(crate) struct Progress {
    /// As a client: transfers still to ask for, the one under way first.
    plan: VecDeque<Transfer>,
    /// The bytes of a request that came in pieces.
    partial: Vec<u8>,
    /// Pattern bytes still to come, and where they are.
    expected: u64,
    offset: u64,
    /// A byte that says that an upload arrived is still to come.
    awaits_word: bool,
}

/// Serves transfers, and asks for some itself.
#[derive(Default)]
pub(crate) struct Transfers {
    to_open: Vec<(SocketAddr, VecDeque<Transfer>)>,
    pub(crate) done_count: usize,
    pub(crate) closed: Vec<Closed>,
}

impl Transfers {
    /// Will open a connection to `remote` and go through `plan` on it.
    pub(crate) fn open(&mut self, remote: SocketAddr, plan: &[Transfer]) {
        self.to_open.push((remote, plan.iter().copied().collect()));
    }

    fn ask_next(&mut self, conn: &mut Conn<'_, Self>) {
        let Some(transfer) = conn.state().plan.front().copied() else { return conn.close() };
        conn.write(Message::Bytes(transfer.to_bytes().to_vec()));
        match transfer {
            Transfer::Download(len) => conn.state().expected = len,
            Transfer::Upload(len) => {
                conn.state().awaits_word = true;
                conn.write(Message::Pattern(len));
            }
        }
        conn.state().offset = 0;
    }

    fn finish_one(&mut self, conn: &mut Conn<'_, Self>) {
        self.done_count += 1;
        if conn.state().plan.pop_front().is_some() {
            self.ask_next(conn);
        } else {
            conn.write(Message::Bytes(b"k".to_vec()));
        }
    }

    /// Takes what belongs to the transfer under way; returns how much that was.
    fn take_pattern(&mut self, conn: &mut Conn<'_, Self>, data: &[u8]) -> usize {
        let state = conn.state();
        let len = data.len().min(state.expected as usize);
        check(&data[..len], state.offset);
        state.offset += len as u64;
        state.expected -= len as u64;
        if state.expected == 0 {
            self.finish_one(conn);
        }
        len
    }

    fn take_request(&mut self, conn: &mut Conn<'_, Self>, data: &[u8]) -> usize {
        let partial = &mut conn.state().partial;
        let len = data.len().min(8 - partial.len());
        partial.extend_from_slice(&data[..len]);
        if let Ok(request) = <[u8; 8]>::try_from(&partial[..]) {
            partial.clear();
            match Transfer::from_bytes(request) {
                Transfer::Download(len) => conn.write(Message::Pattern(len)),
                Transfer::Upload(len) => (conn.state().expected, conn.state().offset) = (len, 0),
            }
        }
        len
    }
}

impl Service for Transfers {
    type Response = Message;
    type State = Progress;

    fn on_accept(&mut self, _: SocketAddr, _: SocketAddr) -> bool {
        true
    }

    fn on_open(&mut self, conn: &mut Conn<'_, Self>) {
        if !conn.state().plan.is_empty() {
            self.ask_next(conn);
        }
    }

    fn on_recv(&mut self, conn: &mut Conn<'_, Self>, mut data: &[u8]) {
        while !data.is_empty() {
            let taken = if conn.state().expected > 0 {
                self.take_pattern(conn, data)
            } else if std::mem::take(&mut conn.state().awaits_word) {
                self.finish_one(conn);
                1
            } else {
                self.take_request(conn, data)
            };
            data = &data[taken..];
        }
    }

    fn on_closed(&mut self, _: ConnId, _: Progress, why: Closed) {
        self.closed.push(why);
    }

    fn poll_connect(&mut self, _: Instant) -> Option<(SocketAddr, Progress)> {
        let (remote, plan) = self.to_open.pop()?;
        Some((remote, Progress { plan, ..Progress::default() }))
    }

    fn on_connect_error(&mut self, _: Progress, why: ConnectError) {
        panic!("cannot connect: {why}");
    }

    fn response_len(message: &Message) -> u64 {
        match message {
            Message::Bytes(bytes) => bytes.len() as u64,
            Message::Pattern(len) => *len,
        }
    }

    fn segment_len(_: &Message, _: u64, max: usize) -> usize {
        max
    }

    fn fetch(
        &mut self,
        message: &Message,
        offset: u64,
        len: usize,
        pool: &mut Pool,
    ) -> Result<Payload, FetchError> {
        let mut frame = pool.alloc().ok_or(FetchError::NoFrame)?;
        let room = frame.push_back(len).ok_or(FetchError::Gone)?;
        match message {
            Message::Bytes(bytes) => room.copy_from_slice(&bytes[offset as usize..][..len]),
            Message::Pattern(_) => room.iter_mut().zip(offset..).for_each(|(b, at)| *b = byte_at(at)),
        }
        let sum = Sum::of(frame.data());
        Ok(Payload { frame, sum })
    }
}
