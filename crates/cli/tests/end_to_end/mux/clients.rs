//! Clients over the kernel's stack that go on and on, check every byte, and count a lost request or connection as a failure:
//! unless they were told that their server is about to die.

use super::host::PATIENCE;
use crate::site::noise;
use std::io::{self, BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};
use tidegate_sys::netns::Netns;

/// Between two rounds: the point is what becomes of each packet, not how many there are.
const PACE: Duration = Duration::from_millis(2);
const LOOK_PERIOD: Duration = Duration::from_millis(5);
/// Between two looks whether an answer need come at all.
const LISTEN_PERIOD: Duration = Duration::from_millis(200);
/// Requests on a connection before there is a new one: nginx ends connections after a thousand.
const REQUESTS_PER_CONNECTION: u32 = 100;
/// Rounds between two requests on a connection of their own.
const FRESH_PERIOD: u64 = 5;

/// What a client does again and again.
pub(crate) trait Talk: Send {
    /// Asks, and checks what is answered; what is not answered at all may be lost if that is excused.
    fn round(&mut self, is_excused: &AtomicBool) -> io::Result<()>;
    /// Its server died: gives up what it had with it.
    fn forget(&mut self);
}

/// A client on a thread of its own, until this is dropped.
pub(crate) struct Client {
    pub(crate) name: &'static str,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    round_count: AtomicU64,
    /// Its server may die.
    is_excused: AtomicBool,
    is_to_rest: AtomicBool,
    rests: AtomicBool,
    ends: AtomicBool,
    failure: Mutex<Option<String>>,
}

impl Client {
    pub(crate) fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        netns: &'env Netns,
        name: &'static str,
        talk: impl Talk + 'scope,
    ) -> Self {
        let shared = Arc::new(Shared::default());
        let its = Arc::clone(&shared);
        scope.spawn(move || netns.run(|| go_on(talk, &its)).expect("root enters namespaces"));
        Self { name, shared }
    }

    fn count(&self) -> u64 {
        let failure = self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(failure.is_none(), "{}: {}", self.name, failure.as_deref().unwrap_or_default());
        self.shared.round_count.load(Ordering::Relaxed)
    }

    /// From now on until it is told otherwise, what it loses is no failure.
    pub(crate) fn excuse(&self, is_excused: bool) {
        self.shared.is_excused.store(is_excused, Ordering::SeqCst);
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::SeqCst);
    }
}

fn go_on(mut talk: impl Talk, shared: &Shared) {
    while !shared.ends.load(Ordering::SeqCst) {
        if shared.is_to_rest.load(Ordering::SeqCst) {
            shared.rests.store(true, Ordering::SeqCst);
            std::thread::sleep(LOOK_PERIOD);
            continue;
        }
        shared.rests.store(false, Ordering::SeqCst);
        match talk.round(&shared.is_excused) {
            Ok(()) => drop(shared.round_count.fetch_add(1, Ordering::Relaxed)),
            Err(_) if shared.is_excused.load(Ordering::SeqCst) => talk.forget(),
            Err(error) => {
                let text = format!("after {} rounds: {error}", shared.round_count.load(Ordering::Relaxed));
                *shared.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
                return;
            }
        }
        std::thread::sleep(PACE);
    }
}

/// Waits until each client has done so many more rounds.
pub(crate) fn await_rounds<'a>(clients: impl IntoIterator<Item = &'a Client>, count: u64) {
    let goals: Vec<(&Client, u64)> = clients.into_iter().map(|it| (it, it.count() + count)).collect();
    let start = Instant::now();
    while let Some((client, _)) = goals.iter().find(|(client, goal)| client.count() < *goal) {
        assert!(start.elapsed() < PATIENCE, "{} is stuck", client.name);
        std::thread::sleep(LOOK_PERIOD);
    }
}

/// Has all clients finish their rounds and wait; or go on.
pub(crate) fn rest<'a>(clients: impl IntoIterator<Item = &'a Client>, rests: bool) {
    let clients: Vec<&Client> = clients.into_iter().collect();
    clients.iter().for_each(|it| it.shared.is_to_rest.store(rests, Ordering::SeqCst));
    let start = Instant::now();
    let is_there = |it: &&&Client| it.shared.rests.load(Ordering::SeqCst) == rests;
    while let Some(client) = clients.iter().find(|it| !is_there(it)) {
        client.count();
        assert!(start.elapsed() < PATIENCE, "{} does not come to rest, or back", client.name);
        std::thread::sleep(LOOK_PERIOD);
    }
}

fn connect(at: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&at, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn wrong(text: String) -> Error {
    Error::new(ErrorKind::InvalidData, text)
}

/// Asks for a page, over a connection that it keeps and now and then over one more.
pub(crate) struct WebTalk {
    at: SocketAddr,
    page: Vec<u8>,
    kept: Option<(BufReader<TcpStream>, u32)>,
    round_count: u64,
}

impl WebTalk {
    pub(crate) fn new(at: &str, page: Vec<u8>) -> Self {
        Self { at: at.parse().expect("an address"), page, kept: None, round_count: 0 }
    }

    fn ask(&self, stream: &mut BufReader<TcpStream>) -> io::Result<()> {
        stream.get_mut().write_all(b"GET / HTTP/1.1\r\nHost: tide\r\n\r\n")?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head)? == 0 {
                return Err(wrong(format!("the connection ended behind {head:?}")));
            }
        }
        let length = head.lines().filter_map(|line| line.split_once(':'));
        let mut length = length.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        let length: Option<usize> = length.next().and_then(|(_, value)| value.trim().parse().ok());
        let mut body = vec![0; length.ok_or_else(|| wrong(format!("no length in {head:?}")))?];
        stream.read_exact(&mut body)?;
        if head.starts_with("HTTP/1.1 200 ") && body == self.page {
            return Ok(());
        }
        Err(wrong(format!("another answer, of {} bytes: {head:?}", body.len())))
    }
}

impl Talk for WebTalk {
    fn round(&mut self, _: &AtomicBool) -> io::Result<()> {
        let (mut stream, asked) = match self.kept.take().filter(|(_, asked)| *asked < REQUESTS_PER_CONNECTION)
        {
            Some(kept) => kept,
            None => (BufReader::new(connect(self.at)?), 0),
        };
        self.ask(&mut stream)?;
        self.kept = Some((stream, asked + 1));
        self.round_count += 1;
        if self.round_count.is_multiple_of(FRESH_PERIOD) {
            self.ask(&mut BufReader::new(connect(self.at)?))?;
        }
        Ok(())
    }

    fn forget(&mut self) {
        self.kept = None;
    }
}

/// Asks for the serial of `example.org`, each time with another number: an answer that is lost is a failure.
pub(crate) struct DnsTalk {
    at: SocketAddr,
    serial: u32,
    socket: Option<UdpSocket>,
    id: u16,
}

impl DnsTalk {
    pub(crate) fn new(at: &str, serial: u32) -> Self {
        Self { at: at.parse().expect("an address"), serial, socket: None, id: 0 }
    }
}

impl Talk for DnsTalk {
    fn round(&mut self, is_excused: &AtomicBool) -> io::Result<()> {
        let socket = match &mut self.socket {
            Some(socket) => socket,
            none => {
                let socket = UdpSocket::bind("0.0.0.0:0")?;
                socket.connect(self.at)?;
                socket.set_read_timeout(Some(LISTEN_PERIOD))?;
                none.insert(socket)
            }
        };
        self.id = self.id.wrapping_add(1);
        let mut query = self.id.to_be_bytes().to_vec();
        query.extend_from_slice(b"\0\0\0\x01\0\0\0\0\0\0\x07example\x03org\0\0\x06\0\x01");
        socket.send(&query)?;
        let mut answer = [0; 512];
        let start = Instant::now();
        let len = loop {
            match socket.recv(&mut answer) {
                Err(error)
                    if error.kind() == ErrorKind::WouldBlock
                        && start.elapsed() < PATIENCE
                        && !is_excused.load(Ordering::SeqCst) => {}
                other => break other?,
            }
        };
        // Without OPT the SOA is the last record: serial, refresh, retry, expire, minimum.
        let serial = answer[..len].last_chunk::<20>().and_then(|numbers| numbers.first_chunk::<4>());
        match serial.map(|bytes| u32::from_be_bytes(*bytes)) {
            Some(serial) if serial == self.serial && answer[..2] == query[..2] && answer[3] & 0xf == 0 => {
                Ok(())
            }
            other => Err(wrong(format!("another answer: serial {other:?}"))),
        }
    }

    fn forget(&mut self) {
        self.socket = None;
    }
}

/// Types, and reads what comes of it, over one connection for as long as its server lives.
pub(crate) struct ShellTalk {
    at: SocketAddr,
    stream: Option<TcpStream>,
    seed: u64,
}

impl ShellTalk {
    pub(crate) fn new(at: &str) -> Self {
        Self { at: at.parse().expect("an address"), stream: None, seed: 0 }
    }
}

impl Talk for ShellTalk {
    fn round(&mut self, _: &AtomicBool) -> io::Result<()> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(connect(self.at)?),
        };
        self.seed += 1;
        let typed = noise(self.seed, 1 + (self.seed * 7 % 64) as usize);
        stream.write_all(&typed)?;
        let mut answer = vec![0; typed.len()];
        stream.read_exact(&mut answer)?;
        let expected: Vec<u8> = typed.iter().map(|byte| !byte).collect();
        if answer == expected { Ok(()) } else { Err(wrong(format!("typed {typed:?}, read {answer:?}"))) }
    }

    fn forget(&mut self) {
        self.stream = None;
    }
}
