//! A server whose answers the query orders, at the end of a cable.
use crate::server::{MadeCount, Orders, Server};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use tidegate_dns::tcp::{Bounds, Tcp, TcpCounters, TcpShared};
use tidegate_fixture::Cable;
use tidegate_stack::ConnId;

pub(crate) struct Net {
    cable: Cable<Server>,
    pub(crate) shared: Arc<TcpShared>,
    pub(crate) made_count: MadeCount,
}

impl Deref for Net {
    type Target = Cable<Server>;

    fn deref(&self) -> &Cable<Server> {
        &self.cable
    }
}

impl DerefMut for Net {
    fn deref_mut(&mut self) -> &mut Cable<Server> {
        &mut self.cable
    }
}

impl Net {
    pub(crate) fn new(bounds: Bounds) -> Self {
        let (shared, made_count) = (TcpShared::new(bounds), MadeCount::default());
        let orders = Orders { made_count: made_count.clone() };
        let server = Server { tcp: Tcp::new(Arc::clone(&shared), orders), closed: Vec::new() };
        Self { cable: Cable::new(server, 53), shared, made_count }
    }

    pub(crate) fn open(&mut self) -> ConnId {
        let id = self.cable.open();
        self.steps(4, 0);
        id
    }

    /// Steps until `is_done`, a millisecond each.
    pub(crate) fn run_until(&mut self, what: &str, mut is_done: impl FnMut(&mut Self) -> bool) {
        for _ in 0..100_000 {
            if is_done(self) {
                return;
            }
            self.step(1);
        }
        panic!("never {what}");
    }

    /// The messages that came whole: the number of each, and its length.
    pub(crate) fn messages(&mut self, id: ConnId) -> Vec<(u16, usize)> {
        let mut stream = self.received(id);
        let mut messages = Vec::new();
        while let Some((prefix, rest)) = stream.split_first_chunk::<2>() {
            let len = usize::from(u16::from_be_bytes(*prefix));
            let Some((message, rest)) = rest.split_at_checked(len) else { break };
            messages.push((u16::from_be_bytes([message[0], message[1]]), len));
            stream = rest;
        }
        messages
    }

    pub(crate) fn await_messages(&mut self, id: ConnId, count: usize) -> Vec<(u16, usize)> {
        self.run_until("so many messages", |net| net.messages(id).len() >= count);
        self.messages(id)
    }

    pub(crate) fn counters(&self) -> TcpCounters {
        self.server.service().tcp.tally().read()
    }
}

/// A query behind its length.
pub(crate) fn query(number: u16, kind: u8, size: u16) -> Vec<u8> {
    let ([a, b], [c, d]) = (number.to_be_bytes(), size.to_be_bytes());
    vec![0, 5, a, b, kind, c, d]
}
