//! A connection, whole or in two halves.

use crate::net::{Net, Shared, Wish};
use bytes::Bytes;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tidegate_socket::{Error, Info, Options, Readiness, Runtime, Shutdown, SocketId};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A connection. Dropped, it is closed: what was written is still sent, unless something that arrived was not read; then the
/// peer gets a reset, as with the kernel's sockets.
pub struct TcpStream {
    socket: Socket,
}

/// The half of a [`TcpStream`] that reads.
pub struct OwnedReadHalf {
    socket: Arc<Socket>,
}

/// The half of a [`TcpStream`] that writes. Dropped, it ends its direction; the other goes on.
pub struct OwnedWriteHalf {
    socket: Arc<Socket>,
}

/// A socket's number, given up when dropped.
struct Socket {
    shared: Arc<Shared>,
    id: SocketId,
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.shared.close(self.id);
    }
}

impl Socket {
    fn poll_read(&self, cx: &Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if buffer.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        self.shared.poll(cx, self.id, Wish::Read, |runtime| {
            let received = runtime.peek(self.id)?;
            let len = received.len().min(buffer.remaining());
            buffer.put_slice(&received[..len]);
            runtime.consume(self.id, len);
            Ok(())
        })
    }

    fn poll_write(&self, cx: &Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.shared.poll(cx, self.id, Wish::Write, |runtime| runtime.write(self.id, data))
    }

    fn poll_write_vectored(&self, cx: &Context<'_>, pieces: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        self.shared.poll(cx, self.id, Wish::Write, |runtime| write_vectored(runtime, self.id, pieces))
    }

    /// A FIN follows what was written. Once is enough, and a connection that is gone has nothing to end.
    fn shut_down(&self) -> io::Result<()> {
        match self.shared.call(|runtime| runtime.shutdown(self.id, Shutdown::Write)) {
            Err(error) if error.kind() != io::ErrorKind::NotConnected => Err(error),
            _ => Ok(()),
        }
    }
}

/// Writes piece after piece as long as there is room.
fn write_vectored(runtime: &mut Runtime, id: SocketId, pieces: &[IoSlice<'_>]) -> Result<usize, Error> {
    let mut written = 0;
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        match runtime.write(id, piece) {
            Ok(len) => written += len,
            Err(error) if written == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(written)
}

impl TcpStream {
    pub(crate) const fn new(shared: Arc<Shared>, id: SocketId) -> Self {
        Self { socket: Socket { shared, id } }
    }

    /// Opens a connection to `peer`, which must be on the link, or be known to the stack as a neighbour. Dropping the future
    /// gives the attempt up.
    pub async fn connect(net: &Net, peer: SocketAddr) -> io::Result<Self> {
        let shared = net.shared.clone();
        let id = shared.call(|runtime| runtime.stream_socket())?;
        let stream = Self::new(shared, id);
        stream.socket.shared.call(|runtime| {
            let options = Options { no_delay: true, ..runtime.options(id)?.clone() };
            runtime.set_options(id, options)?;
            match runtime.connect(id, peer) {
                Err(Error::InProgress) => Ok(()),
                other => other,
            }
        })?;
        poll_fn(|cx| stream.poll_opened(cx)).await?;
        Ok(stream)
    }

    fn poll_opened(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        let id = self.socket.id;
        self.socket.shared.poll(cx, id, Wish::Write, |runtime| {
            let readiness = runtime.readiness(id)?;
            match runtime.take_error(id)? {
                Some(error) => Err(error),
                None if readiness.has_any(Readiness::WRITABLE | Readiness::HANGUP) => Ok(()),
                None => Err(Error::WouldBlock),
            }
        })
    }

    /// This end.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.shared.call(|runtime| runtime.local_addr(self.socket.id))
    }

    /// The other end.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.socket.shared.call(|runtime| runtime.peer_addr(self.socket.id))
    }

    /// What is known of the connection: round trip, window, what was sent again.
    pub fn info(&self) -> io::Result<Info> {
        self.socket.shared.call(|runtime| runtime.info(self.socket.id))
    }

    /// Changes the connection's settings.
    pub fn set_options(&self, change: impl FnOnce(&mut Options) -> Result<(), Error>) -> io::Result<()> {
        let id = self.socket.id;
        self.socket.shared.call(|runtime| {
            let mut options = runtime.options(id)?.clone();
            change(&mut options)?;
            runtime.set_options(id, options)
        })
    }

    /// Writes shared bytes without copying them, all or, if the future is dropped before it is ready, none.
    pub async fn write_bytes(&self, data: Bytes) -> io::Result<()> {
        let id = self.socket.id;
        poll_fn(|cx| {
            let write = |runtime: &mut Runtime| runtime.write_bytes(id, data.clone());
            self.socket.shared.poll(cx, id, Wish::Write, write)
        })
        .await
    }

    /// A half for each direction, for two tasks.
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        let socket = Arc::new(self.socket);
        (OwnedReadHalf { socket: socket.clone() }, OwnedWriteHalf { socket })
    }
}

impl Drop for OwnedWriteHalf {
    fn drop(&mut self) {
        // Of a connection that failed there is nothing left to end.
        let _ = self.socket.shut_down();
    }
}

macro_rules! reads {
    ($($half:ident),+) => {$(
        impl AsyncRead for $half {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buffer: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                self.socket.poll_read(cx, buffer)
            }
        }
    )+};
}

macro_rules! writes {
    ($($half:ident),+) => {$(
        impl AsyncWrite for $half {
            fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
                self.socket.poll_write(cx, data)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                pieces: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.socket.poll_write_vectored(cx, pieces)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            /// Nothing is held back: what was written leaves with the driver's next round.
            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.socket.shut_down())
            }
        }
    )+};
}

reads!(TcpStream, OwnedReadHalf);
writes!(TcpStream, OwnedWriteHalf);
