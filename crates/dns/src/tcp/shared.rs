//! What the workers of one server share of TCP: limits, the count of connections, what was counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tidegate_base::Duration;
use tidegate_stack::{AdmissionLimits, Gate};

/// How much a connection may take up, and how long.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Connections over all workers.
    pub connection_count_max: u32,
    /// Connections from one address (IPv6: from one /64), over all workers; zero is no limit.
    pub connection_count_max_per_peer: u32,
    /// Blocks of answers under way on one connection.
    pub pipelined_max: usize,
    /// Queries on one connection; zero is no limit.
    pub query_count_max: u32,
    /// From one query to the next.
    pub idle: Duration,
    /// From a query's first byte to its last.
    pub query: Duration,
    /// How long nothing of what is under way may be acknowledged.
    pub sending: Duration,
}

impl Bounds {
    pub(crate) const fn admission(&self) -> AdmissionLimits {
        AdmissionLimits {
            count_max: self.connection_count_max,
            count_max_per_peer: self.connection_count_max_per_peer,
        }
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connection_count_max: 1 << 16,
            connection_count_max_per_peer: 0,
            pipelined_max: 128,
            query_count_max: 0,
            idle: Duration::from_secs(10),
            query: Duration::from_secs(5),
            sending: Duration::from_secs(30),
        }
    }
}

/// What all workers' connections have in common.
pub struct TcpShared {
    pub(crate) bounds: Bounds,
    pub(crate) gate: Arc<Gate>,
    is_draining: AtomicBool,
}

impl TcpShared {
    /// A server's connections under these limits.
    pub fn new(bounds: Bounds) -> Arc<Self> {
        Arc::new(Self { bounds, gate: Arc::default(), is_draining: AtomicBool::new(false) })
    }

    /// The same connections under other limits.
    #[must_use]
    pub fn successor(&self, bounds: Bounds) -> Arc<Self> {
        let is_draining = AtomicBool::new(self.is_draining());
        Arc::new(Self { bounds, gate: Arc::clone(&self.gate), is_draining })
    }

    /// From now on each answer is the last of its connection, and none is opened. Those that have nothing
    /// under way are closed when they are woken.
    pub fn drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
    }

    /// Whether the server is being drained.
    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }

    /// How long an idle connection is kept, as it is told to clients: not at all while draining (RFC 7828
    /// section 3.4: a timeout of zero asks for the connection to be closed).
    pub(crate) fn keep_alive(&self) -> Duration {
        if self.is_draining() { Duration::ZERO } else { self.bounds.idle }
    }
}
