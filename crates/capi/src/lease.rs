//! A stack beside others on a NIC of the host's, by leave of the daemon: `tidegate daemon --mux`. It needs no rights.
//!
//! ```text
//!   wire --eth0-- the daemon's XDP program --registered--> veth of its own --AF_XDP socket--> the stack
//! ```

use crate::border::Errno;
use crate::device::{pool, tuples};
use crate::stacks::explain;
use tidegate_mux::Keeper;
use tidegate_mux::client::{ClientError, attach};
use tidegate_mux::registry::{Grade, Wanted};
use tidegate_mux::server::SOCKET_PATH;
use tidegate_socket::{Runtime, RuntimeConfig};
use tidegate_sys::errno;
use tidegate_sys::xsk::{Umem, XskConfig};

/// Bytes of frames: half of what a user may lock in memory if nothing else was set (RLIMIT_MEMLOCK).
const POOL_SIZE: usize = 4 << 20;

/// Opens a stack at the addresses and ports in `list` on the device of `place`: DEVICE, or DEVICE@PATH of the daemon's socket.
pub(crate) fn open(place: &str, list: &str) -> Result<(Runtime, Keeper), Errno> {
    let (device, path) = place.split_once('@').unwrap_or((place, SOCKET_PATH));
    let tuples = tuples(list)?;
    let wanted = Wanted { device: device.to_owned(), grade: Grade::Veth, queue: None };
    let mut attachment = attach(path, &wanted).map_err(refused)?;
    let interface = attachment.interface();
    let pool =
        pool(attachment.place().mtu as usize, POOL_SIZE).map_err(|error| explain(errno::ENOMEM, error))?;
    let port = attachment.port(&Umem::of_pool(&pool), &XskConfig::default()).map_err(refused)?;
    for tuple in tuples {
        attachment.bind(tuple).map_err(refused)?;
    }
    let runtime = Runtime::new(Box::new(port), pool, interface, RuntimeConfig::default());
    let runtime = runtime.map_err(|error| explain(errno::EIO, error))?;
    let keeper = Keeper::new(attachment, path).map_err(|error| explain(errno::EAGAIN, error))?;
    Ok((runtime, keeper))
}

fn refused(error: ClientError) -> Errno {
    explain(errno::EACCES, error)
}
