//! The server: both services, health and reflection, on TCP and on a Unix socket.
//!
//! One thread runs all connections; it never waits for the controller, only for its answers. Only the
//! loopback is listened on unless more is asked for: the protocol knows no users, and whoever reaches it
//! commands the daemon.

mod bess;
mod listen;
mod tidegate;

pub use listen::{LISTEN_DEFAULT, Listen, ListenError};

use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::{self, Runtime};
use tokio::sync::watch;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::service::Routes;
use tonic::transport::server::{Router, TcpIncoming};

use crate::Caller;
use crate::proto::DESCRIPTORS;
use crate::proto::bess::bess_control_server::BessControlServer;
use crate::proto::v1::control_server::ControlServer;
use listen::Sockets;

/// Bytes that a request or an answer may have: tables of some hundred thousand rules.
pub const MESSAGE_LEN_MAX: usize = 64 << 20;

/// Calls that one connection may have under way.
const CALLS_PER_CONNECTION_MAX: usize = 32;

/// Bytes of a request's headers.
const HEADERS_LEN_MAX: u32 = 16 << 10;

/// How long a silent connection lasts before it is asked whether its client is there, and how long it has
/// to answer.
const KEEPALIVE: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(20));

/// How long calls that are under way have to end when the server does.
const GRACE: Duration = Duration::from_secs(5);

/// How long the last answers have to leave when no call is under way: an idle client need not notice that
/// its server ends, so its connection is not waited for.
const LINGER: Duration = Duration::from_millis(200);

/// A server that runs until it is shut down or dropped.
pub struct Server {
    thread: Option<JoinHandle<()>>,
    stop: watch::Sender<bool>,
    tcp: Option<SocketAddr>,
    unix: Option<PathBuf>,
}

impl Server {
    /// Listens as `listen` says, and sends what clients ask for to `control`.
    ///
    /// Sockets are bound when it returns.
    pub fn start(listen: &Listen, control: Caller) -> Result<Server, ListenError> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|source| ListenError::Start { source })?;
        let sockets = {
            let _inside = runtime.enter();
            Sockets::bind(listen)?
        };
        let (tcp, unix) = (sockets.tcp_address(), listen.unix.clone());
        let (stop, stopped) = watch::channel(false);
        let thread = thread::Builder::new().name("control-rpc".to_owned());
        let thread = thread.spawn(move || run(runtime, sockets, control, stopped));
        let thread = Some(thread.map_err(|source| ListenError::Start { source })?);
        Ok(Server { thread, stop, tcp, unix })
    }

    /// The address that it listens on, with the port that was chosen if none was asked for.
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        self.tcp
    }

    /// Takes no more calls, ends streams, waits for calls that are under way, a few seconds at most, and
    /// removes the Unix socket.
    pub fn shutdown(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.stop.send_replace(true);
        // A panic there has been reported by the thread itself.
        let _ = thread.join();
        if let Some(path) = &self.unix {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn run(runtime: Runtime, sockets: Sockets, control: Caller, stopped: watch::Receiver<bool>) {
    runtime.block_on(async {
        let router = router(control.clone(), stopped.clone()).await;
        let tcp = sockets.tcp.map(|listener| {
            let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
            router.clone().serve_with_incoming_shutdown(incoming, end_of(stopped.clone()))
        });
        let unix = sockets.unix.map(|listener| {
            let incoming = UnixListenerStream::new(listener);
            router.clone().serve_with_incoming_shutdown(incoming, end_of(stopped.clone()))
        });
        let tcp = tokio::spawn(async {
            if let Some(serving) = tcp {
                let _ = serving.await;
            }
        });
        let unix = tokio::spawn(async {
            if let Some(serving) = unix {
                let _ = serving.await;
            }
        });
        end_of(stopped).await;
        let last_answers = async {
            control.idle().await;
            tokio::time::sleep(LINGER).await;
        };
        let ended = async {
            tokio::select! {
                _ = async { (tcp.await, unix.await) } => {}
                () = last_answers => {}
            }
        };
        let _ = tokio::time::timeout(GRACE, ended).await;
    });
    runtime.shutdown_background();
}

async fn router(control: Caller, stopped: watch::Receiver<bool>) -> Router {
    let bess = BessControlServer::new(bess::Bess::new(control.clone()))
        .max_decoding_message_size(MESSAGE_LEN_MAX)
        .max_encoding_message_size(MESSAGE_LEN_MAX);
    let own = ControlServer::new(tidegate::Tidegate::new(control, stopped))
        .max_decoding_message_size(MESSAGE_LEN_MAX)
        .max_encoding_message_size(MESSAGE_LEN_MAX);
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_serving::<BessControlServer<bess::Bess>>().await;
    reporter.set_serving::<ControlServer<tidegate::Tidegate>>().await;
    let mut routes = Routes::new(bess).add_service(own).add_service(health);
    if let Ok(service) = reflection().build_v1() {
        routes = routes.add_service(service);
    }
    if let Ok(service) = reflection().build_v1alpha() {
        routes = routes.add_service(service);
    }
    tonic::transport::Server::builder()
        .concurrency_limit_per_connection(CALLS_PER_CONNECTION_MAX)
        .max_concurrent_streams(Some(CALLS_PER_CONNECTION_MAX as u32))
        .http2_max_header_list_size(Some(HEADERS_LEN_MAX))
        .http2_keepalive_interval(Some(KEEPALIVE.0))
        .http2_keepalive_timeout(Some(KEEPALIVE.1))
        .add_routes(routes)
}

fn reflection() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}

/// Resolves when the server is to end.
async fn end_of(mut stopped: watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stop| *stop).await;
}
