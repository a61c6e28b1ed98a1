//! Whom an answer is for, and how much of it gets there.

use crate::counters::Transport;
use crate::message::Query;
use std::net::SocketAddr;
use tidegate_base::Duration;

/// Who asks, and how.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    /// From where.
    pub peer: SocketAddr,
    /// How the answer gets there.
    pub way: Way,
}

/// How an answer gets to whom it is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// In one datagram, of at most so many bytes.
    Udp {
        /// What the server sends and the path carries, whatever the client takes.
        size_max: usize,
    },
    /// On a connection.
    Tcp {
        /// How long it is kept idle (RFC 7828).
        keep_alive: Duration,
    },
}

impl Asker {
    pub(super) fn transport(&self) -> Transport {
        let is_ipv6 = self.peer.ip().to_canonical().is_ipv6();
        match self.way {
            Way::Udp { .. } => Transport::udp(is_ipv6),
            Way::Tcp { .. } => Transport::tcp(is_ipv6),
        }
    }

    pub(super) fn size_max(&self, query: &Query<'_>, room: &[u8]) -> usize {
        match self.way {
            Way::Udp { size_max } => query.udp_len_max(size_max).min(room.len()),
            Way::Tcp { .. } => room.len(),
        }
    }
}
