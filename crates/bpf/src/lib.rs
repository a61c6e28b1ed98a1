//! The XDP program that steers frames, and its loader.
//!
//! The program is C (`src/xdp/`), compiled by clang at build time and embedded. It decides for each frame of
//! a NIC who gets it: a registered destination {address, protocol, port} goes to the AF_XDP socket of the
//! frame's receive queue, or to the stack that it was registered for, and with it the ICMP errors about what that tuple
//! sent; everything else goes to the host's stack, which does not notice. Datagrams for a service of the offload it
//! answers itself, by a table of rules. Stacks that are not trusted have a veth of their own, on whose host's end another
//! program checks what they send.
//!
//! ```text
//!   XdpProgram::load ---> XdpProgram --attach(ifindex)--> Attachment        (one each a NIC)
//!                          | register(tuple, steering)     | mode(): driver or generic
//!                          | set_xsk(queue, socket)        | dropped or process dead: detached
//!                          | own_device(bool)              |
//!                          | serve(address, table)         |
//!                          | counters()                    |
//!                          +---------- PinDirectory -------+  pinned: outlives the process
//! ```
//!
//! What is absent: packets. No frame passes through this crate; it opens no socket and reads no ring (that is
//! `sys` and `port`), and keeps no table of its own: the maps in the kernel are the only state.
//!
//! Invariant: whatever goes wrong, a frame from outside is the host's, and one from a stack is dropped. An unattached, empty
//! or half set up program, and one whose process was killed, all behave as if there were none.
//!
//! Everything here acts on the network namespace of the calling thread.

mod abi;
mod attach;
mod counters;
mod log;
mod object;
mod offload;
mod pin;
mod program;
mod raw;
mod stack;
mod steering;
mod tuple;

pub use abi::{Action, OffloadOutcome, OffloadPlace, Reason, Verdict};
pub use attach::{AttachError, AttachMode, Attachment, Fallback, ModeChoice};
pub use counters::Counters;
pub use offload::{OffloadCounters, OffloadTable};
pub use pin::{PIN_ROOT, PinDirectory, PinError};
pub use program::{LoadError, LoadOptions, MapError, RegisterError, TestRun, XdpProgram};
pub use stack::{Nic, StackCounters, WayOut};
pub use steering::Steering;
pub use tidegate_wire::egress::Rate;
pub use tuple::{Protocol, Tuple};
