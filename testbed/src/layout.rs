//! What a testbed looks like: sides, addresses, processors, offloads.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// One of the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that asks.
    Client,
    /// The one that answers.
    Server,
}

impl Side {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
        }
    }

    /// The device of its end of the cable.
    pub fn device(self) -> &'static str {
        match self {
            Side::Client => "client0",
            Side::Server => "server0",
        }
    }

    /// Its address in 10.78.0.0/24; 10.77.0.0/16 is the embedded default's, which may run in here too.
    pub fn ipv4(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 78, 0, self.host())
    }

    /// Its address in fd78::/64.
    pub fn ipv6(self) -> Ipv6Addr {
        Ipv6Addr::new(0xfd78, 0, 0, 0, 0, 0, 0, self.host().into())
    }

    /// Both addresses, with the length of their prefix.
    pub(crate) fn addresses(self) -> [(IpAddr, u8); 2] {
        [(self.ipv4().into(), 24), (self.ipv6().into(), 64)]
    }

    /// Its hardware address, locally administered and the same in every testbed.
    pub fn mac(self) -> [u8; 6] {
        [0x02, 0x77, 0, 0, 0, self.host()]
    }

    fn host(self) -> u8 {
        match self {
            Side::Client => 1,
            Side::Server => 2,
        }
    }
}

/// Who cuts what the server's kernel sends. A user-space stack sends frames as they are in either case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Segmentation {
    /// The kernel cuts to the MTU before its driver, as on a wire without TSO.
    #[default]
    Wire,
    /// Nobody: frames of up to 64 KiB cross the veth whole, as on no wire.
    Virtual,
}

/// How a testbed is made.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Who cuts large frames.
    pub segmentation: Segmentation,
    /// Receive and transmit queues at each end.
    pub queue_count: u32,
    /// The largest packet, without the link header.
    pub mtu: u32,
    /// A full ring stops its sender, as a wire's does, instead of losing frames. For one queue only.
    pub stops_senders: bool,
    /// Where the client's programs and receive threads run; anywhere if absent.
    pub client_cpu: Option<usize>,
    /// The same of the server.
    pub server_cpu: Option<usize>,
}

impl Layout {
    /// Nothing pinned, for tests that run side by side on whatever processors there are.
    pub fn unpinned() -> Layout {
        Layout { stops_senders: false, client_cpu: None, server_cpu: None, ..Layout::default() }
    }

    pub(crate) fn cpu(&self, side: Side) -> Option<usize> {
        match side {
            Side::Client => self.client_cpu,
            Side::Server => self.server_cpu,
        }
    }
}

impl Default for Layout {
    /// What benches compare on: the client on CPU 0, the server on CPU 1, one queue, frames cut as on a wire.
    fn default() -> Layout {
        Layout {
            segmentation: Segmentation::Wire,
            queue_count: 1,
            mtu: 1500,
            stops_senders: true,
            client_cpu: Some(0),
            server_cpu: Some(1),
        }
    }
}
