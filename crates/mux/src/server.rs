//! The daemon's end of the mux's socket: a thread that reads requests and hands them on, with who asks.
//!
//! ```text
//!   stack ==SEQPACKET== Channel --thread "mux"--> Event { lease, who, request } --> control thread, which answers
//!                          closed ---------------> Event { lease, ended }
//! ```
//! Invariant: a connection is a lease. Its number is never given again, and its end is the last event of it.

use crate::error::{Attempt, Result};
use crate::message::{Answer, LEN_MAX, Request};
use crate::registry::Applicant;
use crossbeam_channel::{SendTimeoutError, Sender, bounded};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tidegate_sys::event::{Epoll, EventFd};
use tidegate_sys::local_socket::Listener;
use tidegate_sys::seqpacket::{Channel, Peer};

/// Where it is unless told otherwise.
pub const SOCKET_PATH: &str = "/run/tidegate/mux.sock";
/// Connections at once.
const CONNECTION_COUNT_MAX: usize = 4096;
/// Events that may wait for the control thread.
const EVENT_COUNT_MAX: usize = 64;
/// How often the thread looks whether it is to end while nobody takes its events.
const END_PERIOD: Duration = Duration::from_millis(20);
/// Everybody may ask: what one is given is the registry's affair.
const SOCKET_MODE: u32 = 0o666;
const LISTENER_KEY: u64 = 0;
const END_KEY: u64 = 1;
/// linux/capability.h.
const CAP_NET_BIND_SERVICE: u32 = 10;
const CAP_NET_RAW: u32 = 13;

/// A connection's number.
pub type Lease = u64;

/// What came to pass on a connection.
#[derive(Debug)]
pub struct Event {
    /// Which.
    pub lease: Lease,
    /// Who is at its other end.
    pub who: Applicant,
    /// The connection, to answer by.
    pub line: Line,
    /// What is asked for; nothing: the connection has ended.
    pub request: Option<Request>,
}

/// The way back to a stack.
#[derive(Clone, Debug)]
pub struct Line(Arc<Channel>);

impl Line {
    /// Answers, with a descriptor where one belongs to it. A stack that takes no answers is cut off.
    pub fn answer(&self, answer: &Answer, fd: Option<BorrowedFd<'_>>) {
        let bytes = answer.emit();
        let sent = match fd {
            Some(fd) => self.0.try_send_with(&bytes, fd),
            None => self.0.try_send(&bytes),
        };
        if !sent.unwrap_or(false) {
            let _ = self.0.shut_down();
        }
    }
}

/// The socket and its thread.
#[derive(Debug)]
pub struct Server {
    end: Arc<EventFd>,
    is_ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens at `path`, whose directory is made if it is missing. Events come by the receiver.
    pub fn start(path: &str) -> Result<(Self, crossbeam_channel::Receiver<Event>)> {
        if let Some(directory) = std::path::Path::new(path).parent().filter(|_| !path.starts_with('@')) {
            fs::create_dir_all(directory).attempting(|| format!("could not make {}", directory.display()))?;
        }
        let listener = Listener::bind(path).attempting(|| "could not open the mux's socket".to_owned())?;
        if !path.starts_with('@') {
            let everybodys = fs::set_permissions(path, Permissions::from_mode(SOCKET_MODE));
            everybodys.attempting(|| format!("could not let everybody write to {path}"))?;
        }
        let (events, receiver) = bounded(EVENT_COUNT_MAX);
        let end = Arc::new(EventFd::new()?);
        let is_ending = Arc::new(AtomicBool::new(false));
        let mut desk = Desk::new(listener, Arc::clone(&end), Arc::clone(&is_ending), events)?;
        let thread = std::thread::Builder::new().name("mux".into());
        let thread = thread.spawn(move || desk.run())?;
        Ok((Self { end, is_ending, thread: Some(thread) }, receiver))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::Relaxed);
        let _ = self.end.signal();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread has.
struct Desk {
    listener: Listener<Channel>,
    end: Arc<EventFd>,
    is_ending: Arc<AtomicBool>,
    epoll: Epoll,
    events: Sender<Event>,
    lines: BTreeMap<Lease, (Line, Peer)>,
    next_lease: Lease,
}

impl Desk {
    fn new(
        listener: Listener<Channel>,
        end: Arc<EventFd>,
        is_ending: Arc<AtomicBool>,
        events: Sender<Event>,
    ) -> Result<Self> {
        let epoll = Epoll::new()?;
        epoll.add(listener.as_fd(), LISTENER_KEY)?;
        epoll.add(end.as_fd(), END_KEY)?;
        Ok(Self { listener, end, is_ending, epoll, events, lines: BTreeMap::new(), next_lease: END_KEY + 1 })
    }

    /// Until it is told to end, or nobody hears any more.
    fn run(&mut self) {
        let mut ready = Vec::new();
        while self.epoll.wait(&mut ready).is_ok() {
            for key in ready.drain(..) {
                let goes_on = match key {
                    LISTENER_KEY => self.accept(),
                    END_KEY => self.end.clear().is_err(),
                    lease => self.read(lease),
                };
                if !goes_on {
                    return;
                }
            }
        }
    }

    fn accept(&mut self) -> bool {
        while let Ok(Some(channel)) = self.listener.try_accept() {
            let lease = self.next_lease;
            let Ok(peer) = channel.peer() else { continue };
            if self.lines.len() >= CONNECTION_COUNT_MAX || self.epoll.add(channel.as_fd(), lease).is_err() {
                continue;
            }
            self.next_lease += 1;
            self.lines.insert(lease, (Line(Arc::new(channel)), peer));
        }
        true
    }

    /// One message, so that nobody keeps the others waiting.
    fn read(&mut self, lease: Lease) -> bool {
        let Some((line, peer)) = self.lines.get(&lease).cloned() else { return true };
        let mut buffer = [0; LEN_MAX];
        let len = match line.0.try_receive_data(&mut buffer) {
            Ok(None) => return true,
            Ok(Some(len)) => len,
            Err(_) => 0,
        };
        let who = applicant(peer);
        let request = Request::parse(&buffer[..len]);
        if len > 0 && request.is_none() {
            let text = "that is no message of this version: use the client of this Tidegate";
            line.answer(&Answer::Refused(text.to_owned()), None);
            return true;
        }
        if len == 0 {
            let _ = self.epoll.remove(line.0.as_fd());
            self.lines.remove(&lease);
        }
        self.hand_on(Event { lease, who, line, request })
    }

    /// Waits for room, unless it is to end: whoever takes events may be the one who ends it.
    fn hand_on(&self, event: Event) -> bool {
        let mut event = event;
        loop {
            match self.events.send_timeout(event, END_PERIOD) {
                Ok(()) => return true,
                Err(SendTimeoutError::Timeout(back)) if !self.is_ending.load(Ordering::Relaxed) => {
                    event = back
                }
                Err(_) => return false,
            }
        }
    }
}

/// What the kernel says of a process at this moment. One that is gone has no rights.
fn applicant(peer: Peer) -> Applicant {
    let status = fs::read_to_string(format!("/proc/{}/status", peer.pid)).unwrap_or_default();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    // The number may have become another process's.
    let is_same = field("Uid:").split_whitespace().nth(1) == Some(peer.uid.to_string().as_str());
    let held = u64::from_str_radix(field("CapEff:").trim(), 16).unwrap_or(0);
    let may = |capability: u32| peer.uid == 0 || (is_same && held & (1 << capability) != 0);
    Applicant {
        uid: peer.uid,
        pid: peer.pid,
        may_bind_low: may(CAP_NET_BIND_SERVICE),
        may_send_raw: may(CAP_NET_RAW),
    }
}
