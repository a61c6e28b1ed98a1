//! A socket for datagrams: what arrived for its port, what is to be sent, and where peers were last seen.

use crate::readiness::Readiness;
use bytes::Bytes;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use tidegate_base::{Duration, Instant};
use tidegate_stack::Link;

/// Bytes that may wait to be read; more are dropped, as on any network.
const RECEIVED_LEN_MAX: usize = 256 << 10;
/// Datagrams that may wait to be sent.
const OUTGOING_COUNT_MAX: usize = 256;
/// Peers whose place on the link is remembered.
const LINK_COUNT_MAX: usize = 4096;
/// How often, and how long apart, a datagram waits for its receiver's link address.
pub(crate) const TRY_COUNT_MAX: u8 = 3;
pub(crate) const TRY_INTERVAL: Duration = Duration::from_secs(1);

/// When a datagram that found no room is tried again.
pub(crate) const ROOM_INTERVAL: Duration = Duration::from_micros(100);

/// A datagram that arrived.
pub(crate) struct Received {
    pub(crate) peer: SocketAddr,
    pub(crate) data: Box<[u8]>,
}

/// A datagram to be sent.
pub(crate) struct Outgoing {
    pub(crate) local: SocketAddr,
    pub(crate) peer: SocketAddr,
    pub(crate) link: Option<Link>,
    pub(crate) data: Bytes,
    pub(crate) tries: u8,
    /// When to try; zero: at once.
    pub(crate) next: Instant,
}

#[derive(Default)]
pub(crate) struct DatagramSocket {
    pub(crate) bound: Option<SocketAddr>,
    pub(crate) peer: Option<SocketAddr>,
    received: VecDeque<Received>,
    received_len: usize,
    links: HashMap<IpAddr, Link>,
    pub(crate) is_named: bool,
}

impl DatagramSocket {
    /// Whether what comes from `peer` to `local` is for this socket.
    pub(crate) fn hears(&self, local: SocketAddr, peer: SocketAddr) -> bool {
        let is_here = |bound: SocketAddr| bound.ip().is_unspecified() || bound.ip() == local.ip();
        self.bound.is_some_and(|bound| bound.port() == local.port() && is_here(bound))
            && self.peer.is_none_or(|only| only == peer)
    }

    /// Keeps a datagram. False if too many wait.
    pub(crate) fn push(&mut self, peer: SocketAddr, link: Option<Link>, data: &[u8]) -> bool {
        if self.received_len + data.len() > RECEIVED_LEN_MAX {
            return false;
        }
        if let Some(link) = link.filter(|_| self.links.len() < LINK_COUNT_MAX) {
            self.links.insert(peer.ip(), link);
        }
        self.received_len += data.len();
        self.received.push_back(Received { peer, data: data.into() });
        true
    }

    pub(crate) fn pop(&mut self) -> Option<Received> {
        let first = self.received.pop_front()?;
        self.received_len -= first.data.len();
        Some(first)
    }

    pub(crate) fn link(&self, peer: IpAddr) -> Option<Link> {
        self.links.get(&peer).copied()
    }

    pub(crate) fn readiness(&self) -> Readiness {
        Readiness::WRITABLE | Readiness::READABLE.when(!self.received.is_empty())
    }
}

/// Datagrams of all sockets that wait for room, or for a link address.
#[derive(Default)]
pub(crate) struct OutgoingQueue(pub(crate) VecDeque<Outgoing>);

impl OutgoingQueue {
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= OUTGOING_COUNT_MAX
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.0.iter().map(|outgoing| outgoing.next).min()
    }
}
