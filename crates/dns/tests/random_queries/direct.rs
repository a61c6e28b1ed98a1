//! Queries straight to a stack, without ports and workers: what the fuzz target calls thousands of times a second.
//!
//! An input is one datagram or several, parted by [`SEPARATOR`]. The server lives as long as its thread; its zones
//! are published anew before each input, which empties the store of ready answers, so that an input that fails
//! does so by itself.

use crate::host::{self, Terms};
use std::net::{IpAddr, Ipv4Addr};
use tidegate_base::{Duration, Instant};
use tidegate_dns::NameServer;
use tidegate_dns::config::RrlConfig;
use tidegate_dns::store::StoreSize;
use tidegate_dns::transfer::Exchange;
use tidegate_dns::udp::UdpConfig;
use tidegate_packet::{BATCH_LEN_MAX, Batch, Frame, HeapMemory, Pool};
use tidegate_stack::{Egress, Stack};

/// What parts datagrams of an input.
pub(crate) const SEPARATOR: &[u8] = b"\xfe\xed\xfa\xce";

const FRAME_COUNT: usize = 128;
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 1));

/// The datagrams of an input; what is too long for a frame is cut, and what is too many for a burst left out.
pub(crate) fn datagrams(mut input: &[u8]) -> impl Iterator<Item = &[u8]> {
    let parts = std::iter::from_fn(move || {
        let end = input.windows(SEPARATOR.len()).position(|window| window == SEPARATOR);
        let part = &input[..end.unwrap_or(input.len())];
        let rest = end.map(|end| &input[end + SEPARATOR.len()..]);
        if part.is_empty() && rest.is_none() {
            return None;
        }
        input = rest.unwrap_or_default();
        Some(&part[..part.len().min(host::QUERY_LEN_MAX)])
    });
    parts.take(BATCH_LEN_MAX)
}

struct End {
    pool: Pool,
    sent: Vec<Frame>,
}

impl Egress for End {
    fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }
    fn room(&mut self) -> usize {
        FRAME_COUNT - self.sent.len()
    }
    fn send(&mut self, frame: Frame) {
        self.sent.push(frame);
    }
}

/// A server and its clients.
pub(crate) struct Direct {
    exchange: Exchange,
    stack: Stack<NameServer>,
    end: End,
    size_max: usize,
    now: Instant,
    frame: Vec<u8>,
}

impl Direct {
    pub(crate) fn new() -> Self {
        let exchange = host::exchange();
        let store = StoreSize { byte_count_max: 1 << 16, entry_count: 64 };
        let udp = UdpConfig { store, ..UdpConfig::default() };
        let terms = Terms { udp, has_cookies: true, rrl: RrlConfig::default() };
        let stack = host::stack(&exchange, &terms);
        let pool = Pool::new(Box::new(HeapMemory::new(FRAME_COUNT * 2048)), 2048).unwrap();
        let end = End { pool, sent: Vec::new() };
        Self { exchange, stack, end, size_max: udp.size_max.into(), now: Instant::ZERO, frame: Vec::new() }
    }

    /// Sends `queries` as one burst, twice, so that what the first round keeps ready is used by the second; both
    /// must be answered alike.
    pub(crate) fn drive(&mut self, queries: &[&[u8]]) {
        self.exchange.served().publish(Vec::new());
        let first = self.ask(queries);
        let second = self.ask(queries);
        assert_eq!(first, second, "answered otherwise once the answer was ready");
        assert_eq!(self.end.pool.free_count(), FRAME_COUNT, "a frame is lost");
    }

    /// The length of each answer and the octet with its rcode. Not all of it: cookies and signatures have a time.
    fn ask(&mut self, queries: &[&[u8]]) -> [Option<(usize, u8)>; BATCH_LEN_MAX] {
        let mut batch = Batch::new();
        for (place, query) in queries.iter().enumerate() {
            host::write_frame(query, place, CLIENT, &mut self.frame);
            let mut frame = self.end.pool.alloc().expect("a free frame");
            assert!(frame.extend(&self.frame) && batch.push(frame).is_ok());
        }
        self.now += Duration::from_millis(1);
        self.stack.on_batch(self.now, &mut batch, &mut self.end);
        let mut answers = [None; BATCH_LEN_MAX];
        for frame in self.end.sent.drain(..) {
            let (place, _, answer) = host::read_frame(frame.data()).expect("an answer");
            host::check(queries[place], answer, self.size_max);
            let is_new = answers[place].replace((answer.len(), answer[3])).is_none();
            assert!(is_new, "two answers to one query");
            self.end.pool.free(frame);
        }
        answers
    }
}
