//! The 4-tuple that names a connection.

use std::hash::{Hash, Hasher};
use std::net::SocketAddr;
use tidegate_wire::{FlowAddr, IpRepr, TcpRepr};

/// Both addresses and both ports, as this side sees them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FlowKey {
    pub(crate) remote: FlowAddr,
    pub(crate) local: FlowAddr,
    pub(crate) remote_port: u16,
    pub(crate) local_port: u16,
}

impl FlowKey {
    /// The flow of a segment that arrived.
    #[inline]
    pub(crate) const fn of(ip: &IpRepr, segment: &TcpRepr) -> Self {
        Self { remote: ip.src, local: ip.dst, remote_port: segment.src_port, local_port: segment.dst_port }
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        SocketAddr::new(self.remote.into(), self.remote_port)
    }

    pub(crate) fn here(&self) -> SocketAddr {
        SocketAddr::new(self.local.into(), self.local_port)
    }
}

/// The words are hashed one by one: no padding, no length prefixes.
impl Hash for FlowKey {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(self.remote.bits());
        state.write_u64(self.local.bits() as u64 ^ (self.local.bits() >> 64) as u64);
        state.write_u32(u32::from(self.remote_port) << 16 | u32::from(self.local_port));
    }
}
