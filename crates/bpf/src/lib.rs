//! The XDP program that steers frames, and its loader.
//!
//! The program is C (`src/xdp/`), compiled by clang at build time and embedded. It decides for each frame of
//! a NIC who gets it: a registered destination {address, protocol, port} goes to the AF_XDP socket of the
//! frame's receive queue, and with it the ICMP errors about what that tuple sent; everything else goes to the
//! host's stack, which does not notice.
//!
//! ```text
//!   XdpProgram::load ---> XdpProgram --attach(ifindex)--> Attachment        (one each a NIC)
//!                          | register(tuple, verdict)      | mode(): driver or generic
//!                          | set_xsk(queue, socket)        | dropped or process dead: detached
//!                          | own_device(bool)              |
//!                          | counters()                    |
//!                          +---------- PinDirectory -------+  pinned: outlives the process
//! ```
//!
//! What is absent: packets. No frame passes through this crate; it opens no socket and reads no ring (that is
//! `sys` and `port`), and keeps no table of its own: the maps in the kernel are the only state.
//!
//! Invariant: whatever goes wrong, the frame is the host's. An unattached, empty or half set up program, and
//! one whose process was killed, all behave as if there were none.
//!
//! Everything here acts on the network namespace of the calling thread.

mod abi;
mod attach;
mod counters;
mod log;
mod object;
mod pin;
mod program;
mod raw;
mod tuple;

pub use abi::{Reason, Verdict};
pub use attach::{AttachError, AttachMode, Attachment, ModeChoice};
pub use counters::Counters;
pub use pin::{PIN_ROOT, PinDirectory, PinError};
pub use program::{LoadError, LoadOptions, MapError, RegisterError, TestRun, XdpProgram};
pub use tuple::{Protocol, Tuple};
