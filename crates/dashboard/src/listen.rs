//! Connections: where they come from, how many there may be, and how they end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use thiserror::Error;
use tidegate_control::Caller;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime;
use tokio::sync::{Semaphore, watch};

use crate::answer::Site;

/// Connections at a time; who comes then, waits.
const CONNECTIONS_MAX: usize = 32;

/// Bytes of a request.
const REQUEST_LEN_MAX: usize = 16 << 10;

/// How long a browser may take for its next request.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long to leave what cannot be accepted alone, such as for want of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Why there is no page.
#[derive(Debug, Error)]
pub enum DashboardError {
    /// An address that others reach.
    #[error(
        "{0} can be reached from outside and the page asks for no password: give a loopback address, such as 127.0.0.1:{port}",
        port = .0.port()
    )]
    Remote(SocketAddr),
    /// An address that cannot be had.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// No thread, or nothing to wait with.
    #[error("cannot start the page's server: {source}")]
    Start {
        /// Why.
        source: io::Error,
    },
}

/// The page, served until it is dropped.
pub struct Dashboard {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Dashboard {
    /// Serves the page on `address`, which must be of the loopback; port 0 for any that is free. The socket is bound when it
    /// returns.
    pub fn start(address: SocketAddr, daemon: Caller) -> Result<Self, DashboardError> {
        if !address.ip().is_loopback() {
            return Err(DashboardError::Remote(address));
        }
        let listening = |source| DashboardError::Listen { address, source };
        let starting = |source| DashboardError::Start { source };
        let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(starting)?;
        let listener = runtime.block_on(TcpListener::bind(address)).map_err(listening)?;
        let address = listener.local_addr().map_err(listening)?;
        let (stop, stopped) = watch::channel(false);
        let thread = thread::Builder::new().name("dashboard".to_owned());
        let thread = thread.spawn(move || {
            let site = Arc::new(Site::new(address, daemon));
            runtime.block_on(serve(listener, site, stopped));
            runtime.shutdown_background();
        });
        Ok(Self { address, stop, thread: Some(thread.map_err(starting)?) })
    }

    /// Where it is, with the port that was chosen if none was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported by the thread itself.
            let _ = thread.join();
        }
    }
}

/// Accepts until it is to end; connections end with it.
async fn serve(listener: TcpListener, site: Arc<Site>, mut stopped: watch::Receiver<bool>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let accept = async {
        // The semaphore is never closed.
        while let Ok(place) = room.clone().acquire_owned().await {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let site = site.clone();
                    tokio::spawn(async move {
                        converse(stream, &site).await;
                        drop(place);
                    });
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    };
    tokio::select! {
        () = accept => {}
        _ = stopped.wait_for(|stop| *stop) => {}
    }
}

async fn converse(stream: TcpStream, site: &Site) {
    let service = service_fn(|request: Request<Incoming>| async move {
        let answer = site.answer(request.method(), request.uri(), request.headers()).await;
        Ok::<_, std::convert::Infallible>(answer)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(REQUEST_LEN_MAX)
        .serve_connection(TokioIo::new(stream), service);
    // A browser that went away, or sent what is no HTTP: nobody is left to tell.
    let _ = connection.await;
}
