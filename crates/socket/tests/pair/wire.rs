//! Two hosts and what is between them. Frames are copied across, or lost; time passes by steps.

use std::net::{IpAddr, SocketAddr};
use tidegate_base::{Duration, HashKey, Instant, Rng};
use tidegate_packet::{Frame, HeapMemory, Pool};
use tidegate_socket::{Error, Host, SocketId};
use tidegate_stack::{Egress, Interface, Limits, Ownership, Secrets, TcpConfig};
use tidegate_wire::MacAddr;

pub const CLIENT: &str = "10.77.0.1";
pub const SERVER: &str = "10.77.0.2";
const FRAME_COUNT: usize = 1024;

/// What a host sent.
pub struct End {
    pool: Pool,
    sent: Vec<Frame>,
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

impl Egress for End {
    fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }
    fn room(&mut self) -> usize {
        256usize.saturating_sub(self.sent.len())
    }
    fn send(&mut self, frame: Frame) {
        self.sent.push(frame);
    }
}

fn host(number: u8, address: &str) -> Host<End> {
    let address: IpAddr = address.parse().unwrap();
    let interface = Interface::new(MacAddr([2, 0, 0, 0, 0, number]), [address], 1500, Ownership::Address);
    let key = |salt| HashKey::new([number + salt; 16]);
    let secrets = Secrets { isn: key(0), cookie: key(9), flow: number.into() };
    Host::new(START, interface, TcpConfig::default(), Limits::default(), &secrets, End::new())
}

pub const START: Instant = Instant::from_millis(1);

pub struct Pair {
    pub now: Instant,
    pub client: Host<End>,
    pub server: Host<End>,
    /// The part of frames that is lost, of 1,000.
    pub lost_of_1000: u64,
    /// Frames that were carried, both ways.
    pub carried: Vec<Vec<u8>>,
    rng: Rng,
}

impl Pair {
    pub fn new() -> Self {
        Self::lossy(1, 0)
    }

    pub fn lossy(seed: u64, lost_of_1000: u64) -> Self {
        let (client, server) = (host(1, CLIENT), host(2, SERVER));
        Self { now: START, client, server, lost_of_1000, carried: Vec::new(), rng: Rng::new(seed) }
    }

    /// The client's round, then the server's, what each sends carried at once; then `ms` milliseconds.
    pub fn step(&mut self, ms: u64) {
        self.client.poll(self.now);
        self.carry(true);
        self.server.poll(self.now);
        self.carry(false);
        self.now += Duration::from_millis(ms);
    }

    /// Delivers what one side sent.
    pub fn carry(&mut self, is_to_server: bool) {
        let (from, to) = if is_to_server {
            (&mut self.client, &mut self.server)
        } else {
            (&mut self.server, &mut self.client)
        };
        for bytes in from.egress().take_sent() {
            if self.rng.below(1000) < self.lost_of_1000 {
                continue;
            }
            let mut frame = to.egress().pool().alloc().expect("a free frame");
            assert!(frame.extend(&bytes));
            to.input(self.now, frame);
            self.carried.push(bytes);
        }
    }

    pub fn steps(&mut self, count: usize) {
        for _ in 0..count {
            self.step(1);
        }
    }

    /// A listener of the server's.
    pub fn listen(&mut self, port: u16, backlog: usize) -> SocketId {
        let listener = self.server.stream_socket().unwrap();
        self.server.bind(listener, SocketAddr::new([0, 0, 0, 0].into(), port)).unwrap();
        self.server.listen(listener, backlog).unwrap();
        listener
    }

    /// A client's socket whose connection is being opened.
    pub fn begin(&mut self, port: u16) -> SocketId {
        let socket = self.client.stream_socket().unwrap();
        assert_eq!(self.client.connect(socket, server(port)), Err(Error::InProgress));
        socket
    }

    /// A connection: the client's socket and the server's.
    pub fn connection(&mut self) -> (SocketId, SocketId) {
        let listener = self.listen(80, 8);
        let client = self.begin(80);
        self.steps(3);
        let (accepted, peer) = self.server.accept(listener).expect("a connection");
        assert_eq!(peer, self.client.local_addr(client).unwrap());
        self.server.close(listener).unwrap();
        (client, accepted)
    }

    /// All frames are back in their pools, and all sockets gone.
    pub fn assert_nothing_left(&mut self) {
        for host in [&mut self.client, &mut self.server] {
            host.egress().take_sent();
            assert_eq!(host.egress().pool().free_count(), FRAME_COUNT);
            assert_eq!((host.socket_count(), host.counters().connection_count), (0, 0));
        }
    }
}

pub fn server(port: u16) -> SocketAddr {
    SocketAddr::new(SERVER.parse().unwrap(), port)
}

/// Reads what is there.
pub fn read_all(host: &mut Host<End>, socket: SocketId) -> (Vec<u8>, Option<Error>) {
    let (mut all, mut buffer) = (Vec::new(), [0; 3000]);
    loop {
        match host.read(socket, &mut buffer) {
            Ok(0) => return (all, None),
            Ok(len) => all.extend_from_slice(&buffer[..len]),
            Err(error) => return (all, Some(error)),
        }
    }
}
