//! Two hosts and a cable between them, made of network namespaces and a veth pair: for tests and benches.
//!
//! ```text
//!  +---- namespace: client, CPU 0 -----+        +---- namespace: server, CPU 1 -----+
//!  |  curl, wrk, ...        client0 ===|== veth |=== server0    tidegate, nginx, .. |
//!  |  10.78.0.1  fd78::1               |        |               10.78.0.2 fd78::2   |
//!  |  napi/client0 thread on CPU 0     |        |  napi/server0 thread on CPU 1     |
//!  +-----------------------------------+        +-----------------------------------+
//! ```
//!
//! veth is not a wire, and five things make it behave like one (measured, Linux 6.18):
//! - Whoever sends pays for the receiver's softirq, unless the receiving end has NAPI, threaded, and the
//!   thread is pinned. So both ends have receive offload (which turns NAPI on) and their threads are pinned
//!   beside the programs of their side.
//! - A full ring drops what it is given, where a NIC stops its senders: 2 % of the frames that 64 busy
//!   connections wanted. A queueing discipline at both ends makes veth stop them too, AF_XDP included.
//! - A kernel sender leaves checksums unfinished, because memory needs none; AF_XDP on the other end would
//!   see bad ones. So the client's end finishes them.
//! - A kernel sender hands over segments of 64 KiB that nobody ever cuts. [`Segmentation`] says whether.
//! - IPv6 addresses are used at once, without duplicate address detection.
//!
//! What is absent: loss and delay, which are modules of the pipeline; and anything outside the two
//! namespaces. A [`Testbed`] that is dropped, or whose process dies, leaves nothing, since its namespaces
//! have no names. Only [`Testbed::up`] makes named ones that stay.
#![forbid(unsafe_code)]

mod bed;
mod capture;
mod dns_peers;
mod end;
mod error;
mod family;
mod layout;
mod meter;
mod process;
mod scratch;
mod testpmd;

pub use bed::Testbed;
pub use capture::{Capture, Trace};
pub use dns_peers::{DnsPeers, ZoneFile};
pub use end::End;
pub use error::TestbedError;
pub use layout::{Layout, Segmentation, Side};
pub use meter::{CpuMeter, CpuSpent};
pub use process::Process;
pub use scratch::ScratchDir;
pub use testpmd::{Pages, Testpmd};

#[cfg(test)]
mod tests;
