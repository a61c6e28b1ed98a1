//! Unix sockets by their address, of either kind: bound, reached, accepted.
//!
//! ```text
//!   address    a path of the file system, or an abstract name: "@name"
//!   Listener   bound to it; a path is removed again when it is dropped
//!   Connection what is had with whoever is at the other end
//! ```
//! Source: unix(7).

use std::io;
use std::marker::PhantomData;
use std::mem::offset_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;

use crate::syscall::{check, check_fd, or_later, socket};

/// Connections that may wait to be accepted: as many as the host lets any listener have (listen(2), net.core.somaxconn).
const BACKLOG: i32 = i32::MAX;

/// A unix socket could not be bound or reached.
#[derive(Debug, thiserror::Error)]
#[error("could not {attempt} the unix socket {address}: {source}; {}", self.hint())]
pub struct LocalSocketError {
    /// What was attempted.
    pub attempt: &'static str,
    /// Its path, or its abstract name behind an `@`.
    pub address: String,
    /// What the kernel said.
    pub source: io::Error,
}

impl LocalSocketError {
    fn hint(&self) -> &'static str {
        match self.source.raw_os_error() {
            Some(libc::EADDRINUSE) => {
                "another process listens there, or a file is in the way: choose another name"
            }
            Some(libc::ENOENT) => "nobody listens there, or its directory does not exist",
            Some(libc::ECONNREFUSED) => "nobody listens there",
            Some(libc::EACCES | libc::EPERM) => "its directory must be writable for this user",
            Some(libc::EINVAL | libc::ENAMETOOLONG) => "a name has 1 to 107 bytes, none of them zero",
            Some(libc::EPROTOTYPE) => "the socket there is of another kind: streams and messages do not mix",
            _ => "see unix(7)",
        }
    }
}

/// One end of a connection over a unix socket.
pub trait Connection: Sized {
    /// The socket's kind, as socket(2) has it.
    const KIND: i32;

    /// The connection over a connected socket that does not block.
    fn from_socket(socket: OwnedFd) -> io::Result<Self>;
}

/// Bytes in order; its calls wait.
impl Connection for UnixStream {
    const KIND: i32 = libc::SOCK_STREAM;

    fn from_socket(socket: OwnedFd) -> io::Result<Self> {
        let stream = UnixStream::from(socket);
        stream.set_nonblocking(false)?;
        Ok(stream)
    }
}

/// `sun_path`, and what of the structure the kernel is to read.
fn name_of(address: &str) -> io::Result<(libc::sockaddr_un, libc::socklen_t)> {
    // SAFETY: plain data, for which zero is valid.
    let mut name: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    name.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let bytes = address.as_bytes();
    if bytes.is_empty() || bytes == b"@" || bytes.len() >= name.sun_path.len() || bytes.contains(&0) {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    for (slot, byte) in name.sun_path.iter_mut().zip(bytes) {
        *slot = *byte as libc::c_char;
    }
    let mut len = offset_of!(libc::sockaddr_un, sun_path) + bytes.len();
    if let (true, [first, ..]) = (is_abstract(address), &mut name.sun_path) {
        *first = 0;
    } else {
        len += 1;
    }
    Ok((name, len as libc::socklen_t))
}

fn is_abstract(address: &str) -> bool {
    address.starts_with('@')
}

fn open<C: Connection>() -> io::Result<OwnedFd> {
    socket(libc::AF_UNIX, C::KIND | libc::SOCK_NONBLOCK, 0)
}

fn try_connect<C: Connection>(address: &str) -> io::Result<OwnedFd> {
    let (name, len) = name_of(address)?;
    let socket = open::<C>()?;
    // SAFETY: `name` is valid for reads of `len` bytes for the length of the call.
    check(unsafe { libc::connect(socket.as_raw_fd(), (&raw const name).cast(), len) })?;
    Ok(socket)
}

fn bind<C: Connection>(address: &str) -> io::Result<OwnedFd> {
    let (name, len) = name_of(address)?;
    let socket = open::<C>()?;
    // SAFETY: `name` is valid for reads of `len` bytes for the length of the call.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const name).cast(), len) })?;
    // SAFETY: takes no pointers.
    check(unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) })?;
    Ok(socket)
}

/// Connects to a path, or to the abstract name behind an `@`. Never waits: a listener with no room left is an error.
pub fn connect<C: Connection>(address: &str) -> Result<C, LocalSocketError> {
    let error = |source| LocalSocketError { attempt: "connect to", address: address.into(), source };
    try_connect::<C>(address).and_then(C::from_socket).map_err(error)
}

/// Where connections are taken.
#[derive(Debug)]
pub struct Listener<C> {
    socket: OwnedFd,
    address: String,
    connections: PhantomData<fn() -> C>,
}

impl<C: Connection> Listener<C> {
    /// Listens at a path, or at the abstract name behind an `@`. A socket at that path that nobody listens on any more is
    /// replaced; anything else there is an error.
    ///
    /// Needs no capability. Source: unix(7).
    pub fn bind(address: &str) -> Result<Self, LocalSocketError> {
        let bound = match bind::<C>(address) {
            Err(error) if error.raw_os_error() == Some(libc::EADDRINUSE) && is_stale::<C>(address) => {
                let _ = std::fs::remove_file(address);
                bind::<C>(address)
            }
            other => other,
        };
        match bound {
            Ok(socket) => Ok(Listener { socket, address: address.into(), connections: PhantomData }),
            Err(source) => Err(LocalSocketError { attempt: "listen at", address: address.into(), source }),
        }
    }

    /// The next connection, if there is one.
    pub fn try_accept(&self) -> io::Result<Option<C>> {
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        let no_name = std::ptr::null_mut();
        // SAFETY: without a place for it the kernel tells no address.
        let accepted =
            check_fd(unsafe { libc::accept4(self.socket.as_raw_fd(), no_name, std::ptr::null_mut(), flags) });
        or_later(accepted)?.map(C::from_socket).transpose()
    }
}

/// Whether a socket lies at the path that refuses connections.
fn is_stale<C: Connection>(path: &str) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    let refused = |error: &io::Error| error.raw_os_error() == Some(libc::ECONNREFUSED);
    !is_abstract(path) && is_socket && try_connect::<C>(path).as_ref().is_err_and(refused)
}

impl<C> AsFd for Listener<C> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl<C> Drop for Listener<C> {
    fn drop(&mut self) {
        if !is_abstract(&self.address) {
            let _ = std::fs::remove_file(&self.address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seqpacket::Channel;
    use std::io::{Read, Write};

    fn a_stale_path_is_replaced_and_a_taken_one_is_not<C: Connection + std::fmt::Debug>(name: &str) {
        let path = std::env::temp_dir().join(format!("tidegate-{name}-{}", std::process::id()));
        let path = path.to_str().unwrap();
        // As a process leaves it that was killed.
        drop(bind::<C>(path).unwrap());
        let listener = Listener::<C>::bind(path).unwrap();
        let text = Listener::<C>::bind(path).unwrap_err().to_string();
        assert!(text.contains("another process listens"), "{text}");
        drop(listener);
        assert!(!std::path::Path::new(path).exists());
        std::fs::write(path, "a file of somebody's").unwrap();
        assert!(Listener::<C>::bind(path).is_err());
        std::fs::remove_file(path).unwrap();
        assert!(connect::<C>(path).unwrap_err().to_string().contains("nobody listens"));
    }

    #[test]
    fn a_stale_path_is_replaced_by_messages() {
        a_stale_path_is_replaced_and_a_taken_one_is_not::<Channel>("stale-messages");
    }

    #[test]
    fn a_stale_path_is_replaced_by_streams() {
        a_stale_path_is_replaced_and_a_taken_one_is_not::<UnixStream>("stale-streams");
    }

    #[test]
    fn names_that_cannot_be_are_refused() {
        for name in ["", "@", &"x".repeat(108), "a\0b"] {
            let text = Listener::<Channel>::bind(name).unwrap_err().to_string();
            assert!(text.contains("1 to 107"), "{name:?}: {text}");
        }
    }

    #[test]
    fn hundreds_may_come_before_the_first_is_accepted() {
        let address = format!("@tidegate-crowd-{}", std::process::id());
        let listener = Listener::<Channel>::bind(&address).unwrap();
        let crowd: Vec<Channel> = (0..300).map(|_| connect(&address).unwrap()).collect();
        let accepted = std::iter::from_fn(|| listener.try_accept().unwrap()).count();
        assert_eq!(accepted, crowd.len());
    }

    #[test]
    fn streams_wait_for_what_comes() {
        let address = format!("@tidegate-streams-{}", std::process::id());
        let listener = Listener::<UnixStream>::bind(&address).unwrap();
        assert!(listener.try_accept().unwrap().is_none());
        let mut near: UnixStream = connect(&address).unwrap();
        let mut far = listener.try_accept().unwrap().unwrap();
        let writer = std::thread::spawn(move || near.write_all(b"late"));
        let mut buffer = [0; 4];
        far.read_exact(&mut buffer).unwrap();
        assert_eq!(&buffer, b"late");
        writer.join().unwrap().unwrap();
    }
}
