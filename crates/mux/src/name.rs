//! Which process has the virtual NIC of a name: the one that has bound an abstract Unix socket of that name.
//!
//! Such a socket belongs to the network namespace, as the NIC does, and is gone with its process at once. The
//! NIC of a killed process may be seen for a while after it: without a holder of the name it is a leftover.

use crate::error::{Attempt, Result};
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

/// How long a process that was just killed may take to end.
const PATIENCE: Duration = Duration::from_secs(1);
const POLL_PERIOD: Duration = Duration::from_millis(5);

/// A name that nobody else has until this is dropped.
#[derive(Debug)]
pub(crate) struct NameClaim {
    _socket: UnixDatagram,
}

impl NameClaim {
    /// Claims `name` in the calling thread's network namespace; `None` if another process has it.
    pub(crate) fn of(name: &str) -> Result<Option<Self>> {
        let address = SocketAddr::from_abstract_name(format!("tidegate/{name}"))?;
        let start = Instant::now();
        loop {
            match UnixDatagram::bind_addr(&address) {
                Ok(socket) => return Ok(Some(Self { _socket: socket })),
                Err(error) if error.kind() != ErrorKind::AddrInUse => {
                    return Err(error).attempting(|| format!("could not claim the name {name}"));
                }
                Err(_) if start.elapsed() > PATIENCE => return Ok(None),
                Err(_) => std::thread::sleep(POLL_PERIOD),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_sys::netns::Netns;

    #[test]
    fn a_name_has_one_holder_in_each_namespace() {
        let elsewhere = Netns::create().expect("a namespace (run as root)");
        let netns = Netns::create().expect("a namespace (run as root)");
        let claim = || NameClaim::of("tidegate0").expect("a socket");
        let first = netns.run(claim).expect("entered");
        assert!(first.is_some());
        assert!(netns.run(claim).expect("entered").is_none());
        assert!(elsewhere.run(claim).expect("entered").is_some());
        drop(first);
        assert!(netns.run(claim).expect("entered").is_some());
    }
}
