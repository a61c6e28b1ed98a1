//! Telling a service manager how far the service is: sd_notify(3), the protocol and not the library.
//!
//! Without a manager that asked (no `NOTIFY_SOCKET`) nothing happens.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The service takes requests.
pub(crate) const READY: &str = "READY=1";
/// The service is ending.
pub(crate) const STOPPING: &str = "STOPPING=1";

/// Sends `state` to the manager, if there is one.
pub(crate) fn tell(state: &str) {
    let Some(address) = std::env::var_os("NOTIFY_SOCKET").and_then(|name| address(name.as_bytes())) else {
        return;
    };
    let sent = UnixDatagram::unbound().and_then(|socket| socket.send_to_addr(state.as_bytes(), &address));
    if let Err(error) = sent {
        tracing::warn!("the service manager was not told {state}: {error}");
    }
}

/// A path, or after an `@` an abstract name.
fn address(name: &[u8]) -> Option<SocketAddr> {
    match name.split_first()? {
        (b'@', name) => SocketAddr::from_abstract_name(name).ok(),
        _ => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(name)).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_paths_or_abstract() {
        let path = address(b"/run/systemd/notify").expect("a path");
        assert_eq!(path.as_pathname(), Some("/run/systemd/notify".as_ref()));
        let name = address(b"@notify").expect("an abstract name");
        assert_eq!(name.as_abstract_name(), Some(&b"notify"[..]));
        assert!(address(b"").is_none());
    }
}
