//! Who is let in: connections in all, over all workers, and from one address, over all workers too. For
//! services; the stack itself knows only its own limits.
//!
//! ```text
//!   Gate, shared:       count of all (an atomic)      counts by address, in shards (only if there is a limit)
//!   Admission, a worker's:  whose each counted connection is
//! ```
//! Touched when a connection is accepted and when it ends, never by a segment. A shard's lock is held for the
//! change of one number, and two workers meet at it only if their peers share the shard at that moment.
//!
//! Invariant: each admission is matched by one release; an address is remembered exactly as long as it
//! has connections.

use crate::service::ConnId;
use hashbrown::{DefaultHashBuilder, HashMap};
use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Parts that the counts by address are in.
const SHARD_COUNT: usize = 64;

type Shard = HashMap<IpAddr, u32>;

/// How many may be in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdmissionLimits {
    /// Connections in all.
    pub count_max: u32,
    /// Connections from one address; zero is no limit, and costs nothing.
    pub count_max_per_peer: u32,
}

/// The connections of all workers.
#[derive(Debug)]
pub struct Gate {
    count: AtomicU32,
    by_peer: [Mutex<Shard>; SHARD_COUNT],
    hasher: DefaultHashBuilder,
}

impl Default for Gate {
    fn default() -> Self {
        let by_peer = std::array::from_fn(|_| Mutex::default());
        Self { count: AtomicU32::new(0), by_peer, hasher: DefaultHashBuilder::default() }
    }
}

impl Gate {
    /// Lets one more in, unless there are `count_max`.
    fn try_enter(&self, count_max: u32) -> bool {
        let entered = self.count.fetch_add(1, Ordering::Relaxed) < count_max;
        if !entered {
            self.leave();
        }
        entered
    }

    fn leave(&self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    /// Lets one more from `peer` in, unless there are `count_max`.
    fn try_enter_from(&self, peer: IpAddr, count_max: u32) -> bool {
        let mut shard = self.shard(peer);
        let count = shard.entry(peer).or_default();
        let entered = *count < count_max;
        // The limit is one at least, so an address that is refused has connections.
        *count += u32::from(entered);
        entered
    }

    fn leave_from(&self, peer: IpAddr) {
        let mut shard = self.shard(peer);
        if let Some(count) = shard.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                shard.remove(&peer);
            }
        }
    }

    fn shard(&self, peer: IpAddr) -> MutexGuard<'_, Shard> {
        let index = self.hasher.hash_one(peer) as usize % SHARD_COUNT;
        // A number is changed as a whole or not at all, whoever panicked.
        self.by_peer[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A worker's side of the gate.
#[derive(Debug)]
pub struct Admission {
    gate: Arc<Gate>,
    /// Whom the connection that was let in last is counted for, until its name is known.
    entering: Option<IpAddr>,
    counted: HashMap<ConnId, IpAddr>,
}

impl Admission {
    /// Through `gate`, like the other workers.
    pub fn new(gate: Arc<Gate>) -> Self {
        Self { gate, entering: None, counted: HashMap::new() }
    }

    /// Lets a connection from `peer` in, if the limits allow one more. For [`crate::Service::on_accept`], as
    /// the last condition of several: who is let in here must come in.
    pub fn try_enter(&mut self, peer: IpAddr, limits: AdmissionLimits) -> bool {
        self.entering = None;
        if !self.gate.try_enter(limits.count_max) {
            return false;
        }
        if limits.count_max_per_peer == 0 {
            return true;
        }
        let peer = site_of(peer);
        let entered = self.gate.try_enter_from(peer, limits.count_max_per_peer);
        if entered {
            self.entering = Some(peer);
        } else {
            self.gate.leave();
        }
        entered
    }

    /// Its name. For [`crate::Service::on_open`], which follows at once.
    pub fn on_open(&mut self, id: ConnId) {
        if let Some(peer) = self.entering.take() {
            self.counted.insert(id, peer);
        }
    }

    /// It is gone. For [`crate::Service::on_closed`].
    pub fn on_closed(&mut self, id: ConnId) {
        self.gate.leave();
        if let Some(peer) = self.counted.remove(&id) {
            self.gate.leave_from(peer);
        }
    }
}

/// What counts as one address: an IPv6 site has a whole /64 (RFC 6177) and could take another for each
/// connection.
fn site_of(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(addr) => addr.into(),
        IpAddr::V6(addr) => {
            let prefix = u128::from(addr) & (u128::MAX << 64);
            Ipv6Addr::from(prefix).into()
        }
    }
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
