//! The async face of [`tidegate_socket`]: [`TcpListener`] and [`TcpStream`] with tokio's `AsyncRead` and `AsyncWrite`, over a
//! stack of one's own. Whatever serves over tokio's own streams serves over these; hyper does in the tests.
//!
//! ```text
//!   tasks:   TcpStream::read, write ... ---- lock ----+
//!                                                     v
//!   driver:  readable(epoll of port and timer) --> Runtime::poll: frames in, frames out --> wake who can go on
//! ```
//! One driver task a [`Net`] carries the frames. What tasks write leaves with the driver's next round, so that what is
//! written in one turn of the scheduler shares segments.
//!
//! On a current-thread runtime nothing ever waits for the lock, and this is how to run it: a runtime a core, a `Net` with a
//! queue of its own each. On a multi-thread runtime everything works the same, since all of it is `Send`; but then
//! tasks on several threads take turns at one stack.
//!
//! ```no_run
//! use tidegate_net::{Net, TcpListener};
//! use tidegate_socket::{Runtime, RuntimeConfig};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let net = Net::new(Runtime::on_tap("tg0", ["10.77.0.2".parse()?], RuntimeConfig::default())?)?;
//! let listener = TcpListener::bind(&net, "10.77.0.2:9001".parse()?)?;
//! loop {
//!     let (mut stream, peer) = listener.accept().await?;
//!     tokio::spawn(async move {
//!         let mut line = [0; 100];
//!         let len = stream.read(&mut line).await?;
//!         stream.write_all(format!("{peer} said {len} bytes\n").as_bytes()).await?;
//!         stream.shutdown().await
//!     });
//! }
//! # }
//! ```
//!
//! The stack may also be one among others on a NIC of the host's, by leave of `tidegate daemon --mux`; nothing else changes:
//!
//! ```no_run
//! use tidegate_net::{Net, TcpListener};
//! use tidegate_socket::{Grade, MUX_SOCKET_PATH, Runtime, RuntimeConfig, Wanted};
//!
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let place = "192.0.2.7:9001".parse()?;
//! let wanted = Wanted { device: "eth0".to_owned(), grade: Grade::Veth, queue: None };
//! let stack = Runtime::on_mux(MUX_SOCKET_PATH, &wanted, &[place], RuntimeConfig::default())?;
//! let listener = TcpListener::bind(&Net::new(stack)?, place)?;
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod driver;
mod listener;
mod net;
mod stream;

pub use listener::TcpListener;
pub use net::Net;
pub use stream::{OwnedReadHalf, OwnedWriteHalf, TcpStream};
