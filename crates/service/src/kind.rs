//! Which services there are, and what each asks of the network.

use std::fmt;
use std::net::SocketAddr;
use tidegate_bpf::Tuple;
use tidegate_sys::socket::Transport;

/// A kind of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Files over HTTP.
    Web,
    /// Zones over DNS.
    Dns,
}

impl Kind {
    /// The port that it has by convention.
    pub const fn port(self) -> u16 {
        match self {
            Self::Web => 80,
            Self::Dns => 53,
        }
    }

    /// What it is asked over. RFC 7766 section 5: a name server answers over TCP too.
    pub const fn transports(self) -> &'static [Transport] {
        match self {
            Self::Web => &[Transport::Tcp],
            Self::Dns => &[Transport::Udp, Transport::Tcp],
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Web => "web",
            Self::Dns => "dns",
        })
    }
}

/// Where one service is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// Where, its port included.
    pub address: SocketAddr,
    /// Which.
    pub kind: Kind,
}

impl Endpoint {
    /// The tuples of the XDP program's map whose frames are the service's.
    pub fn tuples(self) -> impl Iterator<Item = Tuple> {
        let (ip, port) = (self.address.ip(), self.address.port());
        self.kind.transports().iter().map(move |transport| match transport {
            Transport::Tcp => Tuple::tcp(ip, port),
            Transport::Udp => Tuple::udp(ip, port),
        })
    }
}
