//! A port on a unix socket: each message is a frame. For scripts and tests that make and take frames.
//!
//! ```text
//!   Listener at a path or "@name"  --accept-->  one peer at a time, until it goes  --accept--> the next
//! ```
//! One system call a frame. Invariant: while there is no peer, nothing is received and what is sent is lost and counted, as on a
//! link that is down.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use tidegate_base::{Duration, Instant};
use tidegate_packet::{BATCH_LEN_MAX, Batch, Frame, Pool};
use tidegate_sys::clock;
use tidegate_sys::event::{Interest, poll};
use tidegate_sys::local_socket::{Listener, LocalSocketError};
use tidegate_sys::seqpacket::Channel;

use crate::singly::{HandsOver, Singly, fill, hand_over};
use crate::{Port, PortCounters};

/// What a peer that connects is told where that is wanted.
const CONFIRMATION: &[u8] = b"yes\0";

/// How such a port behaves.
#[derive(Clone, Debug)]
pub struct UnixSocketConfig {
    /// A path, or an abstract name behind an `@`.
    pub path: String,
    /// Whether a peer that connects is sent `yes` and a zero byte.
    pub confirm_connect: bool,
    /// How long the socket is left alone after it had nothing.
    pub min_rx_interval: Duration,
    /// The longest frame that is sent, link header included.
    pub frame_len_max: usize,
}

impl UnixSocketConfig {
    /// A quiet port: no confirmation, 50 us between two looks at an empty socket, frames of Ethernet's usual size.
    pub fn new(path: &str) -> UnixSocketConfig {
        UnixSocketConfig {
            path: path.into(),
            confirm_connect: false,
            min_rx_interval: Duration::from_micros(50),
            frame_len_max: 1518,
        }
    }
}

/// Whoever connected to a unix socket.
#[derive(Debug)]
pub struct UnixSocketPort {
    listener: Listener<Channel>,
    peer: Option<Channel>,
    config: UnixSocketConfig,
    /// When the socket is looked at again.
    next_rx: Instant,
    /// When the next peer is looked for, if there is none.
    next_accept: Instant,
    /// The peer took nothing when it was last sent to.
    is_full: bool,
    counters: PortCounters,
}

impl UnixSocketPort {
    /// Listens.
    pub fn open(config: UnixSocketConfig) -> Result<UnixSocketPort, LocalSocketError> {
        Ok(UnixSocketPort {
            listener: Listener::bind(&config.path)?,
            peer: None,
            config,
            next_rx: Instant::from_nanos(0),
            next_accept: Instant::from_nanos(0),
            is_full: false,
            counters: PortCounters::default(),
        })
    }

    /// Whether somebody is connected, as far as is known.
    pub fn is_connected(&self) -> bool {
        self.peer.is_some()
    }

    /// Takes the next peer if there is none, unless that was tried just now.
    fn accept(&mut self) {
        let now = clock::now();
        if now < self.next_accept {
            return;
        }
        self.next_accept = now + self.config.min_rx_interval;
        self.counters.syscall_count += 1;
        // An error is one of the connection that failed before it was taken: the next call finds the next one.
        let Ok(Some(peer)) = self.listener.try_accept() else { return };
        if self.config.confirm_connect {
            self.counters.syscall_count += 1;
            // A fresh socket has room; if the peer is gone already, the next look at it tells.
            let _ = peer.try_send(CONFIRMATION);
        }
        self.is_full = false;
        self.peer = Some(peer);
    }
}

impl Singly for UnixSocketPort {
    fn receive(&mut self, pool: &mut Pool) -> Option<Frame> {
        let peer = self.peer.as_ref()?;
        let mut frame = pool.alloc()?;
        let tailroom = frame.tailroom();
        let room = frame.push_back(tailroom).unwrap_or_default();
        self.counters.syscall_count += 1;
        match peer.try_receive_data(room) {
            Ok(Some(len)) if len > 0 => {
                frame.truncate(len);
                return Some(frame);
            }
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => self.peer = None,
        }
        pool.free(frame);
        None
    }

    fn counters_mut(&mut self) -> &mut PortCounters {
        &mut self.counters
    }
}

impl HandsOver for UnixSocketPort {
    fn can_send(&self, frame: &Frame) -> bool {
        (1..=self.config.frame_len_max).contains(&frame.len())
    }

    fn try_send(&mut self, frame: &Frame) -> io::Result<bool> {
        let peer = self.peer.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        self.counters.syscall_count += 1;
        let is_taken = peer.try_send(frame.data())?;
        self.is_full = !is_taken;
        Ok(is_taken)
    }
}

impl Port for UnixSocketPort {
    fn rx(&mut self, pool: &mut Pool, batch: &mut Batch) -> usize {
        let waits = self.config.min_rx_interval > Duration::ZERO;
        if waits && clock::now() < self.next_rx {
            return 0;
        }
        if self.peer.is_none() {
            self.accept();
        }
        let count = fill(self, pool, batch);
        if waits && count == 0 {
            self.next_rx = clock::now() + self.config.min_rx_interval;
        }
        count
    }

    fn tx_room(&mut self, _: &mut Pool) -> usize {
        if let Some(peer) = self.peer.as_ref().filter(|_| self.is_full) {
            self.counters.syscall_count += 1;
            self.is_full =
                poll(&[(peer.as_fd(), Interest::WRITE)], Some(Duration::ZERO)).is_ok_and(|n| n == 0);
        }
        if self.is_full { 0 } else { BATCH_LEN_MAX }
    }

    fn tx(&mut self, pool: &mut Pool, batch: &mut Batch) {
        if self.peer.is_none() {
            self.accept();
        }
        hand_over(self, pool, batch);
    }

    fn flush(&mut self, _: &mut Pool) {}

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.peer.as_ref().map_or(self.listener.as_fd(), |peer| peer.as_fd()))
    }

    fn frame_len_max(&self) -> usize {
        self.config.frame_len_max
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }

    fn is_linked(&self) -> bool {
        self.is_connected()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_packet::HeapMemory;

    fn pool(chunk_count: usize) -> Pool {
        Pool::new(Box::new(HeapMemory::new(chunk_count * 2048)), 2048).unwrap()
    }

    fn port(name: &str, confirm_connect: bool) -> UnixSocketPort {
        let path = format!("@tidegate-port-{name}-{}", std::process::id());
        let config = UnixSocketConfig {
            confirm_connect,
            min_rx_interval: Duration::ZERO,
            ..UnixSocketConfig::new(&path)
        };
        UnixSocketPort::open(config).unwrap()
    }

    fn peer(port: &UnixSocketPort) -> Channel {
        tidegate_sys::local_socket::connect(&port.config.path).unwrap()
    }

    fn send(port: &mut UnixSocketPort, pool: &mut Pool, bytes: &[u8]) -> usize {
        let mut batch = Batch::new();
        let mut frame = pool.alloc().unwrap();
        assert!(frame.extend(bytes));
        batch.push(frame).unwrap();
        port.tx(pool, &mut batch);
        let left = batch.len();
        pool.free_batch(&mut batch);
        left
    }

    fn take(port: &mut UnixSocketPort, pool: &mut Pool) -> Vec<Vec<u8>> {
        let mut batch = Batch::new();
        port.rx(pool, &mut batch);
        let frames = batch.iter().map(|frame| frame.data().to_vec()).collect();
        pool.free_batch(&mut batch);
        frames
    }

    #[test]
    fn frames_cross_both_ways_and_a_peer_that_connects_is_told() {
        let mut pool = pool(8);
        let mut port = port("both", true);
        let peer = peer(&port);
        peer.try_send(b"first").unwrap();
        peer.try_send(&[1; 1500]).unwrap();
        assert_eq!(take(&mut port, &mut pool), [&b"first"[..], &[1; 1500]]);
        assert_eq!(send(&mut port, &mut pool, b"back"), 0);
        let mut buffer = [0; 64];
        assert_eq!(peer.try_receive_data(&mut buffer).unwrap(), Some(4));
        assert_eq!(&buffer[..4], b"yes\0");
        assert_eq!(peer.try_receive_data(&mut buffer).unwrap(), Some(4));
        assert_eq!(&buffer[..4], b"back");
        assert_eq!(pool.free_count(), 8);
    }

    #[test]
    fn the_next_peer_is_taken_when_one_goes() {
        let mut pool = pool(8);
        let mut port = port("next", false);
        assert_eq!(send(&mut port, &mut pool, b"to nobody"), 0);
        assert_eq!(port.counters().tx_drop_count, 1);
        for round in 0..3_u8 {
            let peer = peer(&port);
            peer.try_send(&[round]).unwrap();
            assert_eq!(take(&mut port, &mut pool), [[round]]);
            drop(peer);
            assert!(take(&mut port, &mut pool).is_empty());
            assert!(!port.is_connected());
        }
        assert_eq!(pool.free_count(), 8);
    }

    #[test]
    fn a_peer_that_reads_nothing_holds_frames_back() {
        let mut pool = pool(8);
        let mut port = port("slow", false);
        let peer = peer(&port);
        take(&mut port, &mut pool);
        let mut sent = 0_u32;
        while send(&mut port, &mut pool, &sent.to_be_bytes()) == 0 {
            sent += 1;
            assert!(sent < 1_000_000);
        }
        assert_eq!(port.tx_room(&mut pool), 0);
        let mut buffer = [0; 64];
        for n in 0..sent {
            assert_eq!(peer.try_receive_data(&mut buffer).unwrap(), Some(4));
            assert_eq!(buffer[..4], n.to_be_bytes());
        }
        assert_eq!(port.tx_room(&mut pool), BATCH_LEN_MAX);
        assert_eq!(send(&mut port, &mut pool, b"more"), 0);
    }

    #[test]
    fn an_empty_socket_is_left_alone_for_a_while() {
        let mut pool = pool(8);
        let mut port = port("alone", false);
        port.config.min_rx_interval = Duration::from_secs(3600);
        take(&mut port, &mut pool);
        let peer = peer(&port);
        peer.try_send(b"later").unwrap();
        let before = port.counters().syscall_count;
        assert!(take(&mut port, &mut pool).is_empty());
        assert_eq!(port.counters().syscall_count, before);
    }
}
