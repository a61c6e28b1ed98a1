//! Unix stream sockets at a path or an abstract name.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use super::config::VhostUserError;

/// A socket that listens; its path goes with it.
#[derive(Debug)]
pub(super) struct Listener {
    socket: UnixListener,
    path: String,
}

/// Abstract behind an `@`.
fn address(path: &str) -> io::Result<SocketAddr> {
    match path.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(path),
    }
}

/// Connects to whoever listens there.
pub(super) fn connect(path: &str) -> io::Result<UnixStream> {
    UnixStream::connect_addr(&address(path)?)
}

impl Listener {
    /// Listens at `path`. The socket of one that died without taking it away is replaced.
    pub(super) fn bind(path: &str) -> Result<Listener, VhostUserError> {
        let bind = || -> io::Result<UnixListener> {
            let socket = UnixListener::bind_addr(&address(path)?)?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        let is_stale = || {
            !path.starts_with('@')
                && connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        };
        let bound = match bind() {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_stale() => {
                let _ = std::fs::remove_file(path);
                bind()
            }
            other => other,
        };
        match bound {
            Ok(socket) => Ok(Listener { socket, path: path.to_owned() }),
            Err(source) => Err(VhostUserError::Listen { socket: path.to_owned(), source }),
        }
    }

    /// The next that connects, if somebody does.
    pub(super) fn try_accept(&self) -> io::Result<Option<UnixStream>> {
        match self.socket.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                Ok(Some(stream))
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if !self.path.starts_with('@') {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
