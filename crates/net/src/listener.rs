//! Accepting connections.

use crate::net::{Net, Shared, Wish};
use crate::stream::TcpStream;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use tidegate_socket::{Error, Options, SocketId};

/// Connections that wait to be accepted, unless said otherwise.
const BACKLOG: usize = 1024;

/// Accepts connections at an address of its [`Net`]. Closed when dropped; connections that nobody accepted are reset then.
pub struct TcpListener {
    shared: Arc<Shared>,
    id: SocketId,
}

impl TcpListener {
    /// Listens at `local`: an unspecified address is all of the interface's, port zero any that is free.
    pub fn bind(net: &Net, local: SocketAddr) -> io::Result<Self> {
        Self::bind_with(net, local, BACKLOG, |_| Ok(()))
    }

    /// The same with room for `backlog` connections that wait, and with settings that connections inherit: `change` gets the
    /// stack's own, and may name another congestion control.
    pub fn bind_with(
        net: &Net,
        local: SocketAddr,
        backlog: usize,
        change: impl FnOnce(&mut Options) -> Result<(), Error>,
    ) -> io::Result<Self> {
        let shared = net.shared.clone();
        let id = shared.call(|runtime| runtime.stream_socket())?;
        let listener = Self { shared, id };
        listener.shared.call(|runtime| {
            let mut options = Options { no_delay: true, ..runtime.options(id)?.clone() };
            change(&mut options)?;
            runtime.set_options(id, options)?;
            runtime.bind(id, local)?;
            runtime.listen(id, backlog)
        })?;
        Ok(listener)
    }

    /// The next connection, and its peer. Dropping the future loses none.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        poll_fn(|cx| self.poll_accept(cx)).await
    }

    /// The same by hand.
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let accepted = self.shared.poll(cx, self.id, Wish::Read, |runtime| runtime.accept(self.id));
        accepted.map_ok(|(id, peer)| (TcpStream::new(self.shared.clone(), id), peer))
    }

    /// Where it listens.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.shared.call(|runtime| runtime.local_addr(self.id))
    }
}

impl Drop for TcpListener {
    fn drop(&mut self) {
        self.shared.close(self.id);
    }
}
