//! BSD's sockets over a [`Stack`](tidegate_stack::Stack): listeners, connections with buffers, datagrams, readiness; and
//! the loop that runs them on a port.
//!
//! ```text
//!   Runtime   rx -> Host::input -> Stack<Sockets> -> tx, timers          over any Port; a descriptor to wait on
//!     Host    socket calls + frames in, frames out by an Egress          no I/O, time is an argument
//!       Sockets   the service: numbered sockets, their buffers, what is ready
//! ```
//! Who should use what: a program that wants sockets takes a [`Runtime`]; one that owns its loop and its frames, a
//! simulation or another runtime's, takes a [`Host`].
//!
//! - Nothing blocks. A call that cannot go on says [`Error::WouldBlock`], and [`Host::next_event`] names the socket when it can.
//! - What is written is sent by the next [`Host::poll`], so that what a round writes shares segments, and an acknowledgement
//!   rides on the answer.
//! - What is written is kept once, as shared bytes, until the peer has acknowledged it; a retransmission reads it there.
//!
//! A [`Runtime`] has a TAP device ([`Runtime::on_tap`]), or addresses and ports of the host's on a NIC: by a program of its own
//! ([`Runtime::on_device`]), or by leave of the daemon ([`Runtime::on_mux`]); or any port ([`Runtime::new`]).
//!
//! Not here: TCP (`tcp`), hosts' duties (`stack`), C (`capi`), futures.
#![forbid(unsafe_code)]

mod beside;
mod datagram;
mod error;
mod host;
mod id;
mod listener;
mod options;
mod places;
mod readiness;
mod receive;
mod routes;
mod runtime;
mod send;
mod slots;
mod sockets;
mod stream;
mod wire;

pub use error::Error;
pub use host::{Host, Shutdown};
pub use id::SocketId;
pub use options::{Options, SEND_BUFFER_LEN_MAX};
pub use readiness::Readiness;
pub use runtime::{OpenError, Runtime, RuntimeConfig};
pub use sockets::Sockets;
pub use tidegate_mux::registry::{Grade, Wanted};
pub use tidegate_mux::server::SOCKET_PATH as MUX_SOCKET_PATH;
pub use tidegate_stack::option::OptionKind;
pub use tidegate_stack::{Info, State};
pub use wire::Wire;
