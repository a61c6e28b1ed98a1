//! A server, a client, and the cable between them. Time is the test's.
use crate::client::Client;
use crate::server::{MadeCount, Orders, Server};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tidegate_base::{Duration, HashKey, Instant};
use tidegate_dns::tcp::{Bounds, Tcp, TcpCounters, TcpShared};
use tidegate_packet::{Frame, HeapMemory, Pool};
use tidegate_stack::{Closed, ConnId, Egress, Interface, Limits, Ownership, Secrets, Stack, TcpConfig};
use tidegate_wire::MacAddr;

const SERVER: &str = "10.77.0.2";
const CLIENT: &str = "10.77.0.1";
const FRAME_COUNT: usize = 2048;

struct End {
    pool: Pool,
    sent: Vec<Frame>,
}

impl Egress for End {
    fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }
    fn room(&mut self) -> usize {
        512_usize.saturating_sub(self.sent.len())
    }
    fn send(&mut self, frame: Frame) {
        self.sent.push(frame);
    }
}

impl End {
    fn new() -> Self {
        let memory = HeapMemory::new(FRAME_COUNT * 2048);
        Self { pool: Pool::new(Box::new(memory), 2048).unwrap(), sent: Vec::new() }
    }

    fn take_sent(&mut self) -> Vec<Vec<u8>> {
        let frames = std::mem::take(&mut self.sent);
        let bytes = |frame: Frame| {
            let bytes = frame.data().to_vec();
            self.pool.free(frame);
            bytes
        };
        frames.into_iter().map(bytes).collect()
    }
}

pub(crate) struct Net {
    pub(crate) now: Instant,
    pub(crate) client: Stack<Client>,
    pub(crate) server: Stack<Server>,
    pub(crate) shared: Arc<TcpShared>,
    pub(crate) made_count: MadeCount,
    client_end: End,
    server_end: End,
}

fn interface(number: u8, address: &str) -> Interface {
    let address: IpAddr = address.parse().unwrap();
    Interface::new(MacAddr([2, 0, 0, 0, 0, number]), [address], 1500, Ownership::Address)
}

fn secrets(salt: u8) -> Secrets {
    Secrets { isn: HashKey::new([salt; 16]), cookie: HashKey::new([salt + 9; 16]), flow: salt.into() }
}

fn carry<S: tidegate_stack::Service>(now: Instant, from: &mut End, to: &mut Stack<S>, to_end: &mut End) {
    for bytes in from.take_sent() {
        let mut frame = to_end.pool.alloc().expect("a free frame");
        assert!(frame.extend(&bytes));
        to.on_frame(now, frame, to_end);
    }
}

impl Net {
    pub(crate) fn new(bounds: Bounds) -> Self {
        let (shared, made_count) = (TcpShared::new(bounds), MadeCount::default());
        let orders = Orders { made_count: made_count.clone() };
        let server = Server { tcp: Tcp::new(Arc::clone(&shared), orders), closed: Vec::new() };
        let (at, limits, config) = (Instant::from_millis(1), Limits::default(), TcpConfig::default());
        let mut server = Stack::new(at, interface(2, SERVER), config.clone(), limits, &secrets(2), server);
        server.listen(None, 53);
        let client = Stack::new(at, interface(1, CLIENT), config, limits, &secrets(1), Client::default());
        Self { now: at, client, server, shared, made_count, client_end: End::new(), server_end: End::new() }
    }

    pub(crate) fn open(&mut self) -> ConnId {
        let remote = SocketAddr::new(SERVER.parse().unwrap(), 53);
        let id = self.client.connect(self.now, remote, (), &mut self.client_end).unwrap();
        self.steps(4, 0);
        id
    }

    /// Sends bytes as one write: a segment, if they fit one.
    pub(crate) fn send(&mut self, id: ConnId, bytes: &[u8]) {
        self.client.service_mut().queue(id, bytes);
        self.client.wake(self.now, id, &mut self.client_end);
    }

    /// Ends the client's side.
    pub(crate) fn finish(&mut self, id: ConnId) {
        self.client.service_mut().exchange(id).wants_close = true;
        self.client.wake(self.now, id, &mut self.client_end);
    }

    /// Lets the client's window close, or opens it.
    pub(crate) fn hold(&mut self, id: ConnId, on: bool) {
        self.client.service_mut().exchange(id).wants_hold = on;
        self.client.wake(self.now, id, &mut self.client_end);
    }

    /// Carries what was sent, both ways, then lets `ms` milliseconds pass.
    pub(crate) fn step(&mut self, ms: u64) {
        carry(self.now, &mut self.client_end, &mut self.server, &mut self.server_end);
        carry(self.now, &mut self.server_end, &mut self.client, &mut self.client_end);
        self.now += Duration::from_millis(ms);
        self.client.poll(self.now, &mut self.client_end);
        self.server.poll(self.now, &mut self.server_end);
    }

    pub(crate) fn steps(&mut self, count: usize, ms: u64) {
        for _ in 0..count {
            self.step(ms);
        }
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

    /// Has the server look at each of its connections.
    pub(crate) fn wake_all(&mut self) {
        self.server.wake_all(self.now, &mut self.server_end);
    }

    pub(crate) fn is_eof(&mut self, id: ConnId) -> bool {
        let exchange = self.client.service_mut().exchange(id);
        exchange.is_eof || exchange.closed.is_some()
    }

    pub(crate) fn closed(&mut self, id: ConnId) -> Option<Closed> {
        self.client.service_mut().exchange(id).closed
    }

    /// The messages that came whole: the number of each, and its length.
    pub(crate) fn messages(&mut self, id: ConnId) -> Vec<(u16, usize)> {
        let mut stream = &self.client.service_mut().exchange(id).received[..];
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
