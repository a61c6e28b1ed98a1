//! Where the server listens, and what keeps it from that.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdTcpListener};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener as StdUnixListener, UnixStream};
use std::path::{Path, PathBuf};

use thiserror::Error;
use tokio::net::{TcpListener, UnixListener};

/// Where clients of BESS look first.
pub const LISTEN_DEFAULT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 10514);

/// Who may use the Unix socket: its owner.
const SOCKET_MODE: u32 = 0o600;

/// Where to listen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listen {
    /// An address; port 0 for any that is free.
    pub tcp: Option<SocketAddr>,
    /// The path of a socket.
    pub unix: Option<PathBuf>,
    /// Whether the address may be other than the loopback, for anybody who reaches it to command the daemon.
    pub remote_allowed: bool,
}

impl Default for Listen {
    fn default() -> Self {
        Self { tcp: Some(LISTEN_DEFAULT), unix: None, remote_allowed: false }
    }
}

/// Why there is no server.
#[derive(Debug, Error)]
pub enum ListenError {
    /// An address that others reach.
    #[error(
        "{0} can be reached from outside and the protocol knows no users: listen on 127.0.0.1, or allow it"
    )]
    Remote(SocketAddr),
    /// An address that cannot be had.
    #[error("cannot listen on {address}: {source}; see who does: ss -ltnp")]
    Tcp {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// A path that cannot be had.
    #[error("cannot listen on {}: {source}", path.display())]
    Unix {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No thread, or nothing to wait with.
    #[error("cannot start the control server: {source}")]
    Start {
        /// Why.
        source: io::Error,
    },
}

/// Sockets that are bound.
pub(super) struct Sockets {
    pub(super) tcp: Option<TcpListener>,
    pub(super) unix: Option<UnixListener>,
}

impl Sockets {
    /// Binds them; to be called inside the runtime that will serve them.
    pub(super) fn bind(listen: &Listen) -> Result<Sockets, ListenError> {
        let remote = listen.tcp.filter(|address| !listen.remote_allowed && !address.ip().is_loopback());
        if let Some(address) = remote {
            return Err(ListenError::Remote(address));
        }
        let tcp = listen
            .tcp
            .map(|address| bind_tcp(address).map_err(|source| ListenError::Tcp { address, source }));
        let unix = listen
            .unix
            .as_ref()
            .map(|path| bind_unix(path).map_err(|source| ListenError::Unix { path: path.clone(), source }));
        Ok(Sockets { tcp: tcp.transpose()?, unix: unix.transpose()? })
    }

    pub(super) fn tcp_address(&self) -> Option<SocketAddr> {
        self.tcp.as_ref().and_then(|listener| listener.local_addr().ok())
    }
}

fn bind_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = StdTcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    remove_stale(path)?;
    let listener = StdUnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(SOCKET_MODE))?;
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}

/// Removes a socket that nobody listens on any more; anything else stays, and binding then fails.
fn remove_stale(path: &Path) -> io::Result<()> {
    let is_socket = path.symlink_metadata().is_ok_and(|metadata| metadata.file_type().is_socket());
    let refused = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    if is_socket && UnixStream::connect(path).err().as_ref().is_some_and(refused) {
        std::fs::remove_file(path)?;
    }
    Ok(())
}
