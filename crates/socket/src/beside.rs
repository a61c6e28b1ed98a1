//! Stacks on a NIC of the host's, which keeps all but the addresses and ports that are named here.
//!
//! ```text
//!   on_device   wire --eth0-- an XDP program of this process's --> AF_XDP sockets, one a queue      it needs rights
//!   on_mux      wire --eth0-- the daemon's XDP program --> a veth, or a queue, of the stack's own   by leave of the daemon
//! ```
//! Either finds peers by the host's routes and neighbours, and its sockets can be nowhere else.

use crate::runtime::{CHUNK_SIZE, OpenError, Runtime, RuntimeConfig};
use std::net::SocketAddr;
use std::sync::Arc;
use tidegate_bpf::{ModeChoice, Tuple};
use tidegate_mux::client::attach;
use tidegate_mux::registry::Wanted;
use tidegate_mux::{Ground, Gso, Holding, Keeper, MuxError, Nic, Reserve, find_link};
use tidegate_packet::{HeapMemory, Pool, PoolError};
use tidegate_port::{JoinedPort, Port};
use tidegate_sys::netlink::{Netlink, ifindex};
use tidegate_sys::xsk::{Umem, XskConfig};

/// Bytes of a chunk that a packet of more than 1,500 bytes fits.
const LARGE_CHUNK_SIZE: usize = 4096;
const MTU_OF_CHUNK: usize = 1500;
/// Bytes of frames that each queue has at least.
const QUEUE_SHARE: usize = 1 << 20;
/// Bytes of frames of a stack without rights: half of what a user may lock in memory if nothing else was set
/// (RLIMIT_MEMLOCK).
const UNPRIVILEGED_SIZE_MAX: usize = 4 << 20;

/// What a stack has of a NIC: the host's again when this is dropped, the tuples before the program.
struct Share {
    _holding: Holding,
    _nic: Arc<Nic>,
}

impl Runtime {
    /// Sockets at `places` of the host's on its NIC `device`: each for TCP and UDP. All else stays the host's, and so do they
    /// again when this is dropped.
    ///
    /// Needs CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF.
    pub fn on_device(device: &str, places: &[SocketAddr], config: RuntimeConfig) -> Result<Self, OpenError> {
        if let Some(place) = places.iter().find(|place| place.ip().is_unspecified()) {
            let text = format!("{place}: name one of the addresses that {device} has");
            return Err(OpenError::Places(text));
        }
        let tuples = tuples(places)?;
        let link = find_link(&mut Netlink::open()?, device)?;
        let ifindex = link.ifindex;
        let mut ground = Ground::default();
        let nic = ground.nic(link, ModeChoice::DriverThenGeneric)?;
        let holding = ground.hold(&nic, "sockets", &tuples, Reserve::Ports)?;
        let size_min = nic.queue_count as usize * QUEUE_SHARE;
        let pool = pool(nic.mtu(), |size| size.max(size_min), &config)?;
        let port = queues(&nic, &pool)?;
        holding.claim()?;
        let mut runtime = Self::new(port, pool, nic.interface(&tuples), config)?;
        runtime.confine(places.to_vec());
        runtime.ask_kernel(ifindex)?;
        Ok(runtime.holding(Share { _holding: holding, _nic: nic }))
    }

    /// Sockets at `places` of the host's, each for TCP and UDP, by leave of a `tidegate daemon --mux` whose socket is at
    /// `path`: beside its services and other stacks. The daemon may be started again meanwhile: frames flow on, and a
    /// thread claims the stack back. All is given back when this is dropped.
    ///
    /// Needs no capability with [`Grade::Veth`](tidegate_mux::registry::Grade::Veth), but for ports below 1024. Source:
    /// docs/specs/mux.md.
    pub fn on_mux(
        path: &str,
        wanted: &Wanted,
        places: &[SocketAddr],
        config: RuntimeConfig,
    ) -> Result<Self, OpenError> {
        let tuples = tuples(places)?;
        let mut attachment = attach(path, wanted)?;
        let interface = attachment.interface();
        let mtu = attachment.place().mtu as usize;
        let pool = pool(mtu, |size| size.min(UNPRIVILEGED_SIZE_MAX), &config)?;
        let port = attachment.open_port(&Umem::of_pool(&pool), &XskConfig::default())?;
        tuples.into_iter().try_for_each(|tuple| attachment.bind(tuple))?;
        let mut runtime = Self::new(port, pool, interface, config)?;
        runtime.confine(places.to_vec());
        // Whoever is in another network namespace than the NIC names its neighbours itself.
        if let Ok(link) = ifindex(&wanted.device) {
            runtime.ask_kernel(link)?;
        }
        Ok(runtime.holding(Keeper::new(attachment, path).map_err(OpenError::Keeper)?))
    }
}

/// Both transports of each place. None at all would be the whole NIC.
fn tuples(places: &[SocketAddr]) -> Result<Vec<Tuple>, OpenError> {
    if places.is_empty() {
        return Err(OpenError::Places("name the addresses and ports that the stack is to have".to_owned()));
    }
    let both = |at: &SocketAddr| [Tuple::tcp(at.ip(), at.port()), Tuple::udp(at.ip(), at.port())];
    Ok(places.iter().flat_map(both).collect())
}

/// Frames for packets of up to `mtu` bytes, `fit` having the last word on how many bytes of them.
fn pool(mtu: usize, fit: impl Fn(usize) -> usize, config: &RuntimeConfig) -> Result<Pool, PoolError> {
    let chunk_size = if mtu > MTU_OF_CHUNK { LARGE_CHUNK_SIZE } else { CHUNK_SIZE };
    Pool::new(Box::new(HeapMemory::new(fit(config.frame_count * chunk_size))), chunk_size)
}

/// A socket on every queue, for a frame comes by the one that the NIC chooses.
fn queues(nic: &Nic, pool: &Pool) -> Result<Box<dyn Port>, MuxError> {
    let umem = Umem::of_pool(pool);
    let open = |queue| -> Result<Box<dyn Port>, MuxError> {
        // The first one sends for all.
        let gso = if queue == 0 { Gso::Auto } else { Gso::Off };
        Ok(Box::new(nic.open_queue(queue, &umem, &XskConfig::default(), gso)?))
    };
    let mut ports = (0..nic.queue_count).map(open).collect::<Result<Vec<_>, _>>()?;
    if ports.len() == 1 { Ok(ports.swap_remove(0)) } else { Ok(Box::new(JoinedPort::new(ports)?)) }
}
