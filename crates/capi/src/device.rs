//! A stack on a NIC of the host, which keeps everything but the addresses and ports that are named here.
//!
//! ```text
//!   wire --eth0-- XDP program --registered--> AF_XDP sockets, one a queue --> the stack
//!                      \--all else--> the host
//! ```

use crate::border::Errno;
use crate::stacks::explain;
use std::net::SocketAddr;
use std::sync::Arc;
use tidegate_bpf::{ModeChoice, Tuple};
use tidegate_mux::{Ground, Gso, Holding, MuxError, Nic, Reserve, find_link};
use tidegate_packet::{HeapMemory, Pool, PoolError};
use tidegate_port::{JoinedPort, Port};
use tidegate_socket::{OpenError, Runtime, RuntimeConfig};
use tidegate_stack::Interface;
use tidegate_sys::errno;
use tidegate_sys::netlink::Netlink;
use tidegate_sys::xsk::{Umem, XskConfig};

/// Bytes of a chunk that a packet of 1,500 bytes fits, and what longer ones take.
const CHUNK_SIZE: usize = 2048;
const LARGE_CHUNK_SIZE: usize = 4096;
const MTU_OF_CHUNK: usize = 1500;
/// Bytes of frames, and of those that each queue has at least.
const POOL_SIZE: usize = 8 << 20;
const QUEUE_SHARE: usize = 1 << 20;

/// The addresses and ports in `list`.
pub(crate) fn places(list: &str) -> Result<Vec<SocketAddr>, Errno> {
    let parse = |text: &str| {
        text.trim().parse().map_err(|_| {
            let why = format!("`{text}` is no address and port: write them as in 10.0.0.2:80,[fd77::2]:80");
            explain(errno::EINVAL, why)
        })
    };
    list.split(',').map(parse).collect()
}

/// Both transports at each of `places`.
pub(crate) fn tuples(places: &[SocketAddr]) -> Vec<Tuple> {
    let both = |at: &SocketAddr| [Tuple::tcp(at.ip(), at.port()), Tuple::udp(at.ip(), at.port())];
    places.iter().flat_map(both).collect()
}

/// A stack that carries its frames by `port` and has `places` of the host's, which finds peers for it on its link `ifindex`, if
/// that is to be seen from here.
pub(crate) fn runtime(
    port: Box<dyn Port>,
    pool: Pool,
    interface: Interface,
    ifindex: Option<u32>,
    places: Vec<SocketAddr>,
) -> Result<Runtime, OpenError> {
    let mut runtime = Runtime::new(port, pool, interface, RuntimeConfig::default())?;
    runtime.confine(places);
    ifindex.map(|ifindex| runtime.ask_kernel(ifindex)).transpose()?;
    Ok(runtime)
}

/// What a stack has of a NIC: the host's again when this is dropped, the tuples before the program.
pub(crate) struct Share {
    _holding: Holding,
    _nic: Arc<Nic>,
}

/// So many bytes of frames for packets of up to `mtu` bytes.
pub(crate) fn pool(mtu: usize, size: usize) -> Result<Pool, PoolError> {
    let chunk_size = if mtu > MTU_OF_CHUNK { LARGE_CHUNK_SIZE } else { CHUNK_SIZE };
    Pool::new(Box::new(HeapMemory::new(size)), chunk_size)
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

/// Keeps `tuples` of the device `name`; its number, too.
fn hold(name: &str, tuples: &[Tuple]) -> Result<(Arc<Nic>, u32, Holding), MuxError> {
    let mut ground = Ground::default();
    let link = find_link(&mut Netlink::open()?, name)?;
    let ifindex = link.ifindex;
    let nic = ground.nic(link, ModeChoice::DriverThenGeneric)?;
    let holding = ground.hold(&nic, "libtidegate", tuples, Reserve::Ports)?;
    Ok((nic, ifindex, holding))
}

/// Opens a stack at the addresses and ports in `list` on the device `name`.
pub(crate) fn open(name: &str, list: &str) -> Result<(Runtime, Share), Errno> {
    let places = places(list)?;
    if let Some(place) = places.iter().find(|place| place.ip().is_unspecified()) {
        return Err(explain(errno::EINVAL, format!("{place}: name one of the addresses that {name} has")));
    }
    let tuples = tuples(&places);
    let refused = |error: MuxError| explain(errno::EACCES, error);
    let (nic, ifindex, holding) = hold(name, &tuples).map_err(refused)?;
    let size = POOL_SIZE.max(nic.queue_count as usize * QUEUE_SHARE);
    let pool = pool(nic.mtu(), size).map_err(|error| explain(errno::ENOMEM, error))?;
    let port = queues(&nic, &pool).map_err(refused)?;
    holding.claim().map_err(refused)?;
    let opened = runtime(port, pool, nic.interface(&tuples), Some(ifindex), places);
    let runtime = opened.map_err(|error| explain(errno::EIO, error))?;
    Ok((runtime, Share { _holding: holding, _nic: nic }))
}
