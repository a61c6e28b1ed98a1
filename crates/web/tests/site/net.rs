//! A site, a client, and the cable between them. Time is the test's; only the loader is a thread.
use crate::browser::Browser;
use crate::tree::{Tree, now};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tidegate_base::{Duration, HashKey, Instant};
use tidegate_content::{Library, Mode, Packer};
use tidegate_packet::{Frame, HeapMemory, Pool};
use tidegate_stack::{ConnId, Egress, Interface, Limits, Ownership, Secrets, Stack, TcpConfig};
use tidegate_web::access_log::LogSender;
use tidegate_web::{Config, Shared, Site, SiteCounters, library_config, page};
use tidegate_wire::MacAddr;

const SITE: &str = "10.77.0.2";
const CLIENT: &str = "10.77.0.1";
const FRAME_COUNT: usize = 1024;

pub struct End {
    pool: Pool,
    sent: Vec<Frame>,
}

impl Egress for End {
    fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }
    fn room(&mut self) -> usize {
        256_usize.saturating_sub(self.sent.len())
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

pub struct Net {
    pub now: Instant,
    pub client: Stack<Browser>,
    pub server: Stack<Site>,
    pub shared: Arc<Shared>,
    client_end: End,
    server_end: End,
    _library: Library,
    pub tree: Tree,
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
    pub fn new(tree: Tree, settings: &str) -> Self {
        Self::with_log(tree, settings, None)
    }

    pub fn with_log(tree: Tree, settings: &str, log: Option<LogSender>) -> Self {
        let mut config: Config = tidegate_config::parse(settings).unwrap();
        config.root = tree.root().to_owned();
        assert_eq!(config.faults(), []);
        let custom = page::read_custom(&config).unwrap();
        let shared = Shared::new(&config, BTreeMap::clone(&custom), HashKey::new([7; 16]), now);
        let library = Library::open(&library_config(&config), shared.present()).unwrap();
        let reader = library.reader(Arc::new(|| {}));
        let site = Site::new(Arc::clone(&shared), reader, Packer::new(Mode::PreCopy), log);
        let at = Instant::from_millis(1);
        let limits = Limits::default();
        let mut server = Stack::new(at, interface(2, SITE), TcpConfig::default(), limits, &secrets(2), site);
        server.listen(None, 80);
        let client = interface(1, CLIENT);
        let client = Stack::new(at, client, TcpConfig::default(), limits, &secrets(1), Browser::default());
        let (client_end, server_end) = (End::new(), End::new());
        Self { now: at, client, server, shared, client_end, server_end, _library: library, tree }
    }

    pub fn open(&mut self) -> ConnId {
        let remote = SocketAddr::new(SITE.parse().unwrap(), 80);
        self.client.connect(self.now, remote, (), &mut self.client_end).unwrap()
    }

    /// Sends bytes as one write: a segment, if they fit one.
    pub fn send(&mut self, id: ConnId, bytes: &[u8]) {
        self.client.service_mut().queue(id, bytes);
        self.client.wake(self.now, id, &mut self.client_end);
    }

    /// Ends the client's side.
    pub fn finish(&mut self, id: ConnId) {
        self.client.service_mut().close(id);
        self.client.wake(self.now, id, &mut self.client_end);
    }

    /// Carries what was sent, both ways, then lets `ms` milliseconds pass.
    pub fn step(&mut self, ms: u64) {
        carry(self.now, &mut self.client_end, &mut self.server, &mut self.server_end);
        carry(self.now, &mut self.server_end, &mut self.client, &mut self.client_end);
        self.now += Duration::from_millis(ms);
        self.client.poll(self.now, &mut self.client_end);
        self.server.poll(self.now, &mut self.server_end);
    }

    pub fn steps(&mut self, count: usize, ms: u64) {
        for _ in 0..count {
            self.step(ms);
        }
    }

    /// Steps until `is_done`; the loader's thread has real time to work meanwhile.
    pub fn run_until(&mut self, what: &str, mut is_done: impl FnMut(&mut Self) -> bool) {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let mut round = 0_u32;
        while !is_done(self) {
            self.step(u64::from(round.is_multiple_of(8)));
            round += 1;
            if round.is_multiple_of(64) {
                std::thread::sleep(std::time::Duration::from_micros(200));
            }
            assert!(std::time::Instant::now() < deadline, "never {what}");
        }
    }

    /// Has the client look at a connection of its own.
    pub fn wake(&mut self, id: ConnId) {
        self.client.wake(self.now, id, &mut self.client_end);
    }

    /// Has the site look at each of its connections.
    pub fn wake_all(&mut self) {
        self.server.wake_all(self.now, &mut self.server_end);
    }

    pub fn received(&mut self, id: ConnId) -> Vec<u8> {
        self.client.service_mut().exchange(id).received.clone()
    }

    /// All that a connection got; it is not kept any longer.
    pub fn forget(&mut self, id: ConnId) -> Vec<u8> {
        self.client.service_mut().forget(id).received
    }

    pub fn is_eof(&mut self, id: ConnId) -> bool {
        let exchange = self.client.service_mut().exchange(id);
        exchange.is_eof || exchange.closed.is_some()
    }

    /// All that a connection gets for `bytes`, up to the server's end of it.
    pub fn exchange_to_end(&mut self, bytes: &[u8]) -> Vec<u8> {
        let id = self.open();
        self.send(id, bytes);
        self.run_until("ended by the server", |net| net.is_eof(id));
        self.finish(id);
        self.received(id)
    }

    /// The answer to one request on a connection of its own.
    pub fn ask(&mut self, line: &str, fields: &str) -> Vec<u8> {
        let head = format!("{line} HTTP/1.1\r\nHost: a\r\n{fields}Connection: close\r\n\r\n");
        self.exchange_to_end(head.as_bytes())
    }

    pub fn counters(&self) -> SiteCounters {
        self.server.service().tally().read()
    }
}

/// A response's head and body.
pub fn split(response: &[u8]) -> (String, Vec<u8>) {
    let at = response.windows(4).position(|w| w == b"\r\n\r\n").expect("a whole head");
    (String::from_utf8(response[..at + 2].to_vec()).unwrap(), response[at + 4..].to_vec())
}

pub fn status_of(response: &[u8]) -> u16 {
    let text = std::str::from_utf8(&response[..12]).unwrap();
    text.strip_prefix("HTTP/1.1 ").unwrap().parse().unwrap()
}

/// The statuses of responses in a row, each with a Content-Length or without content.
pub fn statuses(mut stream: &[u8]) -> Vec<u16> {
    let mut statuses = Vec::new();
    while !stream.is_empty() {
        let (head, body) = split(stream);
        statuses.push(status_of(stream));
        let len = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let len: usize = len.map_or(0, |len| len.parse().unwrap());
        stream = &stream[stream.len() - body.len() + len..];
    }
    statuses
}
