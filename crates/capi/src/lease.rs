//! A stack beside others on a NIC of the host's, by leave of the daemon: `tidegate daemon --mux`. It needs no rights, unless it
//! wants a queue of the NIC's.
//!
//! ```text
//!   wire --eth0-- the daemon's XDP program --registered--> veth of its own --AF_XDP socket--> the stack
//!                                              \--> queue of its own ------AF_XDP socket--> the stack, if it is trusted
//! ```

use crate::border::Errno;
use crate::device::{places, pool, runtime, tuples};
use crate::stacks::explain;
use tidegate_mux::Keeper;
use tidegate_mux::client::{ClientError, attach};
use tidegate_mux::registry::{Grade, Wanted};
use tidegate_mux::server::SOCKET_PATH;
use tidegate_socket::Runtime;
use tidegate_sys::errno;
use tidegate_sys::netlink::ifindex;
use tidegate_sys::xsk::{Umem, XskConfig};

/// Bytes of frames: half of what a user may lock in memory if nothing else was set (RLIMIT_MEMLOCK).
const POOL_SIZE: usize = 4 << 20;

/// `DEVICE[/GRADE][@PATH]`: the daemon's socket, and what is wanted of it. Grades are veth and queue=N.
fn parse(place: &str) -> Result<(&str, Wanted), Errno> {
    let (place, path) = place.split_once('@').unwrap_or((place, SOCKET_PATH));
    let (device, grade) = place.split_once('/').unwrap_or((place, Grade::Veth.name()));
    let queue = grade.strip_prefix("queue=").and_then(|number| number.parse().ok());
    let grade = match queue {
        Some(_) => Grade::Queue,
        None if grade == Grade::Veth.name() => Grade::Veth,
        None => {
            let why =
                format!("`{grade}` is no way to a NIC: write {device}, {device}/veth or {device}/queue=N");
            return Err(explain(errno::EINVAL, why));
        }
    };
    Ok((path, Wanted { device: device.to_owned(), grade, queue }))
}

/// Opens a stack at the addresses and ports in `list`, where `place` says.
pub(crate) fn open(place: &str, list: &str) -> Result<(Runtime, Keeper), Errno> {
    let (path, wanted) = parse(place)?;
    let places = places(list)?;
    let mut attachment = attach(path, &wanted).map_err(refused)?;
    let interface = attachment.interface();
    let pool =
        pool(attachment.place().mtu as usize, POOL_SIZE).map_err(|error| explain(errno::ENOMEM, error))?;
    let port = attachment.port(&Umem::of_pool(&pool), &XskConfig::default()).map_err(refused)?;
    for tuple in tuples(&places) {
        attachment.bind(tuple).map_err(refused)?;
    }
    // Whoever is in another network namespace than the NIC names its neighbours itself.
    let link = ifindex(&wanted.device).ok();
    let runtime = runtime(Box::new(port), pool, interface, link, places);
    let runtime = runtime.map_err(|error| explain(errno::EIO, error))?;
    let keeper = Keeper::new(attachment, path).map_err(|error| explain(errno::EAGAIN, error))?;
    Ok((runtime, keeper))
}

fn refused(error: ClientError) -> Errno {
    explain(errno::EACCES, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_names_a_device_and_perhaps_a_socket_and_a_queue() {
        let parsed = |text: &'static str| parse(text).map(|(path, it)| (path, it.device, it.grade, it.queue));
        let eth0 = || "eth0".to_owned();
        assert_eq!(parsed("eth0"), Ok((SOCKET_PATH, eth0(), Grade::Veth, None)));
        assert_eq!(parsed("eth0@/run/mux"), Ok(("/run/mux", eth0(), Grade::Veth, None)));
        assert_eq!(parsed("eth0/veth@/run/mux"), Ok(("/run/mux", eth0(), Grade::Veth, None)));
        assert_eq!(parsed("eth0/queue=3@/run/mux"), Ok(("/run/mux", eth0(), Grade::Queue, Some(3))));
        assert_eq!(parsed("eth0/queue=0"), Ok((SOCKET_PATH, eth0(), Grade::Queue, Some(0))));
        for text in ["eth0/queue=", "eth0/queue=-1", "eth0/queue", "eth0/"] {
            assert_eq!(parsed(text), Err(Errno(errno::EINVAL)), "{text}");
        }
    }
}
