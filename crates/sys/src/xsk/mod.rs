//! AF_XDP: sockets through which a NIC's queue and this process exchange frames in shared memory.
//!
//! ```text
//!                       process                              kernel / NIC
//!   pool --free chunk--> fill        ================>  takes a chunk, writes a frame
//!   frame <------------- rx          <================  (the XDP program redirected it)
//!   frame -------------> tx          ================>  sends it
//!   pool <--its chunk--- completion  <================  has sent it
//! ```
//! A chunk is owned by exactly one side at a time: the process, from the moment that it pops the address
//! off rx or completion; the kernel, from the moment that it is pushed to fill or tx.
//!
//! One [`XskSocket`] serves one queue of one device and belongs to one thread. Several share one [`Umem`],
//! so that a frame received on one is sent by another without a copy. Which frames arrive is decided by an
//! XDP program elsewhere that redirects to this socket's descriptor.
//!
//! Source: networking/af_xdp.rst, linux/if_xdp.h.

mod config;
mod mapped;
pub mod ring;
mod socket;
mod umem;

pub use config::{BindMode, BusyPoll, DriverMode, XskConfig};
pub use mapped::MappedRing;
pub use socket::{Descriptor, Wake, XskError, XskSocket, XskStatistics};
pub use umem::{Umem, XDP_PACKET_HEADROOM};

#[cfg(test)]
mod redirect;
#[cfg(test)]
mod tests;
