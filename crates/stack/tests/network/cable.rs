//! A cable between stacks: frames cross it by being copied, time passes by steps.
use crate::service::{Peer, Side};
use std::net::{IpAddr, SocketAddr};
use tidegate_base::{Duration, HashKey, Instant};
use tidegate_packet::{Frame, HeapMemory, Pool};
use tidegate_stack::{Egress, Interface, Limits, Ownership, Secrets, Stack, TcpConfig};
use tidegate_wire::MacAddr;

pub const SERVER_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
pub const CLIENT_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
pub const SERVER: [&str; 2] = ["10.77.0.2", "fd77::2"];
pub const CLIENT: [&str; 2] = ["10.77.0.1", "fd77::1"];

/// One end: a pool, and what the host at it sent.
pub struct End {
    pub pool: Pool,
    pub sent: Vec<Frame>,
    pub room: usize,
}

impl Egress for End {
    fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }
    fn room(&mut self) -> usize {
        self.room.saturating_sub(self.sent.len())
    }
    fn send(&mut self, frame: Frame) {
        self.sent.push(frame);
    }
}

impl End {
    pub fn new() -> Self {
        let pool = Pool::new(Box::new(HeapMemory::new(512 * 2048)), 2048).unwrap();
        Self { pool, sent: Vec::new(), room: 256 }
    }

    /// A received frame with these bytes.
    pub fn frame(&mut self, bytes: &[u8]) -> Frame {
        let mut frame = self.pool.alloc().expect("a free frame");
        assert!(frame.extend(bytes));
        frame
    }

    /// The bytes of all that was sent, the frames back in the pool.
    pub fn take_sent(&mut self) -> Vec<Vec<u8>> {
        let frames = std::mem::take(&mut self.sent);
        let bytes = |frame: Frame| {
            let bytes = frame.data().to_vec();
            self.pool.free(frame);
            bytes
        };
        frames.into_iter().map(bytes).collect()
    }
}

pub fn addresses(texts: [&str; 2]) -> [IpAddr; 2] {
    texts.map(|t| t.parse().unwrap())
}

pub fn stack(mac: MacAddr, addrs: [&str; 2], limits: Limits, side: Side) -> Stack<Peer> {
    let interface = Interface::new(mac, addresses(addrs), 1500, Ownership::Address);
    let salt = mac.0[5];
    let secrets =
        Secrets { isn: HashKey::new([salt; 16]), cookie: HashKey::new([salt + 9; 16]), flow: salt.into() };
    let config = TcpConfig::default();
    Stack::new(Instant::from_millis(1), interface, config, limits, &secrets, Peer::new(side))
}

/// Whether a frame, from the client or not, arrives.
pub type Carry = Box<dyn FnMut(bool, &[u8]) -> bool>;

/// A client and a server, and the cable between them.
pub struct Net {
    pub now: Instant,
    pub client: Stack<Peer>,
    pub server: Stack<Peer>,
    pub client_end: End,
    pub server_end: End,
    /// Called for each frame with its direction; false loses it.
    pub carry: Carry,
}

impl Net {
    pub fn new(limits: Limits) -> Self {
        let mut server = stack(SERVER_MAC, SERVER, limits, Side::Server);
        server.listen(None, 80);
        Self {
            now: Instant::from_millis(1),
            client: stack(CLIENT_MAC, CLIENT, Limits::default(), Side::Client),
            server,
            client_end: End::new(),
            server_end: End::new(),
            carry: Box::new(|_, _| true),
        }
    }

    /// Opens a connection that will ask for `requests` answers of `len` bytes each.
    pub fn connect(&mut self, family: usize, requests: u32, len: u64) {
        let remote = SocketAddr::new(SERVER[family].parse().unwrap(), 80);
        let state = crate::service::State::client(requests, len);
        self.client.connect(self.now, remote, state, &mut self.client_end).unwrap();
    }

    /// Carries what was sent, both ways, then lets `ms` milliseconds pass.
    pub fn step(&mut self, ms: u64) {
        for bytes in self.client_end.take_sent() {
            if (self.carry)(true, &bytes) {
                let frame = self.server_end.frame(&bytes);
                self.server.on_frame(self.now, frame, &mut self.server_end);
            }
        }
        for bytes in self.server_end.take_sent() {
            if (self.carry)(false, &bytes) {
                let frame = self.client_end.frame(&bytes);
                self.client.on_frame(self.now, frame, &mut self.client_end);
            }
        }
        self.now += Duration::from_millis(ms);
        self.client.poll(self.now, &mut self.client_end);
        self.server.poll(self.now, &mut self.server_end);
    }

    /// Steps until the client's connections are all closed; panics if that takes `limit` steps.
    pub fn run_until_closed(&mut self, limit: usize) {
        for _ in 0..limit {
            self.step(1);
            if self.client.counters().connection_count == 0 && self.server.counters().connection_count == 0 {
                return;
            }
        }
        panic!("still open: {:?} {:?}", self.client.counters(), self.server.counters());
    }

    /// Nothing is lost: each pool has all its frames back.
    pub fn assert_no_frame_lost(&mut self) {
        self.client_end.take_sent();
        self.server_end.take_sent();
        assert_eq!(self.client_end.pool.free_count(), 512);
        assert_eq!(self.server_end.pool.free_count(), 512);
    }
}
