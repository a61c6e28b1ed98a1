//! A socket that accepts connections.

use crate::id::SocketId;
use crate::options::Options;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

/// Connections that may wait beyond twice the backlog, because their handshakes were under way when it filled.
const OVERFLOW_COUNT_MAX: usize = 64;

/// Connections whose handshake is complete wait here, in order.
pub(crate) struct Listener {
    /// What it was bound to; no address: all of the interface's.
    pub(crate) addr: Option<IpAddr>,
    pub(crate) port: u16,
    pub(crate) backlog: usize,
    pub(crate) queue: VecDeque<SocketId>,
    pub(crate) options: Options,
}

impl Listener {
    pub(crate) fn hears(&self, local: SocketAddr) -> bool {
        self.port == local.port() && self.addr.is_none_or(|addr| addr == local.ip())
    }

    /// Whether who asks now is not answered.
    pub(crate) fn is_full(&self) -> bool {
        self.queue.len() >= self.backlog
    }

    /// Whether there is no place even for those that were answered while there was one.
    pub(crate) fn is_overfull(&self) -> bool {
        self.queue.len() >= 2 * self.backlog + OVERFLOW_COUNT_MAX
    }
}
