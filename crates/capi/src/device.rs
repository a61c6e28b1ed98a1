//! A stack on a NIC of the host, which keeps everything but the addresses and ports that are named here.
//!
//! ```text
//!   wire --eth0-- XDP program --registered--> AF_XDP socket of queue 0 --> the stack
//!                      \--all else--> the host
//! ```

use crate::border::Errno;
use crate::stacks::explain;
use std::net::SocketAddr;
use std::sync::Arc;
use tidegate_bpf::{ModeChoice, Tuple};
use tidegate_mux::{Ground, Gso, Holding, MuxError, Nic, Reserve, find_link};
use tidegate_packet::{HeapMemory, Pool, PoolError};
use tidegate_port::AfXdpPort;
use tidegate_socket::{Runtime, RuntimeConfig};
use tidegate_stack::Interface;
use tidegate_sys::errno;
use tidegate_sys::netlink::Netlink;
use tidegate_sys::xsk::{Umem, XskConfig};

/// Bytes of a chunk that a packet of 1,500 bytes fits, and what longer ones take.
const CHUNK_SIZE: usize = 2048;
const LARGE_CHUNK_SIZE: usize = 4096;
const MTU_OF_CHUNK: usize = 1500;
/// Bytes of frames.
const POOL_SIZE: usize = 8 << 20;

/// Both transports at each of the addresses and ports in `list`.
pub(crate) fn tuples(list: &str) -> Result<Vec<Tuple>, Errno> {
    let parse = |text: &str| {
        let parsed: Result<SocketAddr, _> = text.trim().parse();
        parsed.map_err(|_| {
            let why = format!("`{text}` is no address and port: write them as in 10.0.0.2:80,[fd77::2]:80");
            explain(errno::EINVAL, why)
        })
    };
    let places: Vec<SocketAddr> = list.split(',').map(parse).collect::<Result<_, _>>()?;
    Ok(places
        .iter()
        .flat_map(|at| [Tuple::tcp(at.ip(), at.port()), Tuple::udp(at.ip(), at.port())])
        .collect())
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

fn take(name: &str, tuples: &[Tuple]) -> Result<(Share, Interface, AfXdpPort, Pool), MuxError> {
    let mut ground = Ground::default();
    let link = find_link(&mut Netlink::open()?, name)?;
    let nic = ground.nic(link, ModeChoice::DriverThenGeneric)?;
    if nic.queue_count > 1 {
        return Err(MuxError::Occupied(format!(
            "{name} has {} queues, and a stack takes one: set it with: ethtool --set-channels {name} combined 1",
            nic.queue_count
        )));
    }
    let holding = ground.hold(&nic, "libtidegate", tuples, Reserve::Ports)?;
    let pool = pool(nic.mtu(), POOL_SIZE).map_err(|error| MuxError::Input(error.to_string()))?;
    let port = nic.open_queue(0, &Umem::of_pool(&pool), &XskConfig::default(), Gso::Auto)?;
    holding.claim()?;
    Ok((Share { _holding: holding, _nic: nic.clone() }, nic.interface(tuples), port, pool))
}

/// Opens a stack at the addresses and ports in `list` on the device `name`.
pub(crate) fn open(name: &str, list: &str) -> Result<(Runtime, Share), Errno> {
    let tuples = tuples(list)?;
    let (share, interface, port, pool) =
        take(name, &tuples).map_err(|error| explain(errno::EACCES, error))?;
    let runtime = Runtime::new(Box::new(port), pool, interface, RuntimeConfig::default());
    Ok((runtime.map_err(|error| explain(errno::EIO, error))?, share))
}
