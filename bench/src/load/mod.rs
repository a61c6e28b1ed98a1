//! A closed-loop HTTP client on our own stack: so many connections, one request under way on each, the
//! next as soon as the answer is whole.
//!
//! Kernel clients end at some 150 k requests/s a core; a server that is faster needs a client that is
//! too. This one does what `wrk` does and no more: it checks the status line, finds the length, counts
//! bytes. Not a general HTTP client.

mod failures;
mod response;

pub(crate) use failures::Failures;
pub(crate) use response::ResponseReader;

use hdrhistogram::Histogram;
use std::net::SocketAddr;
use tidegate_base::{Instant, Sum};
use tidegate_packet::Pool;
use tidegate_stack::{Closed, Conn, ConnId, ConnectError, FetchError, Payload, Service};

/// Latencies are told apart up to a minute, to 1 %.
const LATENCY_NS_MAX: u64 = 60_000_000_000;

/// How connections are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reuse {
    /// One request after the other on each.
    KeepAlive,
    /// One request a connection; the server closes first.
    Close,
    /// One request, then silence; the connection stays.
    Hold,
}

/// Connections that may wait for their first answer at a time, where they are held.
const OPENING_COUNT_MAX: usize = 256;

/// What the client did since [`HttpLoad::reset`].
#[derive(Clone, Debug)]
pub(crate) struct LoadCounters {
    /// Whole answers.
    pub(crate) answer_count: u64,
    /// Bytes of answers, heads included.
    pub(crate) byte_count: u64,
    /// Connections opened.
    pub(crate) open_count: u64,
    /// What went wrong, and how.
    pub(crate) failures: Failures,
    /// From writing a request to its whole answer, in ns.
    pub(crate) latency_ns: Histogram<u32>,
}

impl LoadCounters {
    fn new() -> Self {
        // The bounds are constants that the histogram takes.
        let latency_ns = Histogram::new_with_max(LATENCY_NS_MAX, 2).expect("two digits up to a minute");
        Self { answer_count: 0, byte_count: 0, open_count: 0, failures: Failures::default(), latency_ns }
    }
}

/// One request, ready to be sent.
struct Request {
    bytes: Box<[u8]>,
    sum: Sum,
}

/// A request under way: its number, and how long it is.
pub(crate) struct Ask {
    index: u32,
    len: u32,
}

/// What the client remembers of a connection.
#[derive(Default)]
pub(crate) struct Call {
    reader: ResponseReader,
    asked_at: Instant,
    is_waiting: bool,
}

/// The client as a [`Service`].
pub(crate) struct HttpLoad {
    server: SocketAddr,
    requests: Vec<Request>,
    next_request: usize,
    reuse: Reuse,
    wanted_count: usize,
    open_count: usize,
    opening_count: usize,
    counters: LoadCounters,
}

impl HttpLoad {
    /// A client that keeps `connection_count` connections to `server` busy with GETs of `paths`, in turn.
    pub(crate) fn new(server: SocketAddr, paths: &[String], reuse: Reuse, connection_count: usize) -> Self {
        Self {
            server,
            requests: paths.iter().map(|path| request(server, path, reuse)).collect(),
            next_request: 0,
            reuse,
            wanted_count: connection_count,
            open_count: 0,
            opening_count: 0,
            counters: LoadCounters::new(),
        }
    }

    /// Connections that there are.
    pub(crate) const fn open_count(&self) -> usize {
        self.open_count
    }

    /// What it did since the last call.
    pub(crate) fn take_counters(&mut self) -> LoadCounters {
        std::mem::replace(&mut self.counters, LoadCounters::new())
    }

    fn ask(&mut self, conn: &mut Conn<'_, Self>) {
        conn.state().asked_at = conn.now();
        conn.state().is_waiting = true;
        let len = self.requests[self.next_request].bytes.len() as u32;
        conn.write(Ask { index: self.next_request as u32, len });
        self.next_request = (self.next_request + 1) % self.requests.len();
    }

    fn on_answer(&mut self, conn: &mut Conn<'_, Self>) {
        let taken = conn.now().since(conn.state().asked_at);
        conn.state().is_waiting = false;
        self.counters.answer_count += 1;
        self.counters.latency_ns.saturating_record(taken.as_nanos());
        match self.reuse {
            Reuse::KeepAlive => self.ask(conn),
            Reuse::Close => conn.close(),
            Reuse::Hold => self.opening_count -= 1,
        }
    }
}

fn request(server: SocketAddr, path: &str, reuse: Reuse) -> Request {
    let connection = if reuse == Reuse::Close { "Connection: close\r\n" } else { "" };
    let text = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{connection}\r\n", server.ip());
    let bytes = text.into_bytes().into_boxed_slice();
    Request { sum: Sum::of(&bytes), bytes }
}

impl Service for HttpLoad {
    type Response = Ask;
    type State = Call;

    fn on_accept(&mut self, _: SocketAddr, _: SocketAddr) -> bool {
        false
    }

    fn on_open(&mut self, conn: &mut Conn<'_, Self>) {
        self.counters.open_count += 1;
        self.ask(conn);
    }

    fn on_recv(&mut self, conn: &mut Conn<'_, Self>, data: &[u8]) {
        self.counters.byte_count += data.len() as u64;
        match conn.state().reader.read(data) {
            Ok(true) => self.on_answer(conn),
            Ok(false) => {}
            Err(_) => conn.abort(),
        }
    }

    fn on_closed(&mut self, _: ConnId, call: Call, why: Closed) {
        self.open_count -= 1;
        self.counters.failures.count(why, call.is_waiting);
    }

    fn poll_connect(&mut self, _: Instant) -> Option<(SocketAddr, Call)> {
        let is_held_up = self.reuse == Reuse::Hold && self.opening_count >= OPENING_COUNT_MAX;
        if self.open_count >= self.wanted_count || is_held_up {
            return None;
        }
        self.open_count += 1;
        self.opening_count += 1;
        Some((self.server, Call { is_waiting: true, ..Call::default() }))
    }

    fn on_connect_error(&mut self, _: Call, _: ConnectError) {
        self.open_count -= 1;
    }

    fn response_len(ask: &Ask) -> u64 {
        ask.len.into()
    }

    fn segment_len(_: &Ask, _: u64, max: usize) -> usize {
        max
    }

    fn fetch(&mut self, ask: &Ask, offset: u64, len: usize, pool: &mut Pool) -> Result<Payload, FetchError> {
        let request = self.requests.get(ask.index as usize).ok_or(FetchError::Gone)?;
        let bytes =
            request.bytes.get(offset as usize..).and_then(|b| b.get(..len)).ok_or(FetchError::Gone)?;
        let mut frame = pool.alloc().ok_or(FetchError::NoFrame)?;
        if !frame.extend(bytes) {
            pool.free(frame);
            return Err(FetchError::Gone);
        }
        let sum = if len == request.bytes.len() { request.sum } else { Sum::of(bytes) };
        Ok(Payload { frame, sum })
    }
}
