//! What carries the frames of stacks of grade memif: the queues of their NIC are open to it, and it knows every frame's owner.
//!
//! ```text
//!   NIC --program: Steering::Socket--> the carrier's sockets --by tuple--> memif --> stack
//!   NIC <--checked against the stack's tuples, the NIC's address, the rate-- memif <-- stack
//! ```
//! The [`Desk`](crate::Desk) says who has what; this does it in user space, as the program does it in the kernel.

use crate::error::{MuxError, Result, wrong_input};
use crate::nic::Nic;
use std::path::Path;
use std::sync::Arc;
use tidegate_bpf::{Rate, StackCounters, Tuple};

/// Who carries frames between NICs and memifs.
pub trait Carrier {
    /// Carries for the stack `slot` from now on: it may connect to the memif socket at `socket`, has no tuples yet, and sends no
    /// more than `rate`.
    fn attach(&mut self, nic: &Arc<Nic>, slot: u32, socket: &Path, rate: Option<Rate>) -> Result<()>;

    /// Does not carry for it any more: its memif is gone.
    fn detach(&mut self, slot: u32);

    /// Gives it the frames of a tuple, and lets it send from there. The program is told afterwards.
    fn bind(&mut self, slot: u32, tuple: Tuple) -> Result<()>;

    /// Takes a tuple from it, of which the program knows no longer.
    fn unbind(&mut self, slot: u32, tuple: Tuple);

    /// What it carried for it; nothing where that cannot be told.
    fn counters(&self, slot: u32) -> Option<StackCounters>;
}

/// Nobody: grade memif is refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCarrier;

impl Carrier for NoCarrier {
    fn attach(&mut self, _: &Arc<Nic>, _: u32, _: &Path, _: Option<Rate>) -> Result<()> {
        Err(refusal())
    }

    fn detach(&mut self, _: u32) {}

    fn bind(&mut self, _: u32, _: Tuple) -> Result<()> {
        Err(refusal())
    }

    fn unbind(&mut self, _: u32, _: Tuple) {}

    fn counters(&self, _: u32) -> Option<StackCounters> {
        None
    }
}

fn refusal() -> MuxError {
    wrong_input("grade memif is not served here: choose grade veth")
}
