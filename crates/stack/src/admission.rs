//! Who is let in: connections in all, over all workers, and from one address. For services; the stack itself
//! knows only its own limits.
//!
//! Invariant: each admission is matched by one release; an address is remembered exactly as long as it
//! has connections.

use crate::service::ConnId;
use hashbrown::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};

/// The connections of all workers.
#[derive(Default, Debug)]
pub struct Gate {
    count: AtomicU32,
}

impl Gate {
    /// Lets one more in, unless there are `count_max`.
    pub fn try_enter(&self, count_max: u32) -> bool {
        let entered = self.count.fetch_add(1, Ordering::Relaxed) < count_max;
        if !entered {
            self.leave();
        }
        entered
    }

    /// One that was let in is gone.
    pub fn leave(&self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A worker's connections by address. Costs nothing where there is no limit.
pub struct PeerLimit {
    count_max: u32,
    counts: HashMap<IpAddr, u32>,
    conns: HashMap<ConnId, IpAddr>,
}

impl PeerLimit {
    /// At most `count_max` connections from an address; zero is no limit.
    pub fn new(count_max: u32) -> Self {
        Self { count_max, counts: HashMap::new(), conns: HashMap::new() }
    }

    /// Changes the limit. Connections from before there was one stay uncounted.
    pub fn set_count_max(&mut self, count_max: u32) {
        self.count_max = count_max;
    }

    /// Whether one more from there is within the limit.
    pub fn admits(&self, peer: IpAddr) -> bool {
        self.count_max == 0 || self.counts.get(&site_of(peer)).is_none_or(|&count| count < self.count_max)
    }

    /// One from there was let in.
    pub fn enter(&mut self, id: ConnId, peer: IpAddr) {
        if self.count_max > 0 {
            *self.counts.entry(site_of(peer)).or_default() += 1;
            self.conns.insert(id, site_of(peer));
        }
    }

    /// The connection is gone.
    pub fn leave(&mut self, id: ConnId) {
        let Some(peer) = self.conns.remove(&id) else { return };
        if let Some(count) = self.counts.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&peer);
            }
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
            std::net::Ipv6Addr::from(prefix).into()
        }
    }
}
